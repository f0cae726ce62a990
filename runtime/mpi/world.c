/* SPDX-License-Identifier: BSD-3-Clause */
/* world.c - an MPI communicator in process order. */
#include "runtime/mpi/world.h"
#include "runtime/mpi/lock.h"
#include "runtime/mpi/service.h"
#include "runtime/process/contradiction.h"
#include "runtime/wireup/wireup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

jd_status jd__check_mpi(int code, const char *call, const char *operation)
{
    char text[MPI_MAX_ERROR_STRING];
    int length = 0;
    if (code == MPI_SUCCESS)
        return JD_OK;
    if (MPI_Error_string(code, text, &length) != MPI_SUCCESS)
        snprintf(text, sizeof text, "error %d", code);
    return jd_fail(JD_INTERNAL, "%s: %s failed in %s: %s", operation, call,
                   jd__mpi_library_name(), text);
}

bool jd__mpi_is_up(void)
{
    int initialized = 0, finalized = 0;
    MPI_Initialized(&initialized);
    MPI_Finalized(&finalized);
    return initialized && !finalized;
}

bool jd__mpi_was_finalized(void)
{
    int finalized = 0;
    MPI_Finalized(&finalized);
    return finalized;
}

static bool is_alone(const struct jd_cluster *cluster)
{
    return cluster->num_processes.known && cluster->num_processes.value == 1;
}

/* Nobody serves them: jd itself can, where it knows where they meet. Where
 * only the server's program is missing, the refusal says that too. */
static jd_status decide_unserved(const struct jd_env *env,
                                 const struct jd_settings *settings,
                                 const struct jd_cluster *cluster,
                                 enum jd_world_way *ret_way)
{
    if (jd__mpi_is_open_mpi() && cluster->num_processes.known &&
        !jd__cluster_is_served(env)) {
        jd_status told = jd__cluster_require_address(cluster);
        if (told != JD_OK)
            return told;
    }
    jd_status status = jd__wireup_check(settings, cluster);
    *ret_way = JD_WORLD_MET;
    if (status == JD_OK)
        return JD_OK;
    if (status == JD_INVALID_ARGUMENT)
        return jd__fail_prefix(status, "jd_initialize: ");
    char *why = status == JD_NOT_FOUND ? strdup(jd_error_message()) : NULL;
    status = jd__mpi_service_check(env, cluster); /* its sentence again */
    if (why)
        jd_fail(status, "%s; jd can join them itself, but %s",
                jd_error_message(), why);
    free(why);
    return status;
}

/* A launcher of one process may serve PMIx too: then MPI starts, so that the
 * program finds the same MPI with one process as with many. Under jd-run those
 * who are absent, or end, are named where all meet first; MPI_Init alone would
 * wait for them. */
static jd_status decide_unstarted(const struct jd_env *env,
                                  const struct jd_settings *settings,
                                  const struct jd_cluster *cluster,
                                  enum jd_world_way *ret_way)
{
    jd_status status = jd__contradiction_check(env, cluster);
    if (status != JD_OK)
        return status;
    *ret_way = JD_WORLD_STARTED;
    if (!is_alone(cluster) && jd__cluster_is_of_jd_run(env) &&
        jd__wireup_check(settings, cluster) == JD_OK) {
        *ret_way = JD_WORLD_MET;
        return JD_OK;
    }
    if (!is_alone(cluster))
        return jd__mpi_service_check(env, cluster) == JD_OK
                   ? JD_OK
                   : decide_unserved(env, settings, cluster, ret_way);
    bool launched = strcmp(cluster->method, "none") != 0 &&
                    strcmp(cluster->method, "explicit") != 0;
    if (!launched || jd__mpi_service_check(env, cluster) != JD_OK)
        *ret_way = JD_WORLD_ALONE;
    return JD_OK;
}

jd_status jd__world_decide(const struct jd_env *env,
                           const struct jd_settings *settings,
                           const struct jd_cluster *cluster, MPI_Comm given,
                           enum jd_world_way *ret_way)
{
    enum jd_world_way way = JD_WORLD_ADOPTED;
    jd_status status = JD_OK;
    if (jd__mpi_was_finalized())
        return jd_fail(JD_FAILED_PRECONDITION,
                       "jd_initialize: MPI_Finalize was called already, and "
                       "MPI starts once per process; call jd_initialize() "
                       "before MPI_Finalize");
    if (!jd__mpi_is_up())
        status = given != MPI_COMM_NULL
                     ? jd_fail(JD_FAILED_PRECONDITION,
                               "jd_initialize_on: MPI is not initialised; "
                               "call MPI_Init first, or jd_initialize()")
                     : decide_unstarted(env, settings, cluster, &way);
    if (status == JD_OK)
        *ret_way = way;
    return status;
}

static int thread_level(const struct jd_settings *settings,
                        int num_local_devices)
{
    const char *level = jd__settings_text(settings, JD_OPTION_MPI_THREAD_LEVEL);
    if (strcmp(level, "multiple") == 0)
        return MPI_THREAD_MULTIPLE;
    if (strcmp(level, "serialized") == 0)
        return MPI_THREAD_SERIALIZED;
    return num_local_devices > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SERIALIZED;
}

jd_status jd__world_start_mpi(const struct jd_settings *settings,
                              int num_local_devices)
{
    int provided;
    bool is_lent = jd__env_lend_home();
    int code = MPI_Init_thread(
        NULL, NULL, thread_level(settings, num_local_devices), &provided);
    if (is_lent)
        jd__env_export("HOME", NULL);
    return jd__check_mpi(code, "MPI_Init_thread", "jd_initialize");
}

static jd_status adopt_comm(struct jd_world *world, MPI_Comm comm)
{
    int code = MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    if (code == MPI_SUCCESS)
        code = MPI_Comm_rank(comm, &world->index);
    if (code == MPI_SUCCESS)
        code = MPI_Comm_size(comm, &world->count);
    world->comm = comm;
    world->has_mpi = true;
    return jd__check_mpi(code, "MPI_Comm_set_errhandler", "jd_initialize");
}

jd_status jd__world_open(MPI_Comm base, struct jd_world *ret_world)
{
    MPI_Comm comm;
    *ret_world = (struct jd_world){
        .count = 1,
        .comm = MPI_COMM_NULL,
        .user_comm = MPI_COMM_NULL,
    };
    if (base == MPI_COMM_NULL)
        return JD_OK;
    jd__mpi_lock_configure();
    jd_status status = jd__check_mpi(MPI_Comm_dup(base, &comm), "MPI_Comm_dup",
                                     "jd_initialize");
    return status == JD_OK ? adopt_comm(ret_world, comm) : status;
}

jd_status jd__world_order(struct jd_world *world, bool in_order, int index)
{
    MPI_Comm ordered, old = world->comm;
    if (in_order || !world->has_mpi)
        return JD_OK;
    jd_status status = jd__check_mpi(MPI_Comm_split(old, 0, index, &ordered),
                                     "MPI_Comm_split", "jd_initialize");
    if (status == JD_OK)
        status = adopt_comm(world, ordered);
    if (status == JD_OK)
        MPI_Comm_free(&old);
    return status;
}

jd_status jd__world_open_user_comm(struct jd_world *world)
{
    MPI_Comm comm;
    if (!world->has_mpi)
        return JD_OK;
    jd_status status = jd__check_mpi(MPI_Comm_dup(world->comm, &comm),
                                     "MPI_Comm_dup", "jd_initialize");
    if (status == JD_OK)
        world->user_comm = comm; /* the error handler is copied too */
    return status;
}

void jd__world_close(struct jd_world *world)
{
    if (jd__mpi_is_up()) {
        if (world->user_comm != MPI_COMM_NULL)
            MPI_Comm_free(&world->user_comm);
        if (world->comm != MPI_COMM_NULL)
            MPI_Comm_free(&world->comm);
    }
    *world = (struct jd_world){
        .count = 1,
        .comm = MPI_COMM_NULL,
        .user_comm = MPI_COMM_NULL,
    };
}

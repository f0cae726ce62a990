/* SPDX-License-Identifier: BSD-3-Clause */
/* world_way.c - the decision which way an MPI world is made. */
#include "runtime/process/world_way.h"
#include "runtime/mpi/library.h"
#include "runtime/mpi/service.h"
#include "runtime/mpi/world.h"
#include "runtime/process/contradiction.h"
#include "runtime/wireup/wireup.h"

#include <stdlib.h>
#include <string.h>

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
    const struct jd_mpi_flavour *flavour = jd__mpi_library_flavour();
    if (flavour->is_joined && cluster->num_processes.known &&
        !jd__cluster_is_served(env, flavour->by)) {
        jd_status told = jd__cluster_require_address(cluster, flavour->by);
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

jd_status jd__world_way_decide(const struct jd_env *env,
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

/* SPDX-License-Identifier: BSD-3-Clause */
/* starting_world.c - a start's MPI world, and the meeting of all. */
#include "runtime/process/starting_world.h"
#include "runtime/coordination/client/client.h"
#include "runtime/coordination/net/addresses.h"
#include "runtime/mpi/library.h"
#include "runtime/mpi/tuning.h"
#include "runtime/process/contradiction.h"
#include "runtime/process/exit.h"
#include "runtime/process/failed_start.h"
#include "runtime/wireup/wireup.h"

#include <math.h>
#include <string.h>

/* ---- the program's own MPI ---------------------------------------------- */

/* What a launcher says of more than this process contradicts an MPI that has
 * this one alone, whichever communicator of it is given. */
static jd_status check_adopted(const struct jd_starting *s)
{
    int size;
    int code = MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (code != MPI_SUCCESS)
        return jd__mpi_check(code, "MPI_Comm_size", "jd_initialize");
    return jd__contradiction_check_mpi(
        s->env, s->runtime->cluster, size,
        jd__options_is_explicit(s->runtime->settings, JD_OPTION_NUM_PROCESSES));
}

/*
 * A communicator that the program gives is the world, whatever the launcher
 * said; explicit values stand, and are checked against it. Where nothing is
 * given, MPI_COMM_WORLD only fills in what the launcher did not say.
 */
static jd_status adopt_identity(struct jd_starting *s, MPI_Comm base)
{
    struct jd_cluster *cluster = s->runtime->cluster;
    const struct jd_settings *settings = s->runtime->settings;
    bool given = s->start->given != MPI_COMM_NULL;
    bool none = strcmp(cluster->method, "none") == 0;
    int rank, size;
    int code = MPI_Comm_rank(base, &rank);
    if (code == MPI_SUCCESS)
        code = MPI_Comm_size(base, &size);
    if (code != MPI_SUCCESS)
        return jd__mpi_check(code, "MPI_Comm_size", "jd_initialize");
    bool replace = given || none;
    if ((replace || !cluster->process_id.known) &&
        !jd__options_is_explicit(settings, JD_OPTION_PROCESS_ID))
        jd__starting_set_number(&cluster->process_id, rank, "MPI_Comm_rank");
    if ((replace || !cluster->num_processes.known) &&
        !jd__options_is_explicit(settings, JD_OPTION_NUM_PROCESSES))
        jd__starting_set_number(&cluster->num_processes, size, "MPI_Comm_size");
    return JD_OK;
}

static jd_status check_given(MPI_Comm comm)
{
    int is_inter = 0;
    if (comm == MPI_COMM_NULL)
        return JD_OK;
    MPI_Comm_test_inter(comm, &is_inter);
    return is_inter ? jd_fail(JD_INVALID_ARGUMENT,
                              "jd_initialize_on: comm is an "
                              "inter-communicator; merge it first "
                              "(MPI_Intercomm_merge)")
                    : JD_OK;
}

/* ---- the coordination service ------------------------------------------- */

/* Gives up a little before the watchdog, whose sentence knows less. */
static double session_deadline(const struct jd_starting *s)
{
    double timeout = jd__options_seconds(s->runtime->settings,
                                         JD_OPTION_INITIALIZATION_TIMEOUT);
    return s->begin + timeout - fmin(2, 0.1 * timeout);
}

static struct jd_session_spec session_spec(const struct jd_starting *s)
{
    return (struct jd_session_spec){
        .env = s->env,
        .settings = s->runtime->settings,
        .cluster = s->runtime->cluster,
        .facts = &s->facts,
        .deadline = session_deadline(s),
    };
}

/* Variables that a launcher has left in a shell make a job of one process wait
 * for others that nobody starts. */
static jd_status explain_count(jd_status status,
                               const struct jd_cluster *cluster)
{
    if (status != JD_DEADLINE_EXCEEDED ||
        strcmp(cluster->method, "explicit") == 0)
        return status;
    return jd_fail(
        status,
        "%s; that there are %lld processes is from %s (method %s): "
        "where these variables are left over, JD_NUM_PROCESSES=1 and "
        "JD_PROCESS_ID=0 start this process alone",
        jd_error_message(), cluster->num_processes.value,
        cluster->num_processes.source, cluster->method);
}

/* All meet at an address that they know, before there is a world. */
static jd_status meet_without_world(struct jd_starting *s)
{
    struct jd_runtime *runtime = s->runtime;
    struct jd_session_spec spec = session_spec(s);
    jd__starting_step(s, JD_STARTING_COORDINATE);
    spec.index = (int)runtime->cluster->process_id.value;
    spec.count = (int)runtime->cluster->num_processes.value;
    return explain_count(jd__session_create(&spec, &runtime->session),
                         runtime->cluster);
}

/* All meet where MPI says; those that have met already are done. */
jd_status jd__starting_world_meet(struct jd_starting *s)
{
    struct jd_runtime *runtime = s->runtime;
    struct jd_session_spec spec = session_spec(s);
    if (runtime->session)
        return JD_OK;
    jd__starting_step(s, JD_STARTING_COORDINATE);
    if (runtime->world.count == 1)
        return jd__session_create_local(runtime->settings, &runtime->session);
    spec.world = &runtime->world;
    spec.topology = runtime->topology;
    spec.index = runtime->world.index;
    spec.count = runtime->world.count;
    return jd__session_create(&spec, &runtime->session);
}

/* ---- MPI ---------------------------------------------------------------- */

/* What the launcher does not tell of this host, the service does where all
 * have met already. In a copy: the watchdog's thread looks at the cluster. */
static struct jd_cluster count_neighbours(const struct jd_starting *s)
{
    struct jd_session *session = s->runtime->session;
    struct jd_cluster cluster = *s->runtime->cluster;
    int own = (int)cluster.process_id.value, count = 0;
    if (!session || cluster.local_num_processes.known)
        return cluster;
    for (int i = 0; i < cluster.num_processes.value; i++)
        count += jd__client_host_of(jd__session_client(session), i) ==
                 jd__client_host_of(jd__session_client(session), own);
    jd__starting_set_number(&cluster.local_num_processes, count,
                            "they have met");
    return cluster;
}

/* MPI waits for ever where JD_INTERFACE leaves it no address to be reached at.
 * Processes of one host need none. */
static jd_status check_interfaces(const struct jd_starting *s,
                                  const struct jd_cluster *cluster)
{
    const char *list =
        jd__options_text(s->runtime->settings, JD_OPTION_INTERFACE);
    struct jd_endpoints left;
    long long count = jd__starting_number(&cluster->num_processes, 2);
    if (!list || count == 1 ||
        jd__starting_number(&cluster->local_num_processes, 1) >= count)
        return JD_OK;
    jd_status status = jd__interfaces_list(list, false, 0, &left);
    return status == JD_INVALID_ARGUMENT
               ? jd__fail_prefix(status, "jd_initialize: ")
               : JD_OK;
}

jd_status jd__starting_world_init_mpi(struct jd_starting *s)
{
    struct jd_tuning plan;
    struct jd_cluster cluster = count_neighbours(s);
    struct jd_tune_interfaces interfaces;
    jd__tuning_interfaces(
        jd__options_text(s->runtime->settings, JD_OPTION_INTERFACE),
        &interfaces);
    struct jd_tune_request request = {
        .env = s->env,
        .cluster = &cluster,
        .cores_allowed = s->facts.host_cores_allowed,
        .enabled =
            jd__options_integer(s->runtime->settings, JD_OPTION_TUNE_MPI),
        .root = "",
        .library = jd__mpi_library_path(),
        .interfaces = &interfaces,
    };
    jd_status status = check_interfaces(s, &cluster);
    if (status != JD_OK)
        return status;
    jd__tuning_plan(&request, &plan);
    jd__starting_step(s, JD_STARTING_MPI_INIT);
    status = jd__tuning_apply(&plan);
    if (status == JD_OK)
        status = jd__world_start_mpi(s->runtime->settings, s->most_devices);
    if (status == JD_OK)
        jd__exit_owns_mpi(
            s->runtime->cluster,
            jd__options_seconds(s->runtime->settings,
                                JD_OPTION_SHUTDOWN_TIMEOUT),
            jd__options_seconds(s->runtime->settings, JD_OPTION_WAIT_NOTICE));
    jd_status restored = jd__tuning_restore(&plan);
    return status == JD_OK ? restored : status;
}

/* Without a launcher that serves MPI: through servers that jd starts. The
 * environment that they hand out is for MPI_Init alone. */
static jd_status init_met_mpi(struct jd_starting *s)
{
    struct jd_runtime *runtime = s->runtime;
    jd_status status = meet_without_world(s);
    if (status != JD_OK)
        return status;
    struct jd_wireup_spec spec = {
        .settings = runtime->settings,
        .cluster = runtime->cluster,
        .facts = &s->facts,
        .session = runtime->session,
        .index = (int)runtime->cluster->process_id.value,
        .count = (int)runtime->cluster->num_processes.value,
        .deadline = session_deadline(s),
    };
    status = jd__wireup_enter(&spec);
    if (status == JD_OK)
        status = jd__starting_world_init_mpi(s);
    if (status == JD_OK)
        jd__session_keep_service(runtime->session);
    jd_status restored = jd__env_restore(s->env);
    status = status == JD_OK ? restored : status;
    return status == JD_OK ? JD_OK : jd__failed_start_tell(status);
}

/* Gives the communicator that the world is made from. */
static jd_status find_base(struct jd_starting *s, MPI_Comm *ret_base)
{
    enum jd_world_way way;
    jd_status status =
        jd__world_way_decide(s->env, s->runtime->settings, s->runtime->cluster,
                             s->start->given, &way);
    if (status != JD_OK)
        return status;
    s->way = way;
    if (way == JD_WORLD_STARTED)
        status = jd__starting_world_init_mpi(s);
    else if (way == JD_WORLD_MET)
        status = init_met_mpi(s);
    *ret_base = way == JD_WORLD_ALONE              ? MPI_COMM_NULL
                : s->start->given != MPI_COMM_NULL ? s->start->given
                                                   : MPI_COMM_WORLD;
    if (status == JD_OK && way == JD_WORLD_ADOPTED)
        status = check_adopted(s);
    bool is_told = s->runtime->cluster->num_processes.known;
    if (status == JD_OK && (way == JD_WORLD_ADOPTED || !is_told))
        status = adopt_identity(s, *ret_base);
    return status;
}

jd_status jd__starting_world_open(struct jd_starting *s)
{
    MPI_Comm base;
    jd_status status = JD_OK;
    /* A program's own MPI may tell what the launcher does not; where it is
     * over, that is what must be said. */
    if (jd__mpi_is_up())
        status = check_given(s->start->given);
    else if (!jd__mpi_was_finalized())
        status = jd__cluster_require(s->env, s->runtime->cluster);
    if (status == JD_OK)
        status = find_base(s, &base);
    if (status != JD_OK)
        return status;
    jd__starting_step(s, JD_STARTING_DUP);
    return jd__world_open(base, &s->runtime->world);
}

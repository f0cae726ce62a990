/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * initialize.c - the way through the house:
 *
 *     environment -> settings -> what the launcher says -> this host and its
 *     devices -> an MPI world -> records of all processes -> the topology ->
 *     the coordination service, at which all meet
 *
 * A watchdog holds initialization_timeout over all of it.
 */
#include "runtime/process/initialize.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "base/tie.h"
#include "runtime/coordination/client/client.h"
#include "runtime/coordination/net/addresses.h"
#include "runtime/mpi/library.h"
#include "runtime/mpi/tuning.h"
#include "runtime/process/contradiction.h"
#include "runtime/process/exit.h"
#include "runtime/process/failed_start.h"
#include "runtime/process/nccl_variables.h"
#include "runtime/process/watchdog.h"
#include "runtime/process/world_way.h"
#include "runtime/recorder/lines.h"
#include "runtime/recorder/recorder.h"
#include "runtime/recorder/site.h"
#include "runtime/recorder/trace_file.h"
#include "runtime/topology/device_choice.h"
#include "runtime/topology/host.h"
#include "runtime/topology/own_record.h"
#include "runtime/topology/records.h"
#include "runtime/topology/table_spread.h"
#include "runtime/wireup/wireup.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum initialize_step {
    STEP_DETECT,
    STEP_MPI_INIT,
    STEP_DUP,
    STEP_GATHER,
    STEP_ORDER,
    STEP_COORDINATE,
};

static const char *const step_names[] = {
    [STEP_DETECT] = "detection",
    [STEP_MPI_INIT] = "MPI_Init_thread",
    [STEP_DUP] = "MPI_Comm_dup",
    [STEP_GATHER] = "the gathering of all processes' records",
    [STEP_ORDER] = "the making of the ordered communicators",
    [STEP_COORDINATE] = "the meeting at the coordination service",
};

/* The first messages between hosts: MPI opens connections with them, and waits
 * for each for ever. */
static const char hint_of_interfaces[] =
    "where some are on other hosts, MPI may wait for an interface that leads "
    "nowhere: JD_INTERFACE chooses the one that all hosts share (eth0, "
    "10.0.0.0/8), or OMPI_MCA_btl_tcp_if_include under mpirun";

static const char *const step_hints[] = {
    [STEP_DUP] = hint_of_interfaces,
    [STEP_GATHER] = hint_of_interfaces,
    [STEP_COORDINATE] = NULL,
};

static const struct jd_phases phases = {
    .operation = "jd_initialize()",
    .thread_name = "jd-start:",
    .step_names = step_names,
    .num_steps = sizeof step_names / sizeof *step_names,
    .step_hints = step_hints,
};

/* What a start works on; the runtime is what stays of it. */
struct starting {
    const struct jd_start *start;
    struct jd_runtime *runtime;
    struct jd_env *env;
    struct jd_watchdog *watchdog;
    double begin; /* jd__clock_now() */
    enum jd_world_way way;
    struct jd_local_facts facts;
    struct jd_record *record;
    int most_devices; /* of one platform that this process may have */
    struct jd_records *records;
};

static void begin_step(struct starting *s, enum initialize_step step)
{
    jd__watchdog_step(s->watchdog, step);
    jd__recorder_step(step_names[step]);
}

/* ---- this process ------------------------------------------------------- */

static int number_or(const struct jd_cluster_number *number, int otherwise)
{
    return number->known ? (int)number->value : otherwise;
}

static void describe_self(struct starting *s)
{
    const struct jd_cluster *cluster = s->runtime->cluster;
    struct jd_record *r = s->record;
    r->process_id = number_or(&cluster->process_id, -1);
    r->num_processes = number_or(&cluster->num_processes, -1);
    r->num_slices = number_or(&cluster->num_slices, 0);
    r->slice_index = number_or(&cluster->slice_index, -1);
    snprintf(r->process_id_source, sizeof r->process_id_source, "%s",
             cluster->process_id.source);
    snprintf(r->num_processes_source, sizeof r->num_processes_source, "%s",
             cluster->num_processes.source);
}

static jd_status discover_self(struct starting *s)
{
    jd_status status = jd__host_discover(&s->facts);
    if (status == JD_OK)
        status =
            jd__own_record_create(s->runtime->settings, &s->facts, &s->record);
    if (status == JD_OK)
        s->most_devices = jd__own_record_most_devices(s->record);
    return status;
}

/* ---- settings and detection --------------------------------------------- */

static void configure_recorder(const struct jd_settings *settings)
{
    bool is_on = jd__options_integer(settings, JD_OPTION_RECORDER) != 0;
    bool traces = jd__options_integer(settings, JD_OPTION_TRACE) != 0;
    jd__recorder_configure(is_on, traces);
    jd__lines_configure(jd__options_seconds(settings, JD_OPTION_LINES_TIMEOUT));
    jd__site_configure(jd__options_integer(settings, JD_OPTION_CHECK_SITES) !=
                       0);
}

static jd_status read_settings(struct starting *s)
{
    jd_status status = jd__env_from_process(&s->env);
    if (status == JD_OK)
        jd__tie_to_jd_run(s->env);
    if (status == JD_OK)
        status =
            jd__options_resolve(s->env, s->start->options,
                                 s->start->options_size, &s->runtime->settings);
    if (status != JD_OK)
        return status;
    jd__log_set_level(jd__options_text(s->runtime->settings, JD_OPTION_LOG));
    configure_recorder(s->runtime->settings);
    return jd__trace_file_configure(
        jd__options_text(s->runtime->settings, JD_OPTION_TRACE_DIR));
}

static jd_status start_watchdog(struct starting *s)
{
    const struct jd_settings *settings = s->runtime->settings;
    struct jd_watchdog_spec spec = {
        .phases = &phases,
        .timeout =
            jd__options_seconds(settings, JD_OPTION_INITIALIZATION_TIMEOUT),
        .notice = jd__options_seconds(settings, JD_OPTION_WAIT_NOTICE),
        .variable = "JD_INITIALIZATION_TIMEOUT",
        .env = s->env,
    };
    return jd__watchdog_start(&spec, &s->watchdog);
}

static jd_status detect_cluster(struct starting *s)
{
    jd_status status =
        jd__cluster_detect(s->env, s->runtime->settings, &s->runtime->cluster);
    if (status != JD_OK)
        return status;
    jd__log_set_identity(number_or(&s->runtime->cluster->process_id, -1),
                         number_or(&s->runtime->cluster->num_processes, -1));
    jd__watchdog_set_cluster(s->watchdog, s->runtime->cluster);
    return JD_OK;
}

/* ---- the program's own MPI ---------------------------------------------- */

/* What a launcher says of more than this process contradicts an MPI that has
 * this one alone, whichever communicator of it is given. */
static jd_status check_adopted(const struct starting *s)
{
    int size;
    int code = MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (code != MPI_SUCCESS)
        return jd__mpi_check(code, "MPI_Comm_size", "jd_initialize");
    return jd__contradiction_check_mpi(
        s->env, s->runtime->cluster, size,
        jd__options_is_explicit(s->runtime->settings, JD_OPTION_NUM_PROCESSES));
}

static void set_number(struct jd_cluster_number *number, int value,
                       const char *source)
{
    number->known = true;
    number->value = value;
    snprintf(number->source, sizeof number->source, "%s", source);
}

/*
 * A communicator that the program gives is the world, whatever the launcher
 * said; explicit values stand, and are checked against it. Where nothing is
 * given, MPI_COMM_WORLD only fills in what the launcher did not say.
 */
static jd_status adopt_identity(struct starting *s, MPI_Comm base)
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
        set_number(&cluster->process_id, rank, "MPI_Comm_rank");
    if ((replace || !cluster->num_processes.known) &&
        !jd__options_is_explicit(settings, JD_OPTION_NUM_PROCESSES))
        set_number(&cluster->num_processes, size, "MPI_Comm_size");
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
static double session_deadline(const struct starting *s)
{
    double timeout = jd__options_seconds(s->runtime->settings,
                                          JD_OPTION_INITIALIZATION_TIMEOUT);
    return s->begin + timeout - fmin(2, 0.1 * timeout);
}

static struct jd_session_spec session_spec(const struct starting *s)
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
    return jd_fail(status,
                   "%s; that there are %lld processes is from %s (method %s): "
                   "where these variables are left over, JD_NUM_PROCESSES=1 and "
                   "JD_PROCESS_ID=0 start this process alone",
                   jd_error_message(), cluster->num_processes.value,
                   cluster->num_processes.source, cluster->method);
}

/* All meet at an address that they know, before there is a world. */
static jd_status meet_without_world(struct starting *s)
{
    struct jd_runtime *runtime = s->runtime;
    struct jd_session_spec spec = session_spec(s);
    begin_step(s, STEP_COORDINATE);
    spec.index = (int)runtime->cluster->process_id.value;
    spec.count = (int)runtime->cluster->num_processes.value;
    return explain_count(
        jd__session_create(&spec, &runtime->session),
        runtime->cluster);
}

/* All meet where MPI says; those that have met already are done. */
static jd_status start_session(struct starting *s)
{
    struct jd_runtime *runtime = s->runtime;
    struct jd_session_spec spec = session_spec(s);
    if (runtime->session)
        return JD_OK;
    begin_step(s, STEP_COORDINATE);
    if (runtime->world.count == 1)
        return jd__session_create_local(runtime->settings,
                                             &runtime->session);
    spec.world = &runtime->world;
    spec.topology = runtime->topology;
    spec.index = runtime->world.index;
    spec.count = runtime->world.count;
    return jd__session_create(&spec, &runtime->session);
}

/* ---- MPI ---------------------------------------------------------------- */

/* What the launcher does not tell of this host, the service does where all
 * have met already. In a copy: the watchdog's thread looks at the cluster. */
static struct jd_cluster count_neighbours(const struct starting *s)
{
    struct jd_session *session = s->runtime->session;
    struct jd_cluster cluster = *s->runtime->cluster;
    int own = (int)cluster.process_id.value, count = 0;
    if (!session || cluster.local_num_processes.known)
        return cluster;
    for (int i = 0; i < cluster.num_processes.value; i++)
        count += jd__client_host_of(jd__session_client(session), i) ==
                 jd__client_host_of(jd__session_client(session), own);
    set_number(&cluster.local_num_processes, count, "they have met");
    return cluster;
}

/* MPI waits for ever where JD_INTERFACE leaves it no address to be reached at.
 * Processes of one host need none. */
static jd_status check_interfaces(const struct starting *s,
                                  const struct jd_cluster *cluster)
{
    const char *list =
        jd__options_text(s->runtime->settings, JD_OPTION_INTERFACE);
    struct jd_endpoints left;
    long long count = number_or(&cluster->num_processes, 2);
    if (!list || count == 1 ||
        number_or(&cluster->local_num_processes, 1) >= count)
        return JD_OK;
    jd_status status = jd__interfaces_list(list, false, 0, &left);
    return status == JD_INVALID_ARGUMENT
               ? jd__fail_prefix(status, "jd_initialize: ")
               : JD_OK;
}

static jd_status init_mpi(struct starting *s)
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
    begin_step(s, STEP_MPI_INIT);
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
static jd_status init_met_mpi(struct starting *s)
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
        status = init_mpi(s);
    if (status == JD_OK)
        jd__session_keep_service(runtime->session);
    jd_status restored = jd__env_restore(s->env);
    status = status == JD_OK ? restored : status;
    return status == JD_OK ? JD_OK : jd__failed_start_tell(status);
}

/* Gives the communicator that the world is made from. */
static jd_status find_base(struct starting *s, MPI_Comm *ret_base)
{
    enum jd_world_way way;
    jd_status status =
        jd__world_way_decide(s->env, s->runtime->settings, s->runtime->cluster,
                         s->start->given, &way);
    if (status != JD_OK)
        return status;
    s->way = way;
    if (way == JD_WORLD_STARTED)
        status = init_mpi(s);
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

static jd_status open_world(struct starting *s)
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
    begin_step(s, STEP_DUP);
    return jd__world_open(base, &s->runtime->world);
}

/* ---- all processes ------------------------------------------------------ */

/* What a leader makes of all records: whose devices are whose, too. */
static jd_status make_table(struct starting *s, struct jd_table **ret_table)
{
    const char *platform;
    jd_status status = jd__records_verify(s->records);
    if (status == JD_OK)
        status = jd__device_choice_choose(s->records, &platform);
    if (status == JD_OK)
        status = jd__table_create(s->records, platform, ret_table);
    return status;
}

/* One process of each host gets all records; what it makes of them becomes its
 * host's. */
static jd_status gather_table(struct starting *s, struct jd_table **ret_table)
{
    struct jd_world *world = &s->runtime->world;
    struct jd_host_group group;
    bool shares =
        jd__options_integer(s->runtime->settings, JD_OPTION_SHARED_MEMORY) != 0;
    jd_status status = jd__host_group_open(world, &s->facts, shares, &group);
    if (status != JD_OK)
        return status;
    status = jd__records_gather(world, &group, s->record, &s->records);
    if (status == JD_OK && s->records)
        status = make_table(s, ret_table);
    status = jd__table_spread(&group, status, ret_table);
    if (status == JD_OK)
        status = jd__recorder_share(&group);
    jd__host_group_close(&group);
    jd__records_destroy(s->records);
    s->records = NULL;
    return status;
}

static bool has_gpus(const struct starting *s)
{
    return jd__topology_platform(s->runtime->topology, "cuda");
}

static jd_status build_topology(struct starting *s)
{
    struct jd_table *table = NULL;
    describe_self(s);
    s->record->rank = s->runtime->world.index;
    jd_status status = gather_table(s, &table);
    if (status == JD_OK)
        status = jd__topology_open(table, s->record->process_id,
                                   &s->runtime->topology);
    if (status != JD_OK) {
        jd__table_destroy(table);
        return status;
    }
    jd__recorder_set_process(s->runtime->topology->self);
    if (has_gpus(s))
        jd__nccl_variables_set();
    return jd__topology_settle(s->runtime->topology);
}

static jd_status order_world(struct starting *s)
{
    struct jd_world *world = &s->runtime->world;
    const struct jd_topology *topology = s->runtime->topology;
    begin_step(s, STEP_ORDER);
    jd_status status =
        jd__world_order(world, topology->table->is_in_order, topology->self);
    if (status == JD_OK)
        status = jd__world_open_user_comm(world);
    return status;
}

static void say_absent(const struct starting *s)
{
    const struct jd_topology *topology = s->runtime->topology;
    struct jd_absent absent = jd__topology_absent(topology);
    jd__absent_say(&absent, jd__topology_has_spare(topology),
                   jd__topology_has_fault(topology));
}

/* What concerns all is said by process 0 alone. */
static void warn_once(const struct starting *s)
{
    char text[512];
    const char *name, *nearest;
    size_t position = 0;
    jd__log_set_identity(s->runtime->world.index, s->runtime->world.count);
    if (s->runtime->world.index != 0)
        return;
    while (jd__option_table_next_unknown(s->env, &position, &name, &nearest))
        jd__log(JD_LOG_WARNING,
                "the variable %s is no option of jd, and is not read; did you "
                "mean %s?",
                name, nearest);
    jd__topology_describe_uneven(s->runtime->topology, text, sizeof text);
    if (text[0])
        jd__log(JD_LOG_WARNING, "%s", text);
    say_absent(s);
    if (has_gpus(s))
        jd__nccl_variables_warn(s->env);
}

/* How the world came about, where that is not what a launcher does. */
static void say_how(const struct starting *s)
{
    const struct jd_runtime *runtime = s->runtime;
    const struct jd_cluster_text *address =
        &runtime->cluster->coordinator_address;
    if (s->way != JD_WORLD_MET || runtime->world.index != 0)
        return;
    jd__log(JD_LOG_INFO,
            "no launcher serves MPI here: %d processes on %d host%s met at %s "
            "(%s), and jd-pmix-server joined them to one world",
            runtime->world.count, runtime->topology->num_hosts,
            jd__text_s(runtime->topology->num_hosts), address->value,
            address->source);
}

/* From here on what it calls is left behind where it ends. */
static void begin_trace_file(const struct starting *s)
{
    const struct jd_runtime *runtime = s->runtime;
    const struct jd_topology *topology = runtime->topology;
    uint64_t job = jd__client_incarnation(jd__session_client(runtime->session));
    uint64_t alone = (uint64_t)(jd__clock_now() * 1e9) ^ (uint64_t)getpid();
    int host = topology->processes[topology->self].host;
    jd__trace_file_begin(job ? job : alone,
                         jd__topology_host_name(topology, host),
                         runtime->world.index, runtime->world.count);
}

/* ---- the whole ---------------------------------------------------------- */

/* What the records say is a failure of all; memory and MPI are one's own. */
static jd_status leave_met(const struct starting *s, jd_status status)
{
    if (status == JD_INTERNAL || status == JD_RESOURCE_EXHAUSTED)
        return jd__failed_start_tell(status);
    return jd__failed_start_part(
        status, s->runtime->session,
        jd__options_seconds(s->runtime->settings, JD_OPTION_SHUTDOWN_TIMEOUT));
}

static jd_status run_steps(struct starting *s)
{
    jd_status status = read_settings(s);
    if (status == JD_OK)
        status = start_watchdog(s);
    if (status == JD_OK)
        status = detect_cluster(s);
    if (status == JD_OK)
        status = discover_self(s);
    if (status == JD_OK)
        status = open_world(s);
    if (status != JD_OK)
        return status;
    begin_step(s, STEP_GATHER);
    status = build_topology(s);
    if (status != JD_OK && s->way == JD_WORLD_MET)
        return leave_met(s, status);
    if (status == JD_OK)
        status = order_world(s);
    if (status == JD_OK)
        warn_once(s);
    if (status == JD_OK)
        status = start_session(s);
    if (status == JD_OK) {
        begin_trace_file(s);
        say_how(s);
    }
    return status;
}

static jd_status create_empty(struct jd_runtime **ret_runtime)
{
    static atomic_uint_fast64_t numbers;
    struct jd_runtime *runtime = calloc(1, sizeof *runtime);
    if (!runtime)
        return jd__fail_no_memory("jd_initialize", sizeof *runtime);
    runtime->number = atomic_fetch_add(&numbers, 1) + 1;
    runtime->world.comm = MPI_COMM_NULL;
    runtime->world.user_comm = MPI_COMM_NULL;
    *ret_runtime = runtime;
    return JD_OK;
}

static void finish_start(struct starting *s)
{
    jd__watchdog_stop(s->watchdog);
    jd__records_destroy(s->records);
    free(s->record);
    jd__env_destroy(s->env);
}

jd_status jd__initialize_job(const struct jd_start *start,
                             struct jd_runtime **ret_runtime)
{
    struct starting s = { .start = start, .begin = jd__clock_now() };
    jd_status status = create_empty(&s.runtime);
    if (status != JD_OK)
        return status;
    status = run_steps(&s);
    if (status != JD_OK)
        jd__option_table_add_unknown(s.env, status);
    finish_start(&s);
    if (status == JD_OK)
        *ret_runtime = s.runtime;
    else
        jd__initialize_undo(s.runtime);
    return status;
}

static void leave_platforms(void)
{
    for (int i = 0; jd__device_sources[i]; i++)
        if (jd__device_sources[i]->leave)
            jd__device_sources[i]->leave();
}

void jd__initialize_undo(struct jd_runtime *runtime)
{
    if (!runtime)
        return;
    leave_platforms();
    jd__wireup_leave();
    jd__session_destroy(runtime->session);
    jd__world_close(&runtime->world);
    jd__topology_destroy(runtime->topology);
    jd__exit_release(runtime->cluster);
    jd__options_destroy(runtime->settings);
    free(runtime);
}

/* ---- a world of one ----------------------------------------------------- */

static jd_status refuse_alone(const char *operation,
                              const struct jd_cluster *cluster)
{
    return jd_fail(JD_FAILED_PRECONDITION,
                   "%s: jd_initialize() was not called, but the job has %lld "
                   "processes (%s); call jd_initialize() first",
                   operation, cluster->num_processes.value,
                   cluster->num_processes.source);
}

static jd_status refuse_rival(const char *operation, const struct jd_env *env,
                              const struct jd_cluster *cluster)
{
    jd_status status = cluster->rival.is_outer
                           ? jd__contradiction_check(env, cluster)
                           : jd__cluster_fail_rival(cluster, NULL);
    return status == JD_OK ? JD_OK : jd__fail_prefix(status, "%s: ", operation);
}

static jd_status run_alone(struct starting *s, const char *operation)
{
    jd_status status = read_settings(s);
    if (status == JD_OK)
        status = jd__cluster_detect(s->env, s->runtime->settings,
                                    &s->runtime->cluster);
    struct jd_cluster *cluster = s->runtime->cluster;
    if (status == JD_OK && cluster->num_processes.known &&
        cluster->num_processes.value > 1)
        status = refuse_alone(operation, cluster);
    if (status == JD_OK && cluster->rival.detector)
        status = refuse_rival(operation, s->env, cluster);
    if (status == JD_OK)
        status = discover_self(s);
    if (status == JD_OK)
        status = jd__world_open(MPI_COMM_NULL, &s->runtime->world);
    if (status != JD_OK)
        return status;
    set_number(&cluster->process_id, 0, "jd_initialize() was not called");
    set_number(&cluster->num_processes, 1, "jd_initialize() was not called");
    status = build_topology(s);
    if (status == JD_OK)
        say_absent(s);
    if (status == JD_OK)
        status = jd__session_create_local(s->runtime->settings,
                                               &s->runtime->session);
    return status;
}

jd_status jd__initialize_alone(const char *operation,
                                   struct jd_runtime **ret_runtime)
{
    static const struct jd_start nothing = { .options = NULL };
    struct starting s = { .start = &nothing };
    jd_status status = create_empty(&s.runtime);
    if (status != JD_OK)
        return status;
    status = run_alone(&s, operation);
    if (status != JD_OK)
        jd__option_table_add_unknown(s.env, status);
    finish_start(&s);
    if (status == JD_OK)
        *ret_runtime = s.runtime;
    else
        jd__initialize_undo(s.runtime);
    return status;
}

static jd_status start_late_mpi(struct starting *s)
{
    jd_status status = jd__env_from_process(&s->env);
    if (status == JD_OK)
        status = start_watchdog(s);
    if (status == JD_OK)
        status = jd__host_discover(&s->facts);
    if (status == JD_OK)
        status = init_mpi(s);
    /* What MPI_Init of a process that nobody started has set would make a
     * child's mpirun, or its jd, take it for a launcher's. */
    return status == JD_OK ? jd__env_restore(s->env) : status;
}

jd_status jd__initialize_add_mpi(struct jd_runtime *runtime)
{
    static const struct jd_start nothing = { .options = NULL };
    struct starting s = { .start = &nothing,
                          .runtime = runtime,
                          .most_devices = 1 };
    jd_status status = JD_OK;
    if (!jd__mpi_is_up())
        status = start_late_mpi(&s);
    finish_start(&s);
    if (status == JD_OK)
        status = jd__world_open(MPI_COMM_SELF, &runtime->world);
    if (status == JD_OK)
        status = jd__world_open_user_comm(&runtime->world);
    return status;
}

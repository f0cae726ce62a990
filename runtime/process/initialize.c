/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * initialize.c - the way through the house:
 *
 *     environment -> settings -> what the launcher says -> this host and its
 *     devices -> an MPI world -> records of all processes -> the topology ->
 *     the coordination service, at which all meet
 *
 * A watchdog holds initialization_timeout over all of it (starting.h); the
 * world and the meeting are starting_world.h's.
 */
#include "runtime/process/initialize.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "base/tie.h"
#include "runtime/coordination/client/client.h"
#include "runtime/process/contradiction.h"
#include "runtime/process/exit.h"
#include "runtime/process/failed_start.h"
#include "runtime/process/nccl_variables.h"
#include "runtime/process/starting_world.h"
#include "runtime/recorder/lines.h"
#include "runtime/recorder/recorder.h"
#include "runtime/recorder/site.h"
#include "runtime/recorder/trace_file.h"
#include "runtime/topology/device_choice.h"
#include "runtime/topology/own_record.h"
#include "runtime/topology/table_spread.h"
#include "runtime/wireup/wireup.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- this process ------------------------------------------------------- */

static void describe_self(struct jd_starting *s)
{
    const struct jd_cluster *cluster = s->runtime->cluster;
    struct jd_record *r = s->record;
    r->process_id = jd__starting_number(&cluster->process_id, -1);
    r->num_processes = jd__starting_number(&cluster->num_processes, -1);
    r->num_slices = jd__starting_number(&cluster->num_slices, 0);
    r->slice_index = jd__starting_number(&cluster->slice_index, -1);
    snprintf(r->process_id_source, sizeof r->process_id_source, "%s",
             cluster->process_id.source);
    snprintf(r->num_processes_source, sizeof r->num_processes_source, "%s",
             cluster->num_processes.source);
}

static jd_status discover_self(struct jd_starting *s)
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

static jd_status read_settings(struct jd_starting *s)
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

static jd_status detect_cluster(struct jd_starting *s)
{
    jd_status status =
        jd__cluster_detect(s->env, s->runtime->settings, &s->runtime->cluster);
    if (status != JD_OK)
        return status;
    jd__log_set_identity(
        jd__starting_number(&s->runtime->cluster->process_id, -1),
        jd__starting_number(&s->runtime->cluster->num_processes, -1));
    jd__watchdog_set_cluster(s->watchdog, s->runtime->cluster);
    return JD_OK;
}

/* ---- all processes ------------------------------------------------------ */

/* What a leader makes of all records: whose devices are whose, too. */
static jd_status make_table(struct jd_starting *s, struct jd_table **ret_table)
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
static jd_status gather_table(struct jd_starting *s,
                              struct jd_table **ret_table)
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

static bool has_gpus(const struct jd_starting *s)
{
    return jd__topology_platform(s->runtime->topology, "cuda");
}

static jd_status build_topology(struct jd_starting *s)
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

static jd_status order_world(struct jd_starting *s)
{
    struct jd_world *world = &s->runtime->world;
    const struct jd_topology *topology = s->runtime->topology;
    jd__starting_step(s, JD_STARTING_ORDER);
    jd_status status =
        jd__world_order(world, topology->table->is_in_order, topology->self);
    if (status == JD_OK)
        status = jd__world_open_user_comm(world);
    return status;
}

static void say_absent(const struct jd_starting *s)
{
    const struct jd_topology *topology = s->runtime->topology;
    struct jd_absent absent = jd__topology_absent(topology);
    jd__absent_say(&absent, jd__topology_has_spare(topology),
                   jd__topology_has_fault(topology));
}

/* What concerns all is said by process 0 alone. */
static void warn_once(const struct jd_starting *s)
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
static void say_how(const struct jd_starting *s)
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
static void begin_trace_file(const struct jd_starting *s)
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
static jd_status leave_met(const struct jd_starting *s, jd_status status)
{
    if (status == JD_INTERNAL || status == JD_RESOURCE_EXHAUSTED)
        return jd__failed_start_tell(status);
    return jd__failed_start_part(
        status, s->runtime->session,
        jd__options_seconds(s->runtime->settings, JD_OPTION_SHUTDOWN_TIMEOUT));
}

static jd_status run_steps(struct jd_starting *s)
{
    jd_status status = read_settings(s);
    if (status == JD_OK)
        status = jd__starting_watch(s);
    if (status == JD_OK)
        status = detect_cluster(s);
    if (status == JD_OK)
        status = discover_self(s);
    if (status == JD_OK)
        status = jd__starting_world_open(s);
    if (status != JD_OK)
        return status;
    jd__starting_step(s, JD_STARTING_GATHER);
    status = build_topology(s);
    if (status != JD_OK && s->way == JD_WORLD_MET)
        return leave_met(s, status);
    if (status == JD_OK)
        status = order_world(s);
    if (status == JD_OK)
        warn_once(s);
    if (status == JD_OK)
        status = jd__starting_world_meet(s);
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

static void finish_start(struct jd_starting *s)
{
    jd__watchdog_stop(s->watchdog);
    jd__records_destroy(s->records);
    free(s->record);
    jd__env_destroy(s->env);
}

jd_status jd__initialize_job(const struct jd_start *start,
                             struct jd_runtime **ret_runtime)
{
    struct jd_starting s = { .start = start, .begin = jd__clock_now() };
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

static jd_status run_alone(struct jd_starting *s, const char *operation)
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
    jd__starting_set_number(&cluster->process_id, 0,
                            "jd_initialize() was not called");
    jd__starting_set_number(&cluster->num_processes, 1,
                            "jd_initialize() was not called");
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
    struct jd_starting s = { .start = &nothing };
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

static jd_status start_late_mpi(struct jd_starting *s)
{
    jd_status status = jd__env_from_process(&s->env);
    if (status == JD_OK)
        status = jd__starting_watch(s);
    if (status == JD_OK)
        status = jd__host_discover(&s->facts);
    if (status == JD_OK)
        status = jd__starting_world_init_mpi(s);
    /* What MPI_Init of a process that nobody started has set would make a
     * child's mpirun, or its jd, take it for a launcher's. */
    return status == JD_OK ? jd__env_restore(s->env) : status;
}

jd_status jd__initialize_add_mpi(struct jd_runtime *runtime)
{
    static const struct jd_start nothing = { .options = NULL };
    struct jd_starting s = { .start = &nothing,
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

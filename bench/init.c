/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * init.c - how long jd_initialize takes, beside MPI_Init_thread at Open
 * MPI's defaults and with the settings that jd makes.
 *
 * The three are started by mpirun in turn, so that a slow minute of the
 * machine is everybody's. A sample is the slowest process's time of the call.
 */
#include "base/clock.h"
#include "bench/engine/flags.h"
#include "bench/engine/launch.h"
#include "bench/engine/samples.h"
#include "bench/jd_bench.h"
#include "jd_process.h"
#include "runtime/mpi/library.h"
#include "runtime/mpi/tuning.h"
#include "runtime/topology/host.h"

#include <mpi.h>
#include <stdio.h>
#include <string.h>

/* What a child does before it reports its time. */
static const char *const ways[] = { "mpi", "mpi-same", "jd" };
static const char *const members[] = { "mpi", "mpi_same", "jd" }; /* JSON's */
enum { WAY_MPI, WAY_SAME, WAY_JD, NUM_WAYS };

static const char usage[] =
    "Usage: jd-bench init [options]\n"
    "\n"
    "Starts processes with mpirun on this host, in turn, and prints the time\n"
    "of MPI_Init_thread at Open MPI's defaults (mpi), with the settings that\n"
    "jd makes (mpi-same), and of jd_initialize with MPI_Init_thread in it\n"
    "(jd): the slowest process's, minimum and median, in milliseconds.\n"
    "\n"
    "  --processes LIST   numbers of processes (default 2,4)\n"
    "  --launcher TEXT    what starts the processes, instead of mpirun with\n"
    "                     --processes: \"srun --mpi=pmix -N2 -n4\"\n"
    "  --launches N       of each kind (default 15)\n"
    "  --json             rows with processes, mpi_ms, mpi_same_ms, jd_ms,\n"
    "                     ratio and more\n"
    "  --help             print this and exit\n";

struct options {
    struct bench_launch launch;
    const char *child; /* in a job: the way */
};

/* What one number of processes gave. */
struct row {
    int processes;
    struct bench_samples samples[NUM_WAYS];
};

/* ---- the child ---------------------------------------------------------- */

static int init_mpi(void)
{
    int provided;
    return MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &provided) ==
                   MPI_SUCCESS
               ? 0
               : 1;
}

/* The settings that jd makes, made here. */
static void tune(void)
{
    struct jd_env *env;
    struct jd_settings *settings;
    struct jd_cluster *cluster;
    struct jd_local_facts facts;
    struct jd_tuning plan;
    JD_CHECK(jd__env_from_process(&env));
    JD_CHECK(jd__options_resolve(env, NULL, 0, &settings));
    JD_CHECK(jd__cluster_detect(env, settings, &cluster));
    JD_CHECK(jd__host_discover(&facts));
    jd__tuning_plan(
        &(struct jd_tune_request){ .env = env,
                                   .cluster = cluster,
                                   .cores_allowed = facts.host_cores_allowed,
                                   .enabled = true,
                                   .root = "",
                                   .library = jd__mpi_library_path() },
        &plan);
    JD_CHECK(jd__tuning_apply(&plan));
    jd__cluster_destroy(cluster);
    jd__options_destroy(settings);
    jd__env_destroy(env);
}

static int run_child(const char *way)
{
    bool is_jd = strcmp(way, ways[WAY_JD]) == 0;
    if (strcmp(way, ways[WAY_SAME]) == 0)
        tune();
    double begin = jd__clock_now();
    if (is_jd)
        JD_CHECK(jd_initialize());
    else if (init_mpi() != 0)
        return 1;
    double own = jd__clock_now() - begin, slowest = 0;
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Reduce(&own, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("init %d ", size);
        bench_samples_print("", &slowest, 1);
    }
    return is_jd ? (int)jd_shutdown() : MPI_Finalize();
}

/* ---- the parent --------------------------------------------------------- */

/* One launch, which is measured where there is a row. */
struct launching {
    const char *way;
    struct bench_samples *samples;
    int *processes;
};

static void append_flags(const void *options, char *command, size_t used)
{
    const struct launching *one = options;
    bench_launch_append(command, used, "--child %s", one->way);
}

static bool take_line(void *arg, const char *line)
{
    const struct launching *one = arg;
    int head = 0;
    return sscanf(line, "init %d %n", one->processes, &head) == 1 &&
           bench_samples_add(one->samples, line + head);
}

static bool launch(const struct options *o, int kind, int way, int number,
                   struct row *row)
{
    struct bench_samples unmeasured = { .count = 0 };
    struct launching one = { ways[way],
                             number < 0 ? &unmeasured : &row->samples[way],
                             &row->processes };
    const struct bench_job job = { .name = "init",
                                   .append = append_flags,
                                   .options = &one,
                                   .take = take_line,
                                   .results = &one,
                                   .has_defaults = true };
    bool ok = bench_launch_one(&o->launch, kind, &job, number);
    bench_samples_free(&unmeasured);
    return ok;
}

static void print_row(const struct row *row)
{
    double median[NUM_WAYS];
    printf("%9d", row->processes);
    for (int way = 0; way < NUM_WAYS; way++) {
        const struct bench_samples *samples = &row->samples[way];
        median[way] = 1e3 * bench_samples_median(samples);
        printf("  %7.1f / %7.1f", 1e3 * bench_samples_percentile(samples, 0),
               median[way]);
    }
    printf("  %9.2f  %+13.1f\n", median[WAY_JD] / median[WAY_MPI],
           median[WAY_JD] - median[WAY_SAME]);
    fflush(stdout);
}

static void print_json(const struct row *row, bool is_first)
{
    bench_json_begin_row(is_first);
    printf("{\"processes\": %d", row->processes);
    for (int way = 0; way < NUM_WAYS; way++)
        bench_samples_print_json(&row->samples[way], &bench_ms, members[way]);
    printf(", \"ratio\": %.4g}",
           bench_samples_median(&row->samples[WAY_JD]) /
               bench_samples_median(&row->samples[WAY_MPI]));
}

static bool has_all(const struct row *row)
{
    for (int way = 0; way < NUM_WAYS; way++)
        if (row->samples[way].count == 0)
            return false;
    return true;
}

/* All launches of one number of processes, the ways in turn. */
static bool measure(const struct options *o, int kind)
{
    struct row row = { .processes = 0 };
    bool ok = true;
    for (int i = -1; i < o->launch.launches && ok; i++) /* -1: fills caches */
        for (int way = 0; way < NUM_WAYS && ok; way++)
            ok = launch(o, kind, way, i, &row);
    if (ok && !has_all(&row)) {
        fprintf(stderr, "jd-bench: the job printed no figures\n");
        ok = false;
    }
    if (ok && o->launch.json)
        print_json(&row, kind == 0);
    else if (ok)
        print_row(&row);
    for (int way = 0; way < NUM_WAYS; way++)
        bench_samples_free(&row.samples[way]);
    return ok;
}

static int run_parent(const struct options *o)
{
    bool ok = true;
    if (!o->launch.json) {
        bench_print_machine();
        printf("# milliseconds, minimum / median of %lld launches\n",
               o->launch.launches);
        printf("processes  %-17s  %-17s  %-17s  jd / mpi  jd - mpi-same\n",
               "mpi", "mpi-same", "jd");
        fflush(stdout);
    }
    for (int i = 0; i < bench_launch_kinds(&o->launch) && ok; i++)
        ok = measure(o, i);
    if (o->launch.json && ok)
        bench_json_end();
    return ok ? 0 : 1;
}

/* ---- the flags ---------------------------------------------------------- */

static const char *set(void *arg, int flag, char *text)
{
    struct options *o = arg;
    const char *wanted;
    if (bench_launch_take(&o->launch, flag, text, &wanted))
        return wanted;
    o->child = text;
    return NULL;
}

static int run(int argc, char **argv)
{
    static const struct option words[] = {
        { "processes", required_argument, NULL, 'p' },
        { "launcher", required_argument, NULL, 'l' },
        { "launches", required_argument, NULL, 'n' },
        { "json", no_argument, NULL, 'j' },
        { "child", required_argument, NULL, 'c' },
        { "help", no_argument, NULL, 'h' },
        { NULL, 0, NULL, 0 },
    };
    const struct bench_flags flags = { "init", usage, words, set };
    struct options o = {
        .launch = { .processes = { 2, 4 }, .num_processes = 2, .launches = 15 },
    };
    int status = bench_read_flags(&flags, argc, argv, &o);
    if (status >= 0)
        return status;
    if (o.child)
        return run_child(o.child);
    return bench_launch_is_alone() ? run_parent(&o) : 2;
}

const struct bench bench_init = {
    .name = "init",
    .doc = "jd_initialize beside MPI_Init_thread",
    .run = run,
};

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench_init.c - how long jd_initialize takes, beside MPI_Init_thread at Open
 * MPI's defaults and with the settings that jd makes.
 *
 * The three are started by mpirun in turn, so that a slow minute of the
 * machine is everybody's. A sample is the slowest process's time of the call.
 */
#include "base/clock.h"
#include "base/parse.h"
#include "bench/bench_launch.h"
#include "bench/jd_bench.h"
#include "jd_process.h"
#include "runtime/mpi/service.h"
#include "runtime/mpi/tuning.h"
#include "runtime/topology/host.h"

#include <getopt.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LAUNCHES = 200, MAX_PROCESSES = 256 };

/* What a child does before it reports its time. */
static const char *const ways[] = { "mpi", "mpi-same", "jd" };
enum { WAY_MPI, WAY_SAME, WAY_JD, NUM_WAYS };

static const char usage[] =
    "Usage: jd-bench init [--launches N] [--processes LIST]\n"
    "\n"
    "Starts processes with mpirun on this host, in turn, and prints the time\n"
    "of MPI_Init_thread at Open MPI's defaults (mpi), with the settings that\n"
    "jd makes (mpi-same), and of jd_initialize with MPI_Init_thread in it\n"
    "(jd): the slowest process's, minimum and median, in milliseconds.\n"
    "\n"
    "  --launches N       of each kind (default 15)\n"
    "  --processes LIST   numbers of processes (default 2,4)\n";

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
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Reduce(&own, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("seconds %.9f\n", slowest);
    return is_jd ? (int)jd_shutdown() : MPI_Finalize();
}

/* ---- the parent --------------------------------------------------------- */

/* One launch's time in milliseconds; negative where it failed. */
static double launch(const char *way, int processes)
{
    char command[8192], line[256];
    double seconds = -1;
    snprintf(command, sizeof command,
             "mpirun --oversubscribe -n %d '%s' init --child %s", processes,
             bench_program(), way);
    FILE *pipe = popen(command, "r");
    if (!pipe)
        return -1;
    while (fgets(line, sizeof line, pipe))
        if (strncmp(line, "seconds ", 8) == 0)
            seconds = strtod(line + 8, NULL);
    return pclose(pipe) == 0 ? 1e3 * seconds : -1;
}

/* samples[way][i] of that many launches, the ways in turn. */
static int measure(int processes, int launches,
                   double samples[NUM_WAYS][MAX_LAUNCHES])
{
    for (int i = -1; i < launches; i++) { /* -1: unmeasured, fills caches */
        for (int way = 0; way < NUM_WAYS; way++) {
            double value = launch(ways[way], processes);
            if (value < 0) {
                fprintf(stderr,
                        "jd-bench: mpirun -n %d of \"%s\" failed; its own "
                        "message is above\n",
                        processes, ways[way]);
                return 1;
            }
            if (i >= 0)
                samples[way][i] = value;
        }
    }
    return 0;
}

static void print_row(int processes, int launches,
                      double samples[NUM_WAYS][MAX_LAUNCHES])
{
    double median[NUM_WAYS];
    printf("%9d", processes);
    for (int way = 0; way < NUM_WAYS; way++) {
        median[way] = bench_median(samples[way], launches);
        printf("  %7.1f / %7.1f", bench_minimum(samples[way], launches),
               median[way]);
    }
    printf("  %9.2f  %+13.1f\n", median[WAY_JD] / median[WAY_MPI],
           median[WAY_JD] - median[WAY_SAME]);
}

static int run_parent(const int *processes, size_t count, int launches)
{
    static double samples[NUM_WAYS][MAX_LAUNCHES];
    bench_print_machine();
    printf("# milliseconds, minimum / median of %d launches\n", launches);
    printf("processes  %-17s  %-17s  %-17s  jd / mpi  jd - mpi-same\n", "mpi",
           "mpi-same", "jd");
    for (size_t i = 0; i < count; i++) {
        if (measure(processes[i], launches, samples) != 0)
            return 1;
        print_row(processes[i], launches, samples);
        fflush(stdout);
    }
    return 0;
}

/* ---- the flags ---------------------------------------------------------- */

static int fail_usage(const char *flag, const char *value, const char *allowed)
{
    if (flag)
        fprintf(stderr, "jd-bench init: %s is \"%s\", but it must be %s\n",
                flag, value, allowed);
    fputs(usage, stderr);
    return 2;
}

static bool are_process_counts(const int *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (values[i] < 1 || values[i] > MAX_PROCESSES)
            return false;
    return true;
}

static int run(int argc, char **argv)
{
    static const struct option flags[] = {
        { "launches", required_argument, NULL, 'l' },
        { "processes", required_argument, NULL, 'p' },
        { "child", required_argument, NULL, 'c' },
        { "help", no_argument, NULL, 'h' },
        { NULL, 0, NULL, 0 },
    };
    static int defaults[] = { 2, 4 };
    int *processes = defaults;
    size_t count = 2;
    long long launches = 15;
    for (int flag; (flag = getopt_long(argc, argv, "", flags, NULL)) != -1;) {
        switch (flag) {
        case 'c':
            return run_child(optarg);
        case 'h':
            fputs(usage, stdout);
            return 0;
        case 'l':
            if (!jd__parse_integer(optarg, &launches) || launches < 1 ||
                launches > MAX_LAUNCHES)
                return fail_usage("--launches", optarg, "from 1 to 200");
            break;
        case 'p':
            if (!jd__parse_integers(optarg, &processes, &count) ||
                !are_process_counts(processes, count))
                return fail_usage("--processes", optarg,
                                  "a comma list of numbers from 1 to 256");
            break;
        default:
            return fail_usage(NULL, NULL, NULL);
        }
    }
    return bench_launch_is_alone() ? run_parent(processes, count, (int)launches)
                                   : 2;
}

const struct bench bench_init = {
    .name = "init",
    .doc = "jd_initialize beside MPI_Init_thread",
    .run = run,
};

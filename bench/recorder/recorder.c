/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * recorder.c - what the recorder, and JD_TRACE=1, cost a psum: starts the jobs,
 * prints the table.
 */
#include "bench/recorder/recorder.h"
#include "bench/engine/flags.h"
#include "bench/engine/launch.h"
#include "bench/engine/sides.h"
#include "bench/jd_bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* The most that a call may take beside one that is not recorded; of longer
 * calls less, from these lengths on. */
#define MOST_ON 1.03
#define MOST_ON_LONG 1.01
#define MOST_TRACE 1.5
#define MOST_TRACE_LONG 1.05
enum { LONG_ON = 4096, LONG_TRACE = 65536 }; /* bytes */

struct recorder_options {
    struct recorder_request request;
    struct bench_launch launch;
    bool is_job;
};

static const char *const side_names[RECORDER_SIDES] = { "off", "on", "trace" };

static const char usage[] =
    "Usage: jd-bench recorder [options]\n"
    "\n"
    "Measures what the recorder costs a psum of F32, between processes that "
    "it\n"
    "starts: psum as with JD_RECORDER=0 (off), as it is (on), and as with\n"
    "JD_TRACE=1 (trace), by turns in the same processes. A sample is the "
    "slowest\n"
    "process's time of a call. The ratio is that side's median to that of "
    "off.\n"
    "Sums are compared before.\n"
    "\n"
    "  --count N          elements of F32 (default 2, which are 8 bytes)\n"
    "  --processes LIST   numbers of processes (default 2)\n"
    "  --launcher TEXT    what starts the processes, instead of mpirun with\n"
    "                     --processes: \"srun --mpi=pmix -N2 -n4\"\n"
    "  --launches N       of each number (default 9)\n"
    "  --rounds N         samples of a launch (default 45)\n"
    "  --sample MS        milliseconds of a sample (default 1)\n"
    "  --json             rows with processes, bytes, off_us, on_us, "
    "trace_us,\n"
    "                     on_ratio, trace_ratio and more\n"
    "  --help             print this and exit\n";

/* ---- flags -------------------------------------------------------------- */

/* What a value must be where it is wrong, else NULL. */
static const char *set(void *arg, int flag, char *text)
{
    enum { MAX_COUNT = 1 << 28 };
    struct recorder_options *o = arg;
    const char *wanted;
    long long value;
    if (bench_launch_take(&o->launch, flag, text, &wanted))
        return wanted;
    switch (flag) {
    case 'c':
        if (!bench_read_number(text, MAX_COUNT, &value))
            return "a number from 1 to 268435456";
        o->request.count = (size_t)value;
        return NULL;
    case 'b':
        o->is_job = true;
        return NULL;
    case 'r':
        return bench_read_rounds(text, &o->request.rounds);
    default:
        return bench_read_sample(text, &o->request.sample_seconds);
    }
}

static const struct option flags[] = {
    { "count", required_argument, NULL, 'c' },
    { "processes", required_argument, NULL, 'p' },
    { "launcher", required_argument, NULL, 'l' },
    { "launches", required_argument, NULL, 'n' },
    { "rounds", required_argument, NULL, 'r' },
    { "sample", required_argument, NULL, 'e' },
    { "json", no_argument, NULL, 'j' },
    { "job", no_argument, NULL, 'b' },
    { "help", no_argument, NULL, 'h' },
    { NULL, 0, NULL, 0 },
};

/* ---- jobs --------------------------------------------------------------- */

static void append_flags(const void *options, char *command, size_t used)
{
    const struct recorder_request *r =
        &((const struct recorder_options *)options)->request;
    bench_launch_append(command, used,
                        "--job --count %zu --rounds %d --sample %g", r->count,
                        r->rounds, 1e3 * r->sample_seconds);
}

/* ---- what came out ------------------------------------------------------ */

static size_t bytes_of(const void *options)
{
    return 4 * ((const struct recorder_options *)options)->request.count;
}

/* The median of the ratios round by round: sides of one round stand beside each
 * other, until their samples are sorted. */
static double ratio_to_off(const struct bench_row *row, int side)
{
    const double *off = row->samples[RECORDER_OFF].seconds;
    const double *seconds = row->samples[side].seconds;
    int count = row->samples[side].count;
    double *ratios = malloc((size_t)count * sizeof *ratios);
    if (!ratios)
        return NAN;
    for (int i = 0; i < count; i++)
        ratios[i] = seconds[i] / off[i];
    double median = bench_median(ratios, count);
    free(ratios);
    return median;
}

static void print_head(const void *options)
{
    printf("# psum of %zu bytes\n"
           "# nanoseconds: minimum, median, 99th percentile of the rounds' "
           "slowest rank;\n# ratio: to off, the median of the rounds' ratios\n",
           bytes_of(options));
    printf("%9s  %-5s  %29s  %6s  %s\n", "processes", "side", "ns", "ratio",
           "wrong");
}

static void print_row(const void *options, const struct bench_row *row)
{
    size_t bytes = bytes_of(options);
    double on = ratio_to_off(row, RECORDER_ON);
    double trace = ratio_to_off(row, RECORDER_TRACE);
    const double ratios[RECORDER_SIDES] = { 1, on, trace };
    for (int side = 0; side < RECORDER_SIDES; side++) {
        printf("%9d  %-5s", row->processes, side_names[side]);
        bench_samples_print_columns(&row->samples[side], &bench_ns);
        printf("  %6.3f  %zu\n", ratios[side], row->wrong[side]);
    }
    bench_report_most("with the recorder / without", on, "",
                      bytes < LONG_ON ? MOST_ON : MOST_ON_LONG);
    bench_report_most("with JD_TRACE=1 / without", trace, "",
                      bytes < LONG_TRACE ? MOST_TRACE : MOST_TRACE_LONG);
}

static void print_json(const void *options, const struct bench_row *row)
{
    printf("\"processes\": %d, \"bytes\": %zu, \"on_ratio\": %.4g, "
           "\"trace_ratio\": %.4g",
           row->processes, bytes_of(options), ratio_to_off(row, RECORDER_ON),
           ratio_to_off(row, RECORDER_TRACE));
    for (int side = 0; side < RECORDER_SIDES; side++) {
        bench_samples_print_json(&row->samples[side], &bench_us,
                                 side_names[side]);
        printf(", \"%s_wrong\": %zu", side_names[side], row->wrong[side]);
    }
}

static int run_parent(const struct recorder_options *o)
{
    static const struct bench_sides sides = { RECORDER_SIDES, print_head,
                                              print_row, print_json };
    const struct bench_job job = { .name = "recorder",
                                   .append = append_flags,
                                   .options = o };
    return bench_sides_run(&sides, &o->launch, job);
}

static int run(int argc, char **argv)
{
    const struct bench_flags all = { "recorder", usage, flags, set };
    struct recorder_options o = {
        .request = { .count = 2, .rounds = 45, .sample_seconds = 1e-3 },
        .launch = { .processes = { 2 }, .num_processes = 1, .launches = 9 },
    };
    int status = bench_read_flags(&all, argc, argv, &o);
    if (status >= 0)
        return status;
    if (o.is_job)
        return recorder_job(&o.request);
    return bench_launch_is_alone() ? run_parent(&o) : 2;
}

const struct bench bench_recorder = {
    .name = "recorder",
    .doc = "what the recorder and JD_TRACE=1 cost a psum",
    .run = run,
};

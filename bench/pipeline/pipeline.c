/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pipeline.c - jd_send and jd_recv of single numbers beside MPI's: starts the
 * jobs, prints the table.
 */
#include "bench/pipeline/pipeline.h"
#include "bench/engine/flags.h"
#include "bench/engine/launch.h"
#include "bench/engine/sides.h"
#include "bench/jd_bench.h"
#include "jd_array.h"

#include <stdio.h>

/* What jd has to reach inside a host. */
#define TARGET 1.0

struct pipeline_options {
    struct pipeline_request request;
    struct bench_launch launch;
    bool is_job;
};

static const char *const side_names[PIPELINE_SIDES] = { "jd", "mpi" };

static const char usage[] =
    "Usage: jd-bench pipeline [options]\n"
    "\n"
    "Measures jd_send() and jd_recv() of one F64 at a time, between processes\n"
    "that it starts, with MPI_Send and MPI_Recv beside them in the same\n"
    "processes, by turns: the columns of a matrix are spread over the\n"
    "processes, and each needs of every row the last number of the process\n"
    "before, as Synch_p2p of the Parallel Research Kernels does. A sample is\n"
    "the slowest process's time of a sweep over the matrix, arithmetic\n"
    "included. The corner is compared after all of them.\n"
    "\n"
    "  --shape ROWSxCOLUMNS  of the matrix (default 1000x1000)\n"
    "  --processes LIST   numbers of processes (default 2,4)\n"
    "  --launcher TEXT    what starts the processes, instead of mpirun with\n"
    "                     --processes: \"srun --mpi=pmix -N2 -n4\"\n"
    "  --launches N       of each number (default 3)\n"
    "  --rounds N         samples of a launch (default 15)\n"
    "  --sample MS        milliseconds of a sample (default 10)\n"
    "  --json             rows with processes, jd_us, mpi_us, mpi_ratio to\n"
    "                     jd's and more\n"
    "  --help             print this and exit\n";

/* ---- flags -------------------------------------------------------------- */

static const char *read_shape(struct pipeline_request *r, const char *text)
{
    int64_t shape[JD_MAX_NDIM];
    int ndim;
    const char *wanted = bench_read_shape(text, &ndim, shape);
    if (wanted || ndim != 2 || shape[0] < 2)
        return "ROWSxCOLUMNS, 2 rows at least: 1000x1000";
    r->rows = shape[0];
    r->columns = shape[1];
    return NULL;
}

/* What a value must be where it is wrong, else NULL. */
static const char *set(void *arg, int flag, char *text)
{
    struct pipeline_options *o = arg;
    const char *wanted;
    if (bench_launch_take(&o->launch, flag, text, &wanted))
        return wanted;
    switch (flag) {
    case 's':
        return read_shape(&o->request, text);
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
    { "shape", required_argument, NULL, 's' },
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
    const struct pipeline_request *r =
        &((const struct pipeline_options *)options)->request;
    bench_launch_append(command, used,
                        "--job --shape %lldx%lld --rounds %d --sample %g",
                        (long long)r->rows, (long long)r->columns, r->rounds,
                        1e3 * r->sample_seconds);
}

/* ---- what came out ------------------------------------------------------ */

static void print_head(const void *options)
{
    const struct pipeline_request *r =
        &((const struct pipeline_options *)options)->request;
    printf("# sweeps over %lld x %lld F64\n"
           "# microseconds: minimum, median, 99th percentile of the rounds' "
           "slowest rank;\n# ratio: that side's median / jd's\n",
           (long long)r->rows, (long long)r->columns);
    printf("%9s  %-4s  %29s  %6s  %s\n", "processes", "side", "us", "ratio",
           "wrong");
}

static double ratio_of(const struct bench_row *row, int side)
{
    return bench_row_median_us(row, side) /
           bench_row_median_us(row, PIPELINE_JD);
}

static void print_row(const void *options, const struct bench_row *row)
{
    (void)options;
    for (int side = 0; side < PIPELINE_SIDES; side++) {
        printf("%9d  %-4s", row->processes, side_names[side]);
        bench_samples_print_columns(&row->samples[side], &bench_us);
        printf("  %6.2f  %zu\n", ratio_of(row, side), row->wrong[side]);
    }
    bench_report_least("MPI's time / jd's", ratio_of(row, PIPELINE_MPI), "",
                       TARGET);
}

static void print_json(const void *options, const struct bench_row *row)
{
    const struct pipeline_request *r =
        &((const struct pipeline_options *)options)->request;
    printf("\"rows\": %lld, \"columns\": %lld, \"processes\": %d",
           (long long)r->rows, (long long)r->columns, row->processes);
    for (int side = 0; side < PIPELINE_SIDES; side++) {
        const char *name = side_names[side];
        bench_samples_print_json(&row->samples[side], &bench_us, name);
        printf(", \"%s_wrong\": %zu, \"%s_ratio\": %.4g", name,
               row->wrong[side], name, ratio_of(row, side));
    }
}

static int run_parent(const struct pipeline_options *o)
{
    static const struct bench_sides sides = { PIPELINE_SIDES, print_head,
                                              print_row, print_json };
    const struct bench_job job = { .name = "pipeline",
                                   .append = append_flags,
                                   .options = o };
    return bench_sides_run(&sides, &o->launch, job);
}

static int run(int argc, char **argv)
{
    const struct bench_flags all = { "pipeline", usage, flags, set };
    struct pipeline_options o = {
        .request = { .rows = 1000,
                     .columns = 1000,
                     .rounds = 15,
                     .sample_seconds = 10e-3 },
        .launch = { .processes = { 2, 4 }, .num_processes = 2, .launches = 3 },
    };
    int status = bench_read_flags(&all, argc, argv, &o);
    if (status >= 0)
        return status;
    if (o.is_job)
        return pipeline_job(&o.request);
    return bench_launch_is_alone() ? run_parent(&o) : 2;
}

const struct bench bench_pipeline = {
    .name = "pipeline",
    .doc = "single numbers sent down a line of processes, beside MPI",
    .run = run,
};

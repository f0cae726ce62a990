/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * overlap.c - work beside jd_psum_start() and jd_group_start(), and beside
 * MPI's calls of the kind: starts the jobs, prints the table.
 */
#include "bench/overlap/overlap.h"
#include "bench/engine/flags.h"
#include "bench/engine/launch.h"
#include "bench/engine/sides.h"
#include "bench/jd_bench.h"

#include <stdio.h>
#include <string.h>

/* Of MPI's time of work beside a call, to jd's: what jd has to reach. */
#define TARGET 1.0

struct overlap_options {
    struct overlap_request request;
    struct bench_launch launch;
    bool is_job;
};

static const char *const op_names[OVERLAP_OPS] = { "psum", "ring" };
static const char *const side_names[OVERLAP_SIDES] = { "work", "jd", "jd-start",
                                                       "mpi", "mpi-start" };
static const char *const json_names[OVERLAP_SIDES] = { "work", "jd", "jd_start",
                                                       "mpi", "mpi_start" };

static const char usage[] =
    "Usage: jd-bench overlap [options]\n"
    "\n"
    "Measures what a call costs a program that has other work to do "
    "meanwhile,\n"
    "between processes that it starts, by turns: the work alone; jd's call "
    "and\n"
    "then the work (jd); jd_psum_start() or jd_group_start(), the work and\n"
    "jd_wait() (jd-start); and MPI's calls of the kind in the same processes\n"
    "(mpi, mpi-start). A sample is the slowest process's time. Hidden is the\n"
    "part of the blocking call's time that is gone where it is started. Each\n"
    "side's result is compared, element for element, before.\n"
    "\n"
    "  --op OP            psum (default; MPI_Iallreduce) or ring: each "
    "process\n"
    "                     sends to the next (MPI_Irecv and MPI_Isend)\n"
    "  --count N          elements of F32 (default 262144)\n"
    "  --work N           percent of the time of jd's call alone that the "
    "work\n"
    "                     takes (default 100)\n"
    "  --processes LIST   numbers of processes (default 2)\n"
    "  --launcher TEXT    what starts the processes, instead of mpirun with\n"
    "                     --processes: \"srun --mpi=pmix -N2 -n4\"\n"
    "  --launches N       of each number (default 3)\n"
    "  --rounds N         samples of a launch (default 15)\n"
    "  --sample MS        milliseconds of a sample (default 3)\n"
    "  --json             rows with processes, work_us, jd_us, jd_start_us,\n"
    "                     mpi_us, mpi_start_us, jd_hidden, mpi_hidden and "
    "more\n"
    "  --help             print this and exit\n";

/* ---- flags -------------------------------------------------------------- */

static bool read_op(const char *text, enum overlap_op *ret_op)
{
    for (int op = 0; op < OVERLAP_OPS; op++)
        if (strcmp(text, op_names[op]) == 0) {
            *ret_op = (enum overlap_op)op;
            return true;
        }
    return false;
}

/* Flags with a value; what it must be where it is wrong, else NULL. */
static const char *read_value(struct overlap_request *r, int flag,
                              const char *text)
{
    enum { MAX_COUNT = 1 << 28, MAX_WORK = 100000 };
    long long value;
    switch (flag) {
    case 'o':
        return read_op(text, &r->op) ? NULL : "psum or ring";
    case 'c':
        if (!bench_read_number(text, MAX_COUNT, &value))
            return "a number from 1 to 268435456";
        r->count = (size_t)value;
        return NULL;
    case 'w':
        if (!bench_read_number(text, MAX_WORK, &value))
            return "a percentage from 1 to 100000";
        r->work = (double)value / 100;
        return NULL;
    case 'r':
        return bench_read_rounds(text, &r->rounds);
    default:
        return bench_read_sample(text, &r->sample_seconds);
    }
}

static const char *set(void *arg, int flag, char *text)
{
    struct overlap_options *o = arg;
    const char *wanted;
    if (bench_launch_take(&o->launch, flag, text, &wanted))
        return wanted;
    if (flag == 'b') {
        o->is_job = true;
        return NULL;
    }
    return read_value(&o->request, flag, text);
}

static const struct option flags[] = {
    { "op", required_argument, NULL, 'o' },
    { "count", required_argument, NULL, 'c' },
    { "work", required_argument, NULL, 'w' },
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
    const struct overlap_request *r =
        &((const struct overlap_options *)options)->request;
    bench_launch_append(command, used,
                        "--job --op %s --count %zu --work %.0f --rounds %d "
                        "--sample %g",
                        op_names[r->op], r->count, 100 * r->work, r->rounds,
                        1e3 * r->sample_seconds);
}

/* ---- what came out ------------------------------------------------------ */

/* What is gone of a call's time where it is started, in percent; below 0 where
 * it takes longer so. */
static double hidden(const struct bench_row *row, int blocking, int started)
{
    double alone = bench_row_median_us(row, blocking) -
                   bench_row_median_us(row, OVERLAP_WORK);
    double gone =
        bench_row_median_us(row, blocking) - bench_row_median_us(row, started);
    return alone > 0 ? 100 * gone / alone : 0;
}

static void print_head(const void *options)
{
    const struct overlap_options *o = options;
    const struct overlap_request *r = &o->request;
    printf("# %s of %zu F32, and work of %.0f %% of its time\n"
           "# microseconds: minimum, median, 99th percentile of the rounds' "
           "slowest rank;\n# hidden: of the blocking call's time, where it is "
           "started\n",
           op_names[r->op], r->count, 100 * r->work);
    printf("%9s  %-9s  %29s  %6s  %s\n", "processes", "side", "us", "hidden",
           "wrong");
}

static void print_row(const void *options, const struct bench_row *row)
{
    (void)options;
    for (int side = 0; side < OVERLAP_SIDES; side++) {
        printf("%9d  %-9s", row->processes, side_names[side]);
        bench_samples_print_columns(&row->samples[side], &bench_us);
        if (side == OVERLAP_JD_START || side == OVERLAP_MPI_START)
            printf("  %4.0f %%", hidden(row, side - 1, side));
        else
            printf("  %6s", "");
        printf("  %zu\n", row->wrong[side]);
    }
    bench_report_least("MPI's time with work beside a started call / jd's",
                       bench_row_median_us(row, OVERLAP_MPI_START) /
                           bench_row_median_us(row, OVERLAP_JD_START),
                       "", TARGET);
}

static void print_json(const void *options, const struct bench_row *row)
{
    const struct overlap_options *o = options;
    const struct overlap_request *r = &o->request;
    printf("\"op\": \"%s\", \"count\": %zu, \"work_percent\": %.0f, "
           "\"processes\": %d",
           op_names[r->op], r->count, 100 * r->work, row->processes);
    for (int side = 0; side < OVERLAP_SIDES; side++) {
        bench_samples_print_json(&row->samples[side], &bench_us,
                                 json_names[side]);
        printf(", \"%s_wrong\": %zu", json_names[side], row->wrong[side]);
    }
    printf(", \"jd_hidden\": %.4g, \"mpi_hidden\": %.4g",
           hidden(row, OVERLAP_JD, OVERLAP_JD_START),
           hidden(row, OVERLAP_MPI, OVERLAP_MPI_START));
}

static int run_parent(const struct overlap_options *o)
{
    static const struct bench_sides sides = { OVERLAP_SIDES, print_head,
                                              print_row, print_json };
    const struct bench_job job = { .name = "overlap",
                                   .append = append_flags,
                                   .options = o,
                                   .is_unbound = true };
    return bench_sides_run(&sides, &o->launch, job);
}

static int run(int argc, char **argv)
{
    const struct bench_flags all = { "overlap", usage, flags, set };
    struct overlap_options o = {
        .request = { .op = OVERLAP_PSUM,
                     .count = 1 << 18,
                     .work = 1,
                     .rounds = 15,
                     .sample_seconds = 3e-3 },
        .launch = { .processes = { 2 }, .num_processes = 1, .launches = 3 },
    };
    int status = bench_read_flags(&all, argc, argv, &o);
    if (status >= 0)
        return status;
    if (o.is_job)
        return overlap_job(&o.request);
    return bench_launch_is_alone() ? run_parent(&o) : 2;
}

const struct bench bench_overlap = {
    .name = "overlap",
    .doc = "calls that go on while the program works, beside MPI's",
    .run = run,
};

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * halo.c - jd_halo_exchange beside MPI's neighbourhood call with subarrays:
 * starts the jobs, prints the table.
 */
#include "bench/halo/halo.h"
#include "bench/engine/flags.h"
#include "bench/engine/launch.h"
#include "bench/engine/sides.h"
#include "bench/jd_bench.h"

#include <stdio.h>
#include <stdlib.h>

/* What jd has to reach inside a host. */
#define TARGET 2.0

struct halo_options {
    struct halo_request request;
    struct bench_launch launch;
    const char *shape; /* as given */
    bool is_job;
};

static const char *const side_names[HALO_SIDES] = { "jd", "jd-malloc",
                                                    "alltoallw" };
static const char *const json_names[HALO_SIDES] = { "jd", "jd_malloc",
                                                    "alltoallw" };

static const char usage[] =
    "Usage: jd-bench halo [options]\n"
    "\n"
    "Measures jd_halo_exchange() between processes that it starts, without\n"
    "corners, on the mesh that jd_mesh_shape() gives, with\n"
    "MPI_Neighbor_alltoallw() of subarrays on a Cartesian communicator beside\n"
    "it in the same processes, by turns. jd's block is jd_device_alloc()'s,\n"
    "that of jd-malloc and of MPI malloc's. A sample is the slowest process's\n"
    "time of a call. What each leaves is compared, element for element,\n"
    "before.\n"
    "\n"
    "  --shape NxMx...    a member's own elements (default 1024x1024)\n"
    "  --width N          of the halos on all sides (default 1)\n"
    "  --type TYPE        F64 (default), BF16, S8, ...\n"
    "  --periodic         the last members' neighbours are the first\n"
    "  --processes LIST   numbers of processes (default 4)\n"
    "  --launcher TEXT    what starts the processes, instead of mpirun with\n"
    "                     --processes: \"srun --mpi=pmix -N2 -n4\"\n"
    "  --launches N       of each number (default 3)\n"
    "  --rounds N         samples of a launch (default 15)\n"
    "  --sample MS        milliseconds of a sample (default 3)\n"
    "  --json             rows with processes, jd_us, jd_malloc_us,\n"
    "                     alltoallw_us, its ratios to jd's and more\n"
    "  --help             print this and exit\n";

/* ---- flags -------------------------------------------------------------- */

/* Flags with a value; what it must be where it is wrong, else NULL. */
static const char *read_value(struct halo_options *o, int flag,
                              const char *text)
{
    struct halo_request *r = &o->request;
    long long width;
    switch (flag) {
    case 's':
        o->shape = text;
        return bench_read_shape(text, &r->ndim, r->own);
    case 'w':
        if (!bench_read_number(text, 1 << 16, &width))
            return "a number from 1 to 65536";
        r->width = width;
        return NULL;
    case 't':
        r->dtype = bench_read_type(text);
        return r->dtype ? NULL : "a type, F64 for example";
    case 'r':
        return bench_read_rounds(text, &r->rounds);
    default:
        return bench_read_sample(text, &r->sample_seconds);
    }
}

static const char *set(void *arg, int flag, char *text)
{
    struct halo_options *o = arg;
    const char *wanted;
    if (bench_launch_take(&o->launch, flag, text, &wanted))
        return wanted;
    switch (flag) {
    case 'c':
        o->request.is_periodic = true;
        return NULL;
    case 'b':
        o->is_job = true;
        return NULL;
    default:
        return read_value(o, flag, text);
    }
}

static const struct option flags[] = {
    { "shape", required_argument, NULL, 's' },
    { "width", required_argument, NULL, 'w' },
    { "type", required_argument, NULL, 't' },
    { "periodic", no_argument, NULL, 'c' },
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

/* A neighbour's halo is what a member owns. */
static int check_widths(const struct halo_request *r)
{
    for (int d = 0; d < r->ndim; d++)
        if (r->width > r->own[d]) {
            fprintf(stderr,
                    "jd-bench halo: --width %lld is more than the %lld "
                    "elements that a member has of dimension %d (--shape)\n",
                    (long long)r->width, (long long)r->own[d], d);
            return 2;
        }
    return -1;
}

/* ---- jobs --------------------------------------------------------------- */

static void append_flags(const void *options, char *command, size_t used)
{
    const struct halo_options *o = options;
    const struct halo_request *r = &o->request;
    bench_launch_append(command, used,
                        "--job --shape %s --width %lld --type %s --rounds %d "
                        "--sample %g%s",
                        o->shape, (long long)r->width, jd_dtype_name(r->dtype),
                        r->rounds, 1e3 * r->sample_seconds,
                        r->is_periodic ? " --periodic" : "");
}

/* ---- what came out ------------------------------------------------------ */

static void print_head(const void *options)
{
    const struct halo_options *o = options;
    const struct halo_request *r = &o->request;
    printf("# %s %s of a member, halos of %lld, %s\n"
           "# microseconds: minimum, median, 99th percentile of the rounds' "
           "slowest rank;\n# ratio: that side's median / jd's\n",
           o->shape, jd_dtype_name(r->dtype), (long long)r->width,
           r->is_periodic ? "periodic" : "with walls");
    printf("%9s  %-9s  %29s  %6s  %s\n", "processes", "side", "us", "ratio",
           "wrong");
}

static void print_row(const void *options, const struct bench_row *row)
{
    (void)options;
    double jd = bench_row_median_us(row, HALO_JD);
    for (int side = 0; side < HALO_SIDES; side++) {
        printf("%9d  %-9s", row->processes, side_names[side]);
        bench_samples_print_columns(&row->samples[side], &bench_us);
        printf("  %6.2f  %zu\n", bench_row_median_us(row, side) / jd,
               row->wrong[side]);
    }
    bench_report_least("MPI_Neighbor_alltoallw's time / jd's",
                       bench_row_median_us(row, HALO_ALLTOALLW) / jd, "",
                       TARGET);
}

static void print_json(const void *options, const struct bench_row *row)
{
    const struct halo_options *o = options;
    const struct halo_request *r = &o->request;
    printf("\"shape\": \"%s\", \"width\": %lld, \"type\": \"%s\", "
           "\"periodic\": %s, \"processes\": %d",
           o->shape, (long long)r->width, jd_dtype_name(r->dtype),
           r->is_periodic ? "true" : "false", row->processes);
    for (int side = 0; side < HALO_SIDES; side++) {
        const char *name = json_names[side];
        bench_samples_print_json(&row->samples[side], &bench_us, name);
        printf(", \"%s_wrong\": %zu, \"%s_ratio\": %.4g", name,
               row->wrong[side], name,
               bench_row_median_us(row, side) /
                   bench_row_median_us(row, HALO_JD));
    }
}

static int run_parent(const struct halo_options *o)
{
    static const struct bench_sides sides = { HALO_SIDES, print_head, print_row,
                                              print_json };
    const struct bench_job job = { .name = "halo",
                                   .append = append_flags,
                                   .options = o };
    return bench_sides_run(&sides, &o->launch, job);
}

static int run(int argc, char **argv)
{
    const struct bench_flags all = { "halo", usage, flags, set };
    struct halo_options o = {
        .request = { .ndim = 2,
                     .own = { 1024, 1024 },
                     .width = 1,
                     .dtype = JD_F64,
                     .rounds = 15,
                     .sample_seconds = 3e-3 },
        .launch = { .processes = { 4 }, .num_processes = 1, .launches = 3 },
        .shape = "1024x1024",
    };
    int status = bench_read_flags(&all, argc, argv, &o);
    if (status < 0)
        status = check_widths(&o.request);
    if (status >= 0)
        return status;
    if (o.is_job)
        return halo_job(&o.request);
    return bench_launch_is_alone() ? run_parent(&o) : 2;
}

const struct bench bench_halo = {
    .name = "halo",
    .doc = "the halos of blocks beside MPI's neighbourhood call",
    .run = run,
};

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * reshard.c - jd_array_reshard beside what a user writes with MPI:
 * starts the jobs, prints the table.
 */
#include "bench/reshard/reshard.h"
#include "bench/engine/sides.h"
#include "bench/jd_bench.h"

#include <stdio.h>

/* From this size on a reshard must be so many times as fast as MPI_Alltoallv:
 * less is a matter of start-up. */
enum { TARGET_BYTES = 64 << 20 };

static const char *const side_names[RESHARD_SIDES] = { "jd", "alltoallv",
                                                       "allgather" };

/* ---- jobs --------------------------------------------------------------- */

static void append_flags(const void *options, char *command, size_t used)
{
    const struct reshard_options *o = options;
    const struct reshard_request *r = &o->request;
    used = bench_launch_append(command, used,
                               "--job --shape %s --type %s --mesh %s", o->shape,
                               jd_dtype_name(r->whole.dtype), o->mesh);
    bench_launch_append(command, used,
                        "--from='%s' --to='%s' --rounds %d --sample %g%s",
                        r->from, r->to, r->rounds, 1e3 * r->sample_seconds,
                        r->cycle ? " --cycle" : "");
}

/* ---- what came out ------------------------------------------------------ */

static void print_head(const void *options)
{
    const struct reshard_options *o = options;
    const struct reshard_request *r = &o->request;
    printf("# %s %s, %zu bytes, mesh %s, from \"%s\" to \"%s\"%s\n"
           "# microseconds: minimum, median, 99th percentile of the rounds' "
           "slowest rank;\n# ratio: that side's median / jd's\n",
           o->shape, jd_dtype_name(r->whole.dtype),
           bench_whole_bytes(&r->whole), o->mesh, r->from, r->to,
           r->cycle ? ", with writing and reading" : "");
    printf("%9s %5s  %-9s  %29s  %6s  %s\n", "processes", "hosts", "side", "us",
           "ratio", "wrong");
}

static void print_row(const void *options, const struct bench_row *row)
{
    const struct reshard_options *o = options;
    bool has_target = bench_whole_bytes(&o->request.whole) >= TARGET_BYTES;
    double jd = bench_row_median_us(row, RESHARD_JD);
    for (int side = 0; side < RESHARD_SIDES; side++) {
        const struct bench_samples *samples = &row->samples[side];
        if (samples->count == 0)
            continue;
        printf("%9d %5d  %-9s", row->processes, row->hosts, side_names[side]);
        bench_samples_print_columns(samples, &bench_us);
        printf("  %6.2f  %zu\n", bench_row_median_us(row, side) / jd,
               row->wrong[side]);
    }
    if (row->samples[RESHARD_ALLTOALLV].count && has_target)
        bench_report_least("MPI_Alltoallv's time / jd's",
                           bench_row_median_us(row, RESHARD_ALLTOALLV) / jd, "",
                           row->hosts > 1 ? 0.95 : 2);
}

static void print_json(const void *options, const struct bench_row *row)
{
    const struct reshard_options *o = options;
    const struct reshard_request *r = &o->request;
    printf("\"shape\": \"%s\", \"type\": \"%s\", \"bytes\": %zu, "
           "\"mesh\": \"%s\", \"from\": \"%s\", \"to\": \"%s\", \"processes\": "
           "%d, \"hosts\": %d, \"measure\": \"%s\"",
           o->shape, jd_dtype_name(r->whole.dtype),
           bench_whole_bytes(&r->whole), o->mesh, r->from, r->to,
           row->processes, row->hosts, r->cycle ? "cycle" : "hot");
    for (int side = 0; side < RESHARD_SIDES; side++) {
        const char *name = side_names[side];
        const struct bench_samples *samples = &row->samples[side];
        if (samples->count == 0)
            continue;
        bench_samples_print_json(samples, &bench_us, name);
        printf(", \"%s_wrong\": %zu", name, row->wrong[side]);
        if (side != RESHARD_JD)
            printf(", \"%s_ratio\": %.4g", name,
                   bench_row_median_us(row, side) /
                       bench_row_median_us(row, RESHARD_JD));
    }
}

static int run_parent(const struct reshard_options *o)
{
    static const struct bench_sides sides = { RESHARD_SIDES, print_head,
                                              print_row, print_json };
    const struct bench_job job = { .name = "reshard",
                                   .append = append_flags,
                                   .options = o };
    return bench_sides_run(&sides, &o->launch, job);
}

static int run(int argc, char **argv)
{
    struct reshard_options o = {
        .request = { .mesh = { 1, { -1 }, { "x" } },
                     .whole = { JD_F32, 2, { 4096, 4096 } },
                     .from = "x,-",
                     .to = "-,x",
                     .rounds = 15,
                     .sample_seconds = 3e-3 },
        .launch = { .processes = { 2, 4 }, .num_processes = 2, .launches = 3 },
        .shape = "4096x4096",
        .mesh = "x:-1",
    };
    int status = reshard_read_flags(&o, argc, argv);
    if (status >= 0)
        return status;
    if (o.is_job)
        return reshard_job(&o.request);
    if (o.num_plans)
        return reshard_plan(&o);
    return bench_launch_is_alone() ? run_parent(&o) : 2;
}

const struct bench bench_reshard = {
    .name = "reshard",
    .doc = "moving an array to another sharding beside MPI by hand",
    .run = run,
};

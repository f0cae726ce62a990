/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * reshard.c - jd_array_reshard beside what a user writes with MPI:
 * starts the jobs, prints the table.
 */
#include "bench/reshard/reshard.h"
#include "bench/engine/samples.h"
#include "bench/jd_bench.h"

#include <stdio.h>

/* From this size on a reshard must be so many times as fast as MPI_Alltoallv:
 * less is a matter of start-up. */
enum { TARGET_BYTES = 64 << 20 };

/* What one number of processes gave. */
struct row {
    int processes, hosts;
    struct bench_samples samples[RESHARD_SIDES];
    size_t wrong[RESHARD_SIDES]; /* elements */
};

static const char *const side_names[RESHARD_SIDES] = { "jd", "alltoallv",
                                                       "allgather" };

/* ---- jobs --------------------------------------------------------------- */

static bool take_line(void *arg, const char *line)
{
    struct row *row = arg;
    size_t wrong;
    int side, processes, hosts, head = 0;
    if (sscanf(line, "cell %d %d %d %zu %n", &side, &processes, &hosts, &wrong,
               &head) != 4 ||
        side < 0 || side >= RESHARD_SIDES ||
        !bench_samples_add(&row->samples[side], line + head))
        return false;
    row->processes = processes;
    row->hosts = hosts;
    row->wrong[side] += wrong;
    return true;
}

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

static double median_us(const struct row *row, int side)
{
    return 1e6 * bench_samples_median(&row->samples[side]);
}

static void print_head(const struct reshard_options *o)
{
    const struct reshard_request *r = &o->request;
    if (o->launch.json)
        return;
    bench_print_machine();
    printf("# %s %s, %zu bytes, mesh %s, from \"%s\" to \"%s\"%s\n"
           "# microseconds: minimum, median, 99th percentile of the rounds' "
           "slowest rank;\n# ratio: that side's median / jd's\n",
           o->shape, jd_dtype_name(r->whole.dtype),
           bench_whole_bytes(&r->whole), o->mesh, r->from, r->to,
           r->cycle ? ", with writing and reading" : "");
    printf("%9s %5s  %-9s  %29s  %6s  %s\n", "processes", "hosts", "side", "us",
           "ratio", "wrong");
    fflush(stdout);
}

static void print_row(const struct row *row, bool has_target)
{
    double jd = median_us(row, RESHARD_JD);
    for (int side = 0; side < RESHARD_SIDES; side++) {
        const struct bench_samples *samples = &row->samples[side];
        if (samples->count == 0)
            continue;
        printf("%9d %5d  %-9s", row->processes, row->hosts, side_names[side]);
        bench_samples_print_columns(samples, &bench_us);
        printf("  %6.2f  %zu\n", median_us(row, side) / jd, row->wrong[side]);
    }
    if (row->samples[RESHARD_ALLTOALLV].count && has_target)
        bench_report_least("MPI_Alltoallv's time / jd's",
                           median_us(row, RESHARD_ALLTOALLV) / jd, "",
                           row->hosts > 1 ? 0.95 : 2);
    fflush(stdout);
}

static void print_json(const struct reshard_options *o, const struct row *row,
                       bool is_first)
{
    const struct reshard_request *r = &o->request;
    bench_json_begin_row(is_first);
    printf("{\"shape\": \"%s\", \"type\": \"%s\", \"bytes\": %zu, "
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
                   median_us(row, side) / median_us(row, RESHARD_JD));
    }
    printf("}");
}

/* All launches of one number of processes; 0, or 1 where one failed or an
 * element was wrong. */
static int measure(const struct reshard_options *o, int kind)
{
    struct row row = { .processes = 0 };
    const struct bench_job job = { .name = "reshard",
                                   .append = append_flags,
                                   .options = o,
                                   .take = take_line,
                                   .results = &row };
    bool ok = bench_launch_all(&o->launch, kind, &job);
    if (ok && row.samples[RESHARD_JD].count == 0) {
        fprintf(stderr, "jd-bench: the job printed no figures\n");
        ok = false;
    }
    if (ok && o->launch.json)
        print_json(o, &row, kind == 0);
    else if (ok)
        print_row(&row, bench_whole_bytes(&o->request.whole) >= TARGET_BYTES);
    for (int side = 0; side < RESHARD_SIDES; side++) {
        bench_samples_free(&row.samples[side]);
        ok = ok && row.wrong[side] == 0;
    }
    return ok ? 0 : 1;
}

static int run_parent(const struct reshard_options *o)
{
    int status = 0;
    print_head(o);
    for (int i = 0; i < bench_launch_kinds(&o->launch) && status == 0; i++)
        status = measure(o, i);
    if (o->launch.json && status == 0)
        bench_json_end();
    return status;
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

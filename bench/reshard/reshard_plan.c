/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * reshard_plan.c - how long it takes to work out what a reshard moves, and to
 * find it again, for jobs that do not exist: process 0's share, with 8 devices
 * in each process and a process on each host.
 */
#include "arrays/reshard/plan_cache.h"
#include "base/clock.h"
#include "bench/reshard/reshard.h"
#include "bench/engine/samples.h"
#include "bench/jd_bench.h"
#include "jd_process.h"
#include "runtime/process/runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PER_PROCESS = 8, WARM_UP = 3, LOOK_UPS = 1000, MEMORY = 64 << 20 };

/* A mesh of devices that are not there. */
struct pretence {
    struct jd_mesh mesh;
    jd_device *devices;
    const jd_device **listed;
    char (*hosts)[16];
    char axis_names[RESHARD_MAX_AXES][RESHARD_NAME];
};

static const char *const kind_names[] = { [JD_PLAN_LOCAL] = "local",
                                          [JD_PLAN_SWAP] = "swap",
                                          [JD_PLAN_GATHER] = "gather",
                                          [JD_PLAN_PERMUTE] = "permute",
                                          [JD_PLAN_EXCHANGE] = "exchange" };

static void make_devices(struct pretence *p, int count)
{
    p->devices = calloc((size_t)count, sizeof *p->devices);
    p->listed = calloc((size_t)count, sizeof *p->listed);
    p->hosts = calloc((size_t)count, sizeof *p->hosts);
    if (!p->devices || !p->listed || !p->hosts)
        jd_abort(1, "no memory for devices");
    for (int i = 0; i < count; i++) {
        int process = i / PER_PROCESS, ordinal = i % PER_PROCESS;
        snprintf(p->hosts[i], sizeof p->hosts[i], "n%d", process);
        p->devices[i] = (jd_device){ .id = (int64_t)process << 17 | ordinal,
                                     .process_index = process,
                                     .local_ordinal = ordinal,
                                     .platform = "cpu",
                                     .kind = "cpu",
                                     .host = p->hosts[i] };
        p->listed[i] = &p->devices[i];
    }
}

static void make_mesh(struct pretence *p, const struct reshard_mesh *axes,
                      int count)
{
    static char text[] = "see --mesh";
    const struct jd_runtime *runtime;
    const char *names[RESHARD_MAX_AXES];
    memset(p, 0, sizeof *p);
    JD_CHECK(jd__runtime_get(&runtime, "jd-bench"));
    p->mesh = (struct jd_mesh){ .runtime = runtime,
                                .world = runtime->number,
                                .ndim = axes->num_axes,
                                .axes = text };
    for (int i = 0; i < axes->num_axes; i++) {
        strcpy(p->axis_names[i], axes->names[i]);
        names[i] = p->mesh.axis_names[i] = p->axis_names[i];
    }
    JD_CHECK(
        jd__mesh_resolve_sizes(&(struct jd_mesh_sizes){ .ndim = axes->num_axes,
                                                        .shape = axes->sizes,
                                                        .axis_names = names,
                                                        .available = count },
                               p->mesh.shape, &p->mesh.size));
    make_devices(p, count);
    p->mesh.devices = p->listed;
}

static void free_mesh(struct pretence *p)
{
    free(p->devices);
    free(p->listed);
    free(p->hosts);
}

/* ---- measuring ---------------------------------------------------------- */

struct times {
    enum jd_plan_kind kind;
    double fresh[BENCH_MAX_ROUNDS]; /* seconds */
    double cached[BENCH_MAX_ROUNDS];
};

static double time_fresh(const struct jd_plan_spec *spec,
                         enum jd_plan_kind *ret_kind)
{
    struct jd_plan *plan;
    double begin = jd__clock_now();
    JD_CHECK(jd__plan_create(spec, &plan));
    double seconds = jd__clock_now() - begin;
    *ret_kind = plan->kind;
    jd__plan_destroy(plan);
    return seconds;
}

static double time_cached(const struct jd_plan_spec *spec)
{
    struct jd_cached_plan *cached;
    double begin = jd__clock_now();
    for (int i = 0; i < LOOK_UPS; i++) {
        JD_CHECK(jd__plan_cache_get(spec, &cached));
        jd__plan_cache_put(cached);
    }
    return (jd__clock_now() - begin) / LOOK_UPS;
}

static void time_plans(const struct jd_plan_spec *spec, int rounds,
                       struct times *times)
{
    for (int i = -WARM_UP; i < rounds; i++) {
        double fresh = time_fresh(spec, &times->kind);
        double cached = time_cached(spec);
        if (i < 0)
            continue;
        times->fresh[i] = fresh;
        times->cached[i] = cached;
    }
}

static void measure(const struct reshard_request *r, int count,
                    struct pretence *pretence, struct times *times)
{
    jd_sharding *from, *to;
    make_mesh(pretence, &r->mesh, count);
    JD_CHECK(jd_sharding_create(&from, &pretence->mesh, r->from));
    JD_CHECK(jd_sharding_create(&to, &pretence->mesh, r->to));
    const struct jd_plan_spec spec = { .operation = "jd-bench",
                                       .from = from,
                                       .to = to,
                                       .ndim = r->whole.ndim,
                                       .shape = r->whole.shape,
                                       .element = jd_dtype_size(r->whole.dtype),
                                       .memory = MEMORY };
    JD_CHECK(jd__sharding_check_shape(from, "--from", spec.ndim, spec.shape));
    JD_CHECK(jd__sharding_check_shape(to, "--to", spec.ndim, spec.shape));
    time_plans(&spec, r->rounds, times);
    jd_sharding_release(from);
    jd_sharding_release(to);
}

/* ---- what came out ------------------------------------------------------ */

static void print(int count, int rounds, struct times *times)
{
    double fresh = 1e6 * bench_median(times->fresh, rounds);
    double cached = 1e6 * bench_median(times->cached, rounds);
    printf("%9d  %-9s  %10.2f %10.2f  %10.3f %10.3f\n", count,
           kind_names[times->kind], 1e6 * times->fresh[0], fresh,
           1e6 * times->cached[0], cached);
    if (count <= 64)
        bench_report_most("a new plan", fresh, " us", 200);
    else if (count <= 4096)
        bench_report_most("a new plan", 1e-3 * fresh, " ms", 50);
    bench_report_most("a cached plan", cached, " us", 2);
    fflush(stdout);
}

static void print_json(int count, int rounds, struct times *times,
                       bool is_first)
{
    printf("%s\n  {\"devices\": %d, \"plan\": \"%s\", \"new_us\": %.4g, "
           "\"cached_us\": %.4g}",
           is_first ? "[" : ",", count, kind_names[times->kind],
           1e6 * bench_median(times->fresh, rounds),
           1e6 * bench_median(times->cached, rounds));
}

static void print_head(const struct reshard_options *o)
{
    const struct reshard_request *r = &o->request;
    bench_print_machine();
    printf(
        "# %s %s, mesh %s, from \"%s\" to \"%s\": process 0's plan, 8 devices "
        "in each process,\n"
        "# a process on each host; microseconds, minimum and median of %d\n"
        "%9s  %-9s  %21s  %21s\n",
        o->shape, jd_dtype_name(r->whole.dtype), o->mesh, r->from, r->to,
        r->rounds, "devices", "plan", "new", "cached");
}

/* The cache knows devices by where they are, so that they stay to the end. */
int reshard_plan(const struct reshard_options *o)
{
    static struct pretence pretences[BENCH_MAX_JOBS];
    static struct times times;
    if (!o->launch.json)
        print_head(o);
    for (int i = 0; i < o->num_plans; i++) {
        measure(&o->request, o->plans[i], &pretences[i], &times);
        if (o->launch.json)
            print_json(o->plans[i], o->request.rounds, &times, i == 0);
        else
            print(o->plans[i], o->request.rounds, &times);
    }
    if (o->launch.json)
        printf("\n]\n");
    jd_status status = jd_shutdown();
    for (int i = 0; i < o->num_plans; i++)
        free_mesh(&pretences[i]);
    return (int)status;
}

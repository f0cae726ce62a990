/* SPDX-License-Identifier: BSD-3-Clause */
/* bench_job.c - what one process of `jd-bench collectives` does. */
#include "jd_process.h"
#include "runtime/clock.h"
#include "tools/bench_collectives.h"

#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CALLS = 20000, MAX_ROUNDS = 1000 };

/* What is measured at the moment. */
struct point {
    struct bench_sides *sides;
    const struct bench_request *request;
    enum bench_op op;
    jd_dtype dtype;
    size_t bytes, count;
};

static double slowest(const struct point *p, double seconds)
{
    double most = 0;
    MPI_Allreduce(&seconds, &most, 1, MPI_DOUBLE, MPI_MAX, p->sides->comm);
    return most;
}

static void call(const struct point *p, enum bench_side side)
{
    if (p->request->cycle)
        bench_touch_in(p->sides, side, p->op, p->dtype, p->count);
    bench_call_once(p->sides, side, p->op, p->dtype, p->count);
    if (p->request->cycle)
        bench_touch_out(p->sides, side, p->op, p->dtype, p->count);
}

/* Seconds of one call, over that many, of the slowest rank. */
static double sample(const struct point *p, enum bench_side side, int calls)
{
    MPI_Barrier(p->sides->comm);
    double begin = jd__clock_now();
    for (int i = 0; i < calls; i++)
        call(p, side);
    return slowest(p, (jd__clock_now() - begin) / calls);
}

/* As many calls as fill a sample; at least three have warmed up. */
static int calibrate(const struct point *p, enum bench_side side)
{
    sample(p, side, 3);
    double seconds = sample(p, side, 3);
    double calls = p->request->sample_seconds / seconds;
    return calls < 1 ? 1 : calls > MOST_CALLS ? MOST_CALLS : (int)calls;
}

static size_t check(const struct point *p, enum bench_side side)
{
    unsigned long long wrong, all = 0;
    bench_fill(p->sides, side, p->op, p->dtype, p->count);
    MPI_Barrier(p->sides->comm);
    bench_call_once(p->sides, side, p->op, p->dtype, p->count);
    wrong = bench_count_wrong(p->sides, side, p->op, p->dtype, p->count);
    MPI_Allreduce(&wrong, &all, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM,
                  p->sides->comm);
    return all;
}

static void print(const struct point *p, enum bench_side side,
                  const double *samples)
{
    printf("cell %s %s %zu %d %d %d", bench_op_names[p->op],
           jd_dtype_name(p->dtype), p->bytes, p->sides->size, (int)side,
           p->request->rounds);
    for (int i = 0; i < p->request->rounds; i++)
        printf(" %.9g", samples[i]);
    printf("\n");
}

/* The sides by turns. Wrong elements are counted before, on fresh data. */
static void measure(const struct point *p, const bool *takes_part)
{
    static double samples[BENCH_SIDES][MAX_ROUNDS];
    int calls[BENCH_SIDES] = { 0 };
    for (int side = 0; side < BENCH_SIDES; side++) {
        if (!takes_part[side])
            continue;
        if (p->request->check) {
            size_t wrong = check(p, side);
            if (p->sides->rank == 0)
                printf("wrong %s %s %zu %d %zu\n", bench_op_names[p->op],
                       jd_dtype_name(p->dtype), p->bytes, p->sides->size,
                       wrong);
        }
        bench_fill(p->sides, side, p->op, p->dtype, p->count);
        calls[side] = calibrate(p, side);
    }
    for (int i = 0; i < p->request->rounds; i++)
        for (int side = 0; side < BENCH_SIDES; side++)
            if (takes_part[side])
                samples[side][i] = sample(p, side, calls[side]);
    for (int side = 0; side < BENCH_SIDES; side++)
        if (takes_part[side] && p->sides->rank == 0)
            print(p, side, samples[side]);
    fflush(stdout);
}

static void measure_sizes(struct point *p)
{
    const struct bench_request *request = p->request;
    size_t least =
        p->op == BENCH_OP_barrier ? request->max_bytes : request->min_bytes;
    for (size_t bytes = least; bytes <= request->max_bytes;
         bytes *= (size_t)request->factor) {
        bool takes_part[BENCH_SIDES], any = false;
        p->bytes = p->op == BENCH_OP_barrier ? 0 : bytes;
        p->count = bench_count(p->sides, p->op, p->dtype, bytes);
        for (int side = 0; side < BENCH_SIDES; side++) {
            takes_part[side] =
                p->sides->in[side] && bench_can(side, p->op, p->dtype);
            any = any || takes_part[side];
        }
        if (any && p->count)
            measure(p, takes_part);
    }
}

/* What a figure needs beside it. */
static void print_conditions(const struct bench_sides *sides, const char *part)
{
    cpu_set_t cores;
    int level, cores_allowed = 0, index, yield = 0, provided, count;
    MPI_T_cvar_handle handle;
    MPI_Query_thread(&level);
    if (sched_getaffinity(0, sizeof cores, &cores) == 0)
        cores_allowed = CPU_COUNT(&cores);
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    if (MPI_T_cvar_get_index("mpi_yield_when_idle", &index) == MPI_SUCCESS &&
        MPI_T_cvar_handle_alloc(index, NULL, &handle, &count) == MPI_SUCCESS) {
        MPI_T_cvar_read(handle, &yield); /* a byte of it */
        MPI_T_cvar_handle_free(&handle);
    }
    MPI_T_finalize();
    if (sides->rank == 0)
        printf("# %s: %d processes, thread level %s, %d cores allowed to each, "
               "mpi_yield_when_idle %d\n",
               part, sides->size,
               level == MPI_THREAD_SINGLE       ? "SINGLE"
               : level == MPI_THREAD_FUNNELED   ? "FUNNELED"
               : level == MPI_THREAD_SERIALIZED ? "SERIALIZED"
                                                : "MULTIPLE",
               cores_allowed, yield);
}

int bench_job(const struct bench_request *request, const char *part)
{
    struct bench_sides sides;
    bool both = strcmp(part, "both") == 0;
    bench_sides_open(&sides, request, both || strcmp(part, "jd") == 0,
                     both || strcmp(part, "mpi") == 0);
    print_conditions(&sides, part);
    for (int op = 0; op < BENCH_OPS; op++)
        for (int i = 0; request->ops[op] && i < request->num_types; i++) {
            struct point p = { .sides = &sides,
                               .request = request,
                               .op = (enum bench_op)op,
                               .dtype = request->types[i] };
            measure_sizes(&p);
        }
    bench_sides_close(&sides, request);
    return 0;
}

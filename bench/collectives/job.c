/* SPDX-License-Identifier: BSD-3-Clause */
/* job.c - what one process of `jd-bench collectives` does. */
#include "bench/collectives/collectives.h"
#include "bench/engine/turns.h"
#include "jd_device.h"
#include "jd_shard.h"

#include <stdio.h>
#include <string.h>

/* What is measured at the moment. */
struct point {
    struct bench_sides *sides;
    const struct bench_request *request;
    enum bench_op op;
    jd_dtype dtype;
    size_t bytes, count;
};

static void call(void *arg, int side)
{
    const struct point *p = arg;
    if (p->request->cycle)
        bench_touch_in(p->sides, side, p->op, p->dtype, p->count);
    bench_call_once(p->sides, side, p->op, p->dtype, p->count);
    if (p->request->cycle)
        bench_touch_out(p->sides, side, p->op, p->dtype, p->count);
}

static void finish(void *arg, int side)
{
    const struct point *p = arg;
    (void)side;
    bench_finish(p->sides);
}

static size_t check(const struct point *p, enum bench_side side)
{
    bench_fill(p->sides, side, p->op, p->dtype, p->count);
    MPI_Barrier(p->sides->comm);
    bench_call_once(p->sides, side, p->op, p->dtype, p->count);
    return bench_sum(p->sides->comm, bench_count_wrong(p->sides, side, p->op,
                                                       p->dtype, p->count));
}

static void print(const struct point *p, const char *kind, int side,
                  const double *samples)
{
    char head[128];
    snprintf(head, sizeof head, "%s %s %s %zu %d %d", kind,
             bench_op_names[p->op], jd_dtype_name(p->dtype), p->bytes,
             p->sides->size, side);
    bench_samples_print(head, samples, p->request->rounds);
}

/* Wrong elements are counted, on fresh data, before the time is taken. */
static void prepare(const struct point *p, enum bench_side side)
{
    if (p->request->check) {
        size_t wrong = check(p, side);
        if (p->sides->rank == 0)
            printf("wrong %s %s %zu %d %zu\n", bench_op_names[p->op],
                   jd_dtype_name(p->dtype), p->bytes, p->sides->size, wrong);
    }
    bench_fill(p->sides, side, p->op, p->dtype, p->count);
}

static void measure(struct point *p, const bool *takes_part)
{
    static double samples[BENCH_SIDES][BENCH_MAX_ROUNDS];
    static double queued[BENCH_SIDES][BENCH_MAX_ROUNDS];
    static double thread[BENCH_SIDES][BENCH_MAX_ROUNDS];
    bool on_gpus = p->request->on_gpus;
    const struct bench_turns turns = { .comm = p->sides->comm,
                                       .call = call,
                                       .arg = p,
                                       .sample_seconds =
                                           p->request->sample_seconds,
                                       .rounds = p->request->rounds,
                                       .finish = on_gpus ? finish : NULL,
                                       .queued = on_gpus ? queued : NULL,
                                       .thread = thread };
    for (int side = 0; side < BENCH_SIDES; side++)
        if (takes_part[side])
            prepare(p, side);
    bench_turns_run(&turns, takes_part, BENCH_SIDES, samples);
    for (int side = 0; side < BENCH_SIDES; side++)
        if (takes_part[side] && p->sides->rank == 0) {
            print(p, "cell", side, samples[side]);
            if (on_gpus && side < BENCH_APART) {
                print(p, "queue", side, queued[side]);
                print(p, "thread", side, thread[side]);
            }
        }
    fflush(stdout);
}

/* On GPUs the last one too, wherever the factor ends. */
static size_t next_size(const struct bench_request *request, size_t bytes)
{
    size_t next = bytes * (size_t)request->factor, last = request->max_bytes;
    return request->on_gpus && bytes < last && next > last ? last : next;
}

static void measure_sizes(struct point *p)
{
    const struct bench_request *request = p->request;
    size_t least =
        p->op == BENCH_OP_barrier ? request->max_bytes : request->min_bytes;
    for (size_t bytes = least; bytes <= request->max_bytes;
         bytes = next_size(request, bytes)) {
        bool takes_part[BENCH_SIDES], any = false;
        p->bytes = p->op == BENCH_OP_barrier ? 0 : bytes;
        p->count = bench_count(p->sides, p->op, p->dtype, bytes);
        for (int side = 0; side < BENCH_SIDES; side++) {
            takes_part[side] = p->sides->in[side] &&
                               bench_can(p->sides, side, p->op, p->dtype);
            any = any || takes_part[side];
        }
        if (any && p->count)
            measure(p, takes_part);
    }
}

int bench_job(const struct bench_request *asked, const char *part)
{
    struct bench_sides sides;
    struct bench_request request = *asked;
    bool both = strcmp(part, "both") == 0;
    bool with_jd = both || strcmp(part, "jd") == 0;
    bench_sides_open(&sides, &request, with_jd,
                     both || strcmp(part, "mpi") == 0);
    bench_print_conditions(sides.comm, part);
    if (request.on_gpus && with_jd && sides.rank == 0)
        printf("# %s: %s\n", part, jd_shard_device(sides.me)->kind);
    for (int op = 0; op < BENCH_OPS; op++)
        for (int i = 0; request.ops[op] && i < request.num_types; i++) {
            struct point p = { .sides = &sides,
                               .request = &request,
                               .op = (enum bench_op)op,
                               .dtype = request.types[i] };
            measure_sizes(&p);
        }
    bench_sides_close(&sides, &request);
    return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * reduce.c - reductions: NCCL's where types.c says that it has them, else
 * composed. Each member gets the others' vectors of its part, folds them in
 * member order (fold.h), and the parts are gathered; where vectors are short,
 * each gets all of them, and folds the whole.
 *
 * A mean of F32, F64 and complex numbers is NCCL's where the members' number
 * is a power of two: NCCL multiplies each summand by its inverse, which is
 * exact then. Else it is the sum, divided by a fold. F16 and BF16: NCCL's.
 *
 * A maximum or minimum of F32, F64 and F8 is NCCL's maximum of their keys
 * (order_keys.h), between two passes over the vector.
 */
#include "collectives/cuda/check.h"
#include "collectives/cuda/connect.h"
#include "collectives/cuda/plan.h"
#include "collectives/cuda/task.h"

/* A reduction, however it is done. */
struct cuda_reduction {
    struct jd_cuda_task task;
    struct jd_cuda_way way;
    enum jd_reduce op;
    int size, index;
};

/* ---- which way ---------------------------------------------------------- */

static bool is_integer(jd_dtype dtype)
{
    return dtype >= JD_PRED && dtype <= JD_U64;
}

static bool is_ordered_by_setting(const struct jd_comm *comm, jd_dtype dtype,
                                  enum jd_reduce op)
{
    return !is_integer(dtype) && op != JD_REDUCE_MAX && op != JD_REDUCE_MIN &&
           jd__options_integer(comm->runtime->settings,
                               JD_OPTION_DETERMINISTIC);
}

static bool has_exact_inverse(int size)
{
    return (size & (size - 1)) == 0;
}

static struct jd_cuda_way choose_way(const struct jd_comm *comm, jd_dtype dtype,
                                     enum jd_reduce op)
{
    struct jd_cuda_way way = jd__cuda_way_of(dtype, op);
    if (is_ordered_by_setting(comm, dtype, op))
        way.is_native = false;
    if (way.op == ncclAvg && dtype != JD_F16 && dtype != JD_BF16 &&
        !has_exact_inverse(comm->size))
        way.op = ncclSum;
    return way;
}

static void begin_reduction(struct cuda_reduction *r, struct jd_comm *comm,
                            const struct jd_collective *call, enum jd_reduce op,
                            size_t in, size_t out)
{
    size_t element = jd_dtype_size(call->dtype);
    r->op = op;
    r->size = comm->size;
    r->index = comm->index;
    r->way = choose_way(comm, call->dtype, op);
    jd__task_begin(&r->task, comm, call, in * element, out * element, false);
}

static const char *in_of(const struct cuda_reduction *r, size_t element)
{
    return (const char *)r->task.call->in + element * r->task.element;
}

static char *out_of(const struct cuda_reduction *r, size_t element)
{
    return (char *)r->task.call->out + element * r->task.element;
}

/* ---- steps -------------------------------------------------------------- */

/* The members' vectors, stride elements apart, into out. */
static void fold_vectors(struct cuda_reduction *r, const void *in,
                         size_t stride, void *out, size_t count)
{
    jd__task_fold(&r->task, (struct jd_cuda_fold){ .op = r->op,
                                                   .in = in,
                                                   .stride = stride,
                                                   .terms = r->size,
                                                   .divisor = r->size,
                                                   .out = out,
                                                   .count = count });
}

static void make_keys(struct cuda_reduction *r, const void *in, void *out,
                      size_t count)
{
    jd__task_keys(&r->task, r->op, JD_ORDER_TO_KEYS, in, out, count);
}

/* What NCCL left in out: the greatest keys become floats, and a sum the mean
 * where NCCL did not do that. */
static void finish_native(struct cuda_reduction *r, void *out, size_t count)
{
    if (r->way.is_keyed)
        jd__task_keys(&r->task, r->op, JD_ORDER_FROM_KEYS, out, out, count);
    if (r->op != JD_REDUCE_MEAN || r->way.op == ncclAvg)
        return;
    jd__task_fold(&r->task, (struct jd_cuda_fold){ .op = JD_REDUCE_MEAN,
                                                   .in = out,
                                                   .terms = 1,
                                                   .divisor = r->size,
                                                   .out = out,
                                                   .count = count });
}

/* One vector is its own sum, product and greatest; its mean is computed. */
static void reduce_alone(struct cuda_reduction *r, size_t count)
{
    if (r->op == JD_REDUCE_MEAN)
        fold_vectors(r, in_of(r, 0), 0, out_of(r, 0), count);
    else
        jd__task_copy(&r->task, out_of(r, 0), in_of(r, 0),
                      count * r->task.element);
}

/* ---- all_reduce --------------------------------------------------------- */

/* Keys are made in out, where NCCL then works in place. */
static void reduce_native(struct cuda_reduction *r, size_t count)
{
    const void *in = in_of(r, 0);
    void *out = out_of(r, 0);
    if (r->way.is_keyed)
        make_keys(r, in, out, count);
    jd__task_all_reduce(&r->task, r->way.is_keyed ? out : in, out, count,
                        r->way);
    finish_native(r, out, count);
}

/* Each member has room for all vectors. */
static void reduce_short(struct cuda_reduction *r, size_t count)
{
    size_t bytes = count * r->task.element;
    char *all = jd__task_scratch(&r->task, bytes * (size_t)r->size);
    if (!all)
        return;
    jd__task_all_gather(&r->task, in_of(r, 0), all, bytes);
    fold_vectors(r, all, count, out_of(r, 0), count);
}

/* Every member's vector of this one's part comes to it, one after the other. */
static void bring_parts(struct cuda_reduction *r, size_t begin, size_t count,
                        char *vectors)
{
    struct jd_cuda_task *task = &r->task;
    struct jd_cuda_part own = jd__cuda_part(count, r->size, r->index);
    size_t bytes = own.count * task->element;
    if (!jd__task_group_begin(task))
        return;
    for (int i = 0; i < r->size; i++) {
        struct jd_cuda_part part = jd__cuda_part(count, r->size, i);
        jd__task_send(task, in_of(r, begin + part.begin),
                      part.count * task->element, i);
        jd__task_receive(task, vectors + (size_t)i * bytes, bytes, i);
    }
    jd__task_group_end(task);
}

/* Every member's part of out goes to all. */
static void spread_parts(struct cuda_reduction *r, size_t begin, size_t count)
{
    struct jd_cuda_task *task = &r->task;
    struct jd_cuda_part own = jd__cuda_part(count, r->size, r->index);
    const char *mine = out_of(r, begin + own.begin);
    size_t bytes = own.count * task->element;
    if (count % (size_t)r->size == 0) {
        jd__task_all_gather(task, mine, out_of(r, begin), bytes);
        return;
    }
    if (!jd__task_group_begin(task))
        return;
    for (int i = 0; i < r->size; i++) {
        struct jd_cuda_part part = jd__cuda_part(count, r->size, i);
        if (i == r->index)
            continue;
        jd__task_send(task, mine, bytes, i);
        jd__task_receive(task, out_of(r, begin + part.begin),
                         part.count * task->element, i);
    }
    jd__task_group_end(task);
}

static void reduce_long(struct cuda_reduction *r, size_t count)
{
    size_t most = jd__cuda_limits.chunk / r->task.element;
    struct jd_cuda_chunk chunk = { 0 };
    char *vectors = NULL;
    jd__connect_all(&r->task);
    while (jd__cuda_next_chunk(1, count, most, &chunk)) {
        struct jd_cuda_part own =
            jd__cuda_part(chunk.columns, r->size, r->index);
        if (!vectors)
            vectors = jd__task_scratch(
                &r->task, (size_t)r->size * r->task.element *
                              jd__cuda_longest_part(chunk.columns, r->size));
        if (!vectors)
            return;
        bring_parts(r, chunk.column, chunk.columns, vectors);
        fold_vectors(r, vectors, own.count, out_of(r, chunk.column + own.begin),
                     own.count);
        spread_parts(r, chunk.column, chunk.columns);
    }
}

jd_status jd__cuda_all_reduce(struct jd_comm *comm,
                              const struct jd_collective *call,
                              enum jd_reduce op)
{
    struct cuda_reduction r;
    size_t count = call->count;
    jd_status status = jd__cuda_check_calls(
        comm, call, (struct jd_cuda_terms){ .source = -1 });
    if (status != JD_OK || count == 0)
        return status;
    begin_reduction(&r, comm, call, op, count, count);
    if (r.size == 1) {
        reduce_alone(&r, count);
    } else if (r.way.is_native) {
        reduce_native(&r, count);
    } else if (count * r.task.element <=
               jd__cuda_limits.gather / (size_t)r.size) {
        reduce_short(&r, count);
    } else {
        reduce_long(&r, count);
    }
    return jd__task_end(&r.task);
}

/* ---- reduce_scatter ----------------------------------------------------- */

/* One row's block for a member. */
static const char *block_of(const struct cuda_reduction *r, size_t row,
                            int member)
{
    return in_of(r, (row * (size_t)r->size + (size_t)member) *
                        r->task.call->count);
}

/* The chunk of a member's block, without its gaps, as NCCL takes it. */
static void pack_chunk(struct cuda_reduction *r,
                       const struct jd_cuda_chunk *chunk, int member, char *to)
{
    size_t width = chunk->columns * r->task.element;
    size_t pitch = r->task.call->count * (size_t)r->size * r->task.element;
    const char *from =
        block_of(r, chunk->row, member) + chunk->column * r->task.element;
    if (r->way.is_keyed && chunk->rows == 1) {
        make_keys(r, from, to, chunk->columns);
        return;
    }
    jd__task_copy_rows(&r->task, (struct jd_cuda_rows){ to, width },
                       (struct jd_cuda_rows){ (char *)(uintptr_t)from, pitch },
                       width, chunk->rows);
    if (r->way.is_keyed)
        make_keys(r, to, to, chunk->rows * chunk->columns);
}

static char *target_of(const struct cuda_reduction *r,
                       const struct jd_cuda_chunk *chunk)
{
    return out_of(r, chunk->row * r->task.call->count + chunk->column);
}

static size_t elements_of(const struct jd_cuda_chunk *chunk)
{
    return chunk->rows * chunk->columns;
}

/* A row at a time: what NCCL calls a reduce-scatter. */
static void scatter_rows(struct cuda_reduction *r, size_t rows)
{
    size_t count = r->task.call->count;
    for (size_t i = 0; i < rows; i++)
        jd__task_reduce_scatter(&r->task, block_of(r, i, 0),
                                out_of(r, i * count), count, r->way);
    finish_native(r, out_of(r, 0), rows * count);
}

static void scatter_packed(struct cuda_reduction *r, size_t rows)
{
    size_t count = r->task.call->count, size = (size_t)r->size;
    size_t most = jd__cuda_limits.chunk / r->task.element / size;
    struct jd_cuda_chunk chunk = { 0 };
    char *packed = NULL;
    while (jd__cuda_next_chunk(rows, count, most, &chunk)) {
        size_t part = elements_of(&chunk), bytes = part * r->task.element;
        if (!packed)
            packed = jd__task_scratch(&r->task, bytes * size);
        if (!packed)
            return;
        for (int i = 0; i < r->size; i++)
            pack_chunk(r, &chunk, i, packed + (size_t)i * bytes);
        jd__task_reduce_scatter(&r->task, packed, target_of(r, &chunk), part,
                                r->way);
    }
    finish_native(r, out_of(r, 0), rows * count);
}

/* The members' vectors of this one's block come to it. packed has room for
 * all blocks; it is NULL where they have no gaps. */
static void bring_blocks(struct cuda_reduction *r,
                         const struct jd_cuda_chunk *chunk, char *vectors,
                         char *packed)
{
    struct jd_cuda_task *task = &r->task;
    size_t bytes = elements_of(chunk) * task->element;
    for (int i = 0; packed && i < r->size; i++)
        pack_chunk(r, chunk, i, packed + (size_t)i * bytes);
    if (!jd__task_group_begin(task))
        return;
    for (int i = 0; i < r->size; i++) {
        const char *from =
            packed ? packed + (size_t)i * bytes
                   : block_of(r, chunk->row, i) + chunk->column * task->element;
        jd__task_send(task, from, bytes, i);
        jd__task_receive(task, vectors + (size_t)i * bytes, bytes, i);
    }
    jd__task_group_end(task);
}

static void scatter_composed(struct cuda_reduction *r, size_t rows)
{
    size_t count = r->task.call->count, size = (size_t)r->size;
    size_t most = jd__cuda_limits.chunk / r->task.element / size;
    struct jd_cuda_chunk chunk = { 0 };
    char *vectors = NULL, *packed = NULL;
    jd__connect_all(&r->task);
    while (jd__cuda_next_chunk(rows, count, most, &chunk)) {
        size_t part = elements_of(&chunk);
        size_t bytes = part * r->task.element * size;
        bool has_gaps = chunk.rows > 1;
        if (!vectors)
            vectors = jd__task_scratch(&r->task, has_gaps ? 2 * bytes : bytes);
        if (!vectors)
            return;
        packed = has_gaps ? vectors + bytes : NULL;
        bring_blocks(r, &chunk, vectors, packed);
        fold_vectors(r, vectors, part, target_of(r, &chunk), part);
    }
}

jd_status jd__cuda_reduce_scatter(struct jd_comm *comm,
                                  const struct jd_collective *call,
                                  enum jd_reduce op, size_t rows)
{
    struct cuda_reduction r;
    size_t block = rows * call->count;
    jd_status status = jd__cuda_check_calls(
        comm, call, (struct jd_cuda_terms){ .source = -1, .digest = rows });
    if (status != JD_OK || block == 0)
        return status;
    begin_reduction(&r, comm, call, op, block * (size_t)comm->size, block);
    size_t row = call->count * (size_t)r.size * r.task.element;
    if (r.size == 1)
        reduce_alone(&r, block);
    else if (!r.way.is_native)
        scatter_composed(&r, rows);
    else if (!r.way.is_keyed && (rows == 1 || row >= jd__cuda_limits.row))
        scatter_rows(&r, rows);
    else
        scatter_packed(&r, rows);
    return jd__task_end(&r.task);
}

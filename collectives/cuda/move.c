/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * move.c - collectives that only move bytes; all types travel as bytes, so that
 * NaNs and signs stay as they are. Rows with gaps between them are packed on
 * the device, and sent as one.
 *
 * What may be in place on one member is cut into chunks on all, because each
 * knows only of itself whether it is.
 */
#include "collectives/cuda/check.h"
#include "collectives/cuda/connect.h"
#include "collectives/cuda/plan.h"
#include "collectives/cuda/task.h"

/* Steps only read what they copy from. */
static struct jd_cuda_rows rows_at(const void *data, size_t pitch)
{
    return (struct jd_cuda_rows){ (void *)(uintptr_t)data, pitch };
}

/* ---- all_gather --------------------------------------------------------- */

/* A row at a time: what NCCL calls an all-gather. */
static void gather_rows(struct jd_cuda_task *task, size_t width, size_t rows)
{
    size_t pitch = width * (size_t)task->comm->size;
    const char *in = task->call->in;
    char *out = task->call->out;
    for (size_t i = 0; i < rows; i++)
        jd__task_all_gather(task, in + i * width, out + i * pitch, width);
}

static void gather_packed(struct jd_cuda_task *task, size_t width, size_t rows)
{
    size_t size = (size_t)task->comm->size, pitch = width * size;
    struct jd_cuda_chunk chunk = { 0 };
    const char *in = task->call->in;
    char *out = task->call->out, *packed = NULL;
    while (jd__cuda_next_chunk(rows, width, jd__cuda_limits.chunk / size,
                               &chunk)) {
        size_t bytes = chunk.rows * width;
        if (!packed)
            packed = jd__task_scratch(task, bytes * size);
        if (!packed)
            return;
        jd__task_all_gather(task, in + chunk.row * width, packed, bytes);
        for (size_t i = 0; i < size; i++)
            jd__task_copy_rows(
                task, rows_at(out + chunk.row * pitch + i * width, pitch),
                rows_at(packed + i * bytes, width), width, chunk.rows);
    }
}

jd_status jd__cuda_all_gather(struct jd_comm *comm,
                              const struct jd_collective *call, size_t rows)
{
    struct jd_cuda_task task;
    size_t width = call->count * jd_dtype_size(call->dtype);
    size_t bytes = rows * width, pitch = width * (size_t)comm->size;
    jd_status status = jd__cuda_check_calls(
        comm, call, (struct jd_cuda_terms){ .source = -1, .digest = rows });
    if (status != JD_OK || bytes == 0)
        return status;
    jd__task_begin(&task, comm, call, bytes, bytes * (size_t)comm->size, false);
    if (comm->size == 1)
        jd__task_copy(&task, task.call->out, task.call->in, bytes);
    else if (rows == 1 || pitch >= jd__cuda_limits.row)
        gather_rows(&task, width, rows);
    else
        gather_packed(&task, width, rows);
    return jd__task_end(&task);
}

/* ---- all_to_all --------------------------------------------------------- */

/* Where the pieces of one side are, in bytes. */
struct move_side {
    char *data;
    size_t step, pitch;
};

/* An all_to_all in bytes. */
struct move_exchange {
    struct jd_cuda_task task;
    int size, index;
    size_t rows, width; /* of a piece */
    struct move_side in, out;
    bool is_in_place;
};

static bool has_gaps(const struct jd_pieces *pieces, size_t pitch)
{
    return pieces->rows > 1 && pitch != pieces->width;
}

/* In bytes; what has gaps on neither side is one row. */
static void measure_rows(struct move_exchange *x,
                         const struct jd_pieces *pieces)
{
    size_t element = x->task.element;
    bool is_flat = !has_gaps(pieces, pieces->in_pitch) &&
                   !has_gaps(pieces, pieces->out_pitch);
    x->rows = is_flat ? 1 : pieces->rows;
    x->width = pieces->width * element * (is_flat ? pieces->rows : 1);
    x->in.step = pieces->in_step * element;
    x->in.pitch = pieces->in_pitch * element;
    x->out.step = pieces->out_step * element;
    x->out.pitch = pieces->out_pitch * element;
}

/* The first byte of a chunk of a member's piece. */
static char *place_of(const struct move_side *side,
                      const struct jd_cuda_chunk *chunk, int member)
{
    return side->data + (size_t)member * side->step + chunk->row * side->pitch +
           chunk->column;
}

static bool is_whole(const struct move_side *side,
                     const struct jd_cuda_chunk *chunk)
{
    return chunk->rows == 1 || side->pitch == chunk->columns;
}

/* Copies a chunk of all pieces between their places and packed memory. */
static void pack_chunk(struct move_exchange *x,
                       const struct jd_cuda_chunk *chunk, char *packed,
                       const struct move_side *side, bool unpacks)
{
    size_t width = chunk->columns, bytes = chunk->rows * width;
    struct jd_cuda_rows theirs = rows_at(place_of(side, chunk, 0), side->step);
    struct jd_cuda_rows mine = rows_at(packed, bytes);
    if (is_whole(side, chunk)) {
        jd__task_copy_rows(&x->task, unpacks ? theirs : mine,
                           unpacks ? mine : theirs, bytes, (size_t)x->size);
        return;
    }
    for (int i = 0; i < x->size; i++) {
        theirs = rows_at(place_of(side, chunk, i), side->pitch);
        mine = rows_at(packed + (size_t)i * bytes, width);
        jd__task_copy_rows(&x->task, unpacks ? theirs : mine,
                           unpacks ? mine : theirs, width, chunk->rows);
    }
}

/* A member's chunk in packed memory, or where it is. */
static char *chunk_of(const struct move_side *side,
                      const struct jd_cuda_chunk *chunk, char *packed,
                      int member)
{
    return packed ? packed + (size_t)member * chunk->rows * chunk->columns
                  : place_of(side, chunk, member);
}

/* packed_in and packed_out are NULL where chunks are sent from, or received,
 * where they are. One's own piece goes with the others: NCCL's kernel moves it
 * beside them, where a copy would come after. */
static void exchange_chunk(struct move_exchange *x,
                           const struct jd_cuda_chunk *chunk, char *packed_in,
                           char *packed_out)
{
    size_t bytes = chunk->rows * chunk->columns;
    if (packed_in)
        pack_chunk(x, chunk, packed_in, &x->in, false);
    if (!jd__task_group_begin(&x->task))
        return;
    for (int i = 0; i < x->size; i++) {
        jd__task_send(&x->task, chunk_of(&x->in, chunk, packed_in, i), bytes,
                      i);
        jd__task_receive(&x->task, chunk_of(&x->out, chunk, packed_out, i),
                         bytes, i);
    }
    jd__task_group_end(&x->task);
    if (packed_out)
        pack_chunk(x, chunk, packed_out, &x->out, true);
}

static void exchange_chunks(struct move_exchange *x)
{
    size_t most = jd__cuda_limits.chunk / (size_t)x->size;
    struct jd_cuda_chunk chunk = { 0 };
    char *scratch = NULL;
    jd__connect_all(&x->task);
    while (jd__cuda_next_chunk(x->rows, x->width, most, &chunk)) {
        size_t bytes = chunk.rows * chunk.columns * (size_t)x->size;
        bool packs = x->is_in_place || !is_whole(&x->in, &chunk);
        bool unpacks = !is_whole(&x->out, &chunk);
        if (!scratch && (packs || unpacks))
            scratch = jd__task_scratch(&x->task,
                                       packs && unpacks ? 2 * bytes : bytes);
        if (x->task.status != JD_OK)
            return;
        exchange_chunk(x, &chunk, packs ? scratch : NULL,
                       !unpacks ? NULL
                       : packs  ? scratch + bytes
                                : scratch);
    }
}

static void copy_alone(struct move_exchange *x)
{
    if (!x->is_in_place)
        jd__task_copy_rows(&x->task, rows_at(x->out.data, x->out.pitch),
                           rows_at(x->in.data, x->in.pitch), x->width, x->rows);
}

jd_status jd__cuda_all_to_all(struct jd_comm *comm,
                              const struct jd_collective *call,
                              const struct jd_pieces *pieces)
{
    struct move_exchange x = { .size = comm->size, .index = comm->index };
    size_t bytes =
        call->count * (size_t)comm->size * jd_dtype_size(call->dtype);
    jd_status status = jd__cuda_check_calls(
        comm, call,
        (struct jd_cuda_terms){ .source = -1, .digest = pieces->rest });
    if (status != JD_OK || bytes == 0)
        return status;
    jd__task_begin(&x.task, comm, call, bytes, bytes, false);
    measure_rows(&x, pieces);
    x.in.data = (char *)(uintptr_t)x.task.call->in;
    x.out.data = x.task.call->out;
    x.is_in_place = x.in.data == x.out.data;
    if (x.size == 1)
        copy_alone(&x);
    else
        exchange_chunks(&x);
    return jd__task_end(&x.task);
}

/* ---- permute ------------------------------------------------------------ */

/* scratch is where in is first copied to, where something comes to it before
 * it has gone; or NULL. */
static void permute_chunk(struct jd_cuda_task *task,
                          const struct jd_permute *permute,
                          const struct jd_cuda_chunk *chunk, char *scratch)
{
    const char *in = (const char *)task->call->in + chunk->column;
    char *out = (char *)task->call->out + chunk->column;
    if (scratch) {
        jd__task_copy(task, scratch, in, chunk->columns);
        in = scratch;
    }
    if (!jd__task_group_begin(task))
        return;
    if (permute->to >= 0)
        jd__task_send(task, in, chunk->columns, permute->to);
    if (permute->from >= 0)
        jd__task_receive(task, out, chunk->columns, permute->from);
    jd__task_group_end(task);
}

static void permute_chunks(struct jd_cuda_task *task,
                           const struct jd_permute *permute, size_t bytes)
{
    bool crosses = task->call->in == task->call->out && permute->to >= 0 &&
                   permute->to != task->comm->index && permute->from >= 0;
    size_t most = jd__cuda_limits.chunk;
    struct jd_cuda_chunk chunk = { 0 };
    char *scratch = NULL, *connecting;
    jd__connect_want_called(task->comm, permute->to);
    jd__connect_want_called(task->comm, permute->from);
    connecting = jd__connect_prepare(task);
    if (crosses)
        scratch = jd__task_scratch(task, bytes < most ? bytes : most);
    jd__task_meet(task); /* also who neither sends nor receives */
    jd__connect_in(task, connecting);
    if (permute->to == task->comm->index)
        jd__task_copy(task, task->call->out, task->call->in, bytes);
    else if (permute->to >= 0 || permute->from >= 0)
        while (jd__cuda_next_chunk(1, bytes, most, &chunk))
            permute_chunk(task, permute, &chunk, scratch);
}

jd_status jd__cuda_permute(struct jd_comm *comm,
                           const struct jd_collective *call,
                           const struct jd_permute *permute)
{
    struct jd_cuda_task task;
    size_t bytes = call->count * jd_dtype_size(call->dtype);
    bool keeps = permute->keeps && permute->from < 0;
    jd_status status = jd__cuda_check_calls(
        comm, call,
        (struct jd_cuda_terms){ .source = -1, .digest = permute->digest });
    if (status != JD_OK || bytes == 0)
        return status;
    jd__task_begin(&task, comm, call, permute->to < 0 ? 0 : bytes,
                   keeps ? 0 : bytes, false);
    permute_chunks(&task, permute, bytes);
    if (permute->from < 0 && !keeps)
        jd__task_clear(&task, task.call->out, bytes);
    return jd__task_end(&task);
}

/* ---- broadcast ---------------------------------------------------------- */

jd_status jd__cuda_broadcast(struct jd_comm *comm,
                             const struct jd_collective *call, int source)
{
    struct jd_cuda_task task;
    size_t bytes = call->count * jd_dtype_size(call->dtype);
    bool gives = comm->index == source;
    jd_status status = jd__cuda_check_calls(
        comm, call, (struct jd_cuda_terms){ .source = source });
    if (status != JD_OK || bytes == 0)
        return status;
    jd__task_begin(&task, comm, call, gives ? bytes : 0, bytes, false);
    const void *in = gives ? task.call->in : task.call->out;
    if (comm->size == 1)
        jd__task_copy(&task, task.call->out, in, bytes);
    else
        jd__task_broadcast(&task, in, task.call->out, bytes, source);
    return jd__task_end(&task);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* gathers.c - the public collectives that bring members' data together:
 * all_gather, all_to_all and its ragged form. */
#include "base/progress.h"
#include "base/text.h"
#include "collectives/api/checks.h"
#include "jd_collectives.h"

#include <inttypes.h>

/* ---- all_gather --------------------------------------------------------- */

static jd_status gather_blocks(jd_shard *shard, const char *axes,
                               struct jd_collective *call, size_t rows)
{
    struct jd_axis_comm *axis_comm;
    jd_status status = jd__checks_call(shard, axes, call, rows, &axis_comm);
    if (status != JD_OK)
        return status;
    size_t block = rows * call->count;
    const struct jd_buffers buffers = {
        .in = block,
        .out = (size_t)axis_comm->size * block,
        .place = rows == 1 ? (ptrdiff_t)((size_t)axis_comm->index * block)
                           : JD_NO_PLACE,
        .rule = rows == 1 ? "or in == out + index * count" : "",
    };
    status = jd__checks_buffers(call, &buffers);
    if (status == JD_OK)
        status = jd__axis_comm_enter(axis_comm, call, rows);
    if (status != JD_OK)
        return status;
    status = shard->mesh->platform->all_gather(jd__axis_comm_handle(axis_comm),
                                               call, rows);
    return jd__axis_comm_leave(axis_comm, call->activity, status);
}

jd_status jd_all_gather(jd_shard *shard, const char *axes, const void *in,
                        void *out, size_t count, jd_dtype dtype)
{
    JD_NOTE_CALLER();
    struct jd_collective call = { .activity = JD_ACTIVITY_ALL_GATHER,
                                  .in = in,
                                  .out = out,
                                  .count = count,
                                  .dtype = dtype };
    return gather_blocks(shard, axes, &call, 1);
}

jd_status jd_all_gather_2d(jd_shard *shard, const char *axes, const void *in,
                           void *out, size_t rows, size_t count, jd_dtype dtype)
{
    JD_NOTE_CALLER();
    struct jd_collective call = { .activity = JD_ACTIVITY_ALL_GATHER_2D,
                                  .in = in,
                                  .out = out,
                                  .count = count,
                                  .dtype = dtype };
    return gather_blocks(shard, axes, &call, rows);
}

/* ---- all_to_all --------------------------------------------------------- */

/* call->count is what goes to each. */
static jd_status exchange_pieces(struct jd_axis_comm *axis_comm,
                                 struct jd_collective *call,
                                 const struct jd_pieces *pieces,
                                 bool may_be_in_place)
{
    const struct jd_platform *platform = axis_comm->shard->mesh->platform;
    size_t elements = (size_t)axis_comm->size * call->count;
    const struct jd_buffers buffers = {
        .in = elements,
        .out = elements,
        .place = may_be_in_place ? 0 : JD_NO_PLACE,
        .rule = may_be_in_place ? JD_SAME_BUFFER : "",
    };
    jd_status status = jd__checks_buffers(call, &buffers);
    if (status == JD_OK)
        status = jd__axis_comm_enter(axis_comm, call, pieces->rest);
    if (status != JD_OK)
        return status;
    status =
        platform->all_to_all(jd__axis_comm_handle(axis_comm), call, pieces);
    return jd__axis_comm_leave(axis_comm, call->activity, status);
}

jd_status jd_all_to_all(jd_shard *shard, const char *axes, const void *in,
                        void *out, size_t count, jd_dtype dtype)
{
    JD_NOTE_CALLER();
    struct jd_collective call = { .activity = JD_ACTIVITY_ALL_TO_ALL,
                                  .in = in,
                                  .out = out,
                                  .count = count,
                                  .dtype = dtype };
    const struct jd_pieces pieces = { .rows = 1,
                                      .width = count,
                                      .in_step = count,
                                      .in_pitch = count,
                                      .out_step = count,
                                      .out_pitch = count };
    struct jd_axis_comm *axis_comm;
    jd_status status = jd__checks_call(shard, axes, &call, 1, &axis_comm);
    return status == JD_OK ? exchange_pieces(axis_comm, &call, &pieces, true)
                           : status;
}

static jd_status check_axis(const char *name, int axis)
{
    if (axis == 0 || axis == 1)
        return JD_OK;
    return jd_fail(JD_INVALID_ARGUMENT,
                   "jd_all_to_all_2d: %s is %d; it is 0 (rows) or 1 (columns)",
                   name, axis);
}

static jd_status check_divides(const char *name, size_t size, int axis,
                               const struct jd_axis_comm *axis_comm)
{
    if (size % (size_t)axis_comm->size == 0)
        return JD_OK;
    return jd_fail(JD_INVALID_ARGUMENT,
                   "jd_all_to_all_2d%s: %s is %zu, which does not divide by "
                   "the %d members; split_axis %d is cut into equal parts",
                   axis_comm->detail, name, size, axis_comm->size, axis);
}

/* in is rows x columns; out is that with one axis divided by the members and
 * the other multiplied, or the same where the two are one. */
static struct jd_pieces cut_pieces(size_t rows, size_t columns, size_t members,
                                   int split_axis, int concat_axis)
{
    struct jd_pieces pieces = {
        .rows = rows,
        .width = columns,
        .rest = jd__signature_matrix(rows, split_axis, concat_axis),
    };
    if (split_axis == 0)
        pieces.rows /= members;
    else
        pieces.width /= members;
    pieces.in_pitch = columns;
    pieces.in_step =
        split_axis == 0 ? pieces.rows * pieces.in_pitch : pieces.width;
    pieces.out_pitch = concat_axis == 0 ? pieces.width : pieces.width * members;
    pieces.out_step =
        concat_axis == 0 ? pieces.rows * pieces.out_pitch : pieces.width;
    return pieces;
}

jd_status jd_all_to_all_2d(jd_shard *shard, const char *axes, const void *in,
                           void *out, size_t rows, size_t columns,
                           int split_axis, int concat_axis, jd_dtype dtype)
{
    JD_NOTE_CALLER();
    struct jd_collective call = { .activity = JD_ACTIVITY_ALL_TO_ALL_2D,
                                  .in = in,
                                  .out = out,
                                  .count = columns,
                                  .dtype = dtype };
    struct jd_axis_comm *axis_comm;
    jd_status status = jd__checks_call(shard, axes, &call, rows, &axis_comm);
    if (status == JD_OK)
        status = check_axis("split_axis", split_axis);
    if (status == JD_OK)
        status = check_axis("concat_axis", concat_axis);
    if (status == JD_OK)
        status = split_axis == 0
                     ? check_divides("rows", rows, 0, axis_comm)
                     : check_divides("columns", columns, 1, axis_comm);
    if (status != JD_OK)
        return status;
    struct jd_pieces pieces = cut_pieces(rows, columns, (size_t)axis_comm->size,
                                         split_axis, concat_axis);
    call.count = pieces.rows * pieces.width;
    return exchange_pieces(axis_comm, &call, &pieces,
                           split_axis == concat_axis);
}

/* ---- all_to_all of any number of dimensions ----------------------------- */

#define ND "jd_all_to_all_nd"
#define MOST_DIMENSIONS 64 /* an axis has six bits in the signature */

/* What is split and joined where, of an array in C's order. */
struct cut {
    int ndim;
    const int64_t *shape;
    int split, concat;
};

/* As matrices, one after another: the dimensions that stay together are one. */
struct planes {
    size_t count, rows, columns;
    int split, concat; /* of the matrix */
};

/* SIZE_MAX for what has no room in a size_t. */
static size_t count_along(const struct cut *cut, int from, int to)
{
    size_t product = 1;
    for (int i = from; i < to; i++)
        if (__builtin_mul_overflow(product, (size_t)cut->shape[i], &product))
            product = SIZE_MAX;
    return product;
}

static struct planes fold_cut(const struct cut *cut)
{
    bool is_one = cut->split == cut->concat;
    int first = cut->split < cut->concat ? cut->split : cut->concat;
    int second = cut->split < cut->concat ? cut->concat : cut->split;
    return (struct planes){
        .count = is_one ? 1 : count_along(cut, 0, first),
        .rows = count_along(cut, is_one ? 0 : first, second),
        .columns = count_along(cut, second, cut->ndim),
        .split = cut->split == second,
        .concat = cut->concat == second,
    };
}

static jd_status check_an_axis(const struct cut *cut, const char *name,
                               int axis)
{
    if (axis >= 0 && axis < cut->ndim)
        return JD_OK;
    return jd_fail(JD_INVALID_ARGUMENT,
                   ND ": %s is %d; of %d dimension%s it is 0 to %d", name, axis,
                   cut->ndim, jd__text_s(cut->ndim), cut->ndim - 1);
}

static jd_status check_cut(const struct cut *cut)
{
    if (cut->ndim < 1 || cut->ndim > MOST_DIMENSIONS)
        return jd_fail(JD_INVALID_ARGUMENT, ND ": ndim is %d; it is 1 to %d",
                       cut->ndim, MOST_DIMENSIONS);
    if (!cut->shape)
        return jd_fail(JD_INVALID_ARGUMENT,
                       ND ": shape is NULL; it has ndim numbers, here %d",
                       cut->ndim);
    for (int i = 0; i < cut->ndim; i++)
        if (cut->shape[i] < 0)
            return jd_fail(JD_INVALID_ARGUMENT,
                           ND ": shape[%d] is %" PRId64
                              "; a length is 0 or more",
                           i, cut->shape[i]);
    if (count_along(cut, 0, cut->ndim) == SIZE_MAX)
        return jd_fail(JD_INVALID_ARGUMENT,
                       ND ": the lengths of shape make more elements than an "
                          "address space has");
    jd_status status = check_an_axis(cut, "split_axis", cut->split);
    return status == JD_OK ? check_an_axis(cut, "concat_axis", cut->concat)
                           : status;
}

static jd_status check_cut_divides(const struct jd_axis_comm *axis_comm,
                                   const struct cut *cut)
{
    if (cut->shape[cut->split] % axis_comm->size == 0)
        return JD_OK;
    return jd_fail(JD_INVALID_ARGUMENT,
                   ND "%s: shape[%d] is %" PRId64 ", which does not divide by "
                      "the %d members; split_axis %d is cut into equal parts",
                   axis_comm->detail, cut->split, cut->shape[cut->split],
                   axis_comm->size, cut->split);
}

/* The whole is compared and counted once, and exchanged plane by plane. */
static jd_status exchange_planes(struct jd_axis_comm *axis_comm,
                                 struct jd_collective *call,
                                 const struct jd_pieces *pieces, size_t planes)
{
    const struct jd_platform *platform = axis_comm->shard->mesh->platform;
    size_t plane = (size_t)axis_comm->size * call->count;
    size_t bytes = plane * jd_dtype_size(call->dtype);
    const struct jd_buffers buffers = { planes * plane, planes * plane,
                                        JD_NO_PLACE, "" };
    jd_status status = jd__checks_buffers(call, &buffers);
    if (status == JD_OK)
        status = jd__axis_comm_enter(axis_comm, call, pieces->rest);
    if (status != JD_OK)
        return status;
    struct jd_comm *comm = jd__axis_comm_handle(axis_comm);
    struct jd_collective one = *call;
    for (size_t i = 0; status == JD_OK && i < planes; i++) {
        one.in = bytes ? (const char *)call->in + i * bytes : call->in;
        one.out = bytes ? (char *)call->out + i * bytes : call->out;
        status = platform->all_to_all(comm, &one, pieces);
    }
    return jd__axis_comm_leave(axis_comm, call->activity, status);
}

/* Of no planes one exchange of nothing: members meet in every call. */
static jd_status exchange_cut(struct jd_axis_comm *axis_comm,
                              struct jd_collective *call, const struct cut *cut)
{
    struct planes planes = fold_cut(cut);
    uint64_t rest =
        jd__signature_nd(planes.count, planes.rows, cut->split, cut->concat);
    if (planes.count == 0)
        planes = (struct planes){ 1, 0, 0, planes.split, planes.concat };
    struct jd_pieces pieces =
        cut_pieces(planes.rows, planes.columns, (size_t)axis_comm->size,
                   planes.split, planes.concat);
    pieces.rest = rest;
    call->count = pieces.rows * pieces.width;
    return planes.count == 1
               ? exchange_pieces(axis_comm, call, &pieces,
                                 planes.split == planes.concat)
               : exchange_planes(axis_comm, call, &pieces, planes.count);
}

jd_status jd_all_to_all_nd(jd_shard *shard, const char *axes, const void *in,
                           void *out, int ndim, const int64_t *shape,
                           int split_axis, int concat_axis, jd_dtype dtype)
{
    JD_NOTE_CALLER();
    const struct cut cut = { ndim, shape, split_axis, concat_axis };
    struct jd_collective call = { .activity = JD_ACTIVITY_ALL_TO_ALL_ND,
                                  .in = in,
                                  .out = out,
                                  .dtype = dtype };
    struct jd_axis_comm *axis_comm;
    jd_status status = check_cut(&cut);
    if (status != JD_OK)
        return status;
    call.count = count_along(&cut, 0, ndim);
    status = jd__checks_call(shard, axes, &call, 1, &axis_comm);
    if (status == JD_OK)
        status = check_cut_divides(axis_comm, &cut);
    return status == JD_OK ? exchange_cut(axis_comm, &call, &cut) : status;
}

/* ---- ragged_all_to_all -------------------------------------------------- */

#define RAGGED "jd_ragged_all_to_all"

/* What the lists say comes from data: a member with wrong rows meets the others
 * all the same, so that all hear of it (ragged_fault.h). */
static jd_status check_lists(const struct jd_axis_comm *axis_comm,
                             const struct jd_ragged *ragged, int entries)
{
    const char *null = !ragged->input_offsets    ? "input_offsets"
                       : !ragged->send_sizes     ? "send_sizes"
                       : !ragged->output_offsets ? "output_offsets"
                       : !ragged->recv_sizes     ? "recv_sizes"
                                                 : NULL;
    if (entries < 0 || entries % axis_comm->size)
        return jd_fail(JD_INVALID_ARGUMENT,
                       "%s%s: entries is %d; each of the %d members has as "
                       "many, so it is a multiple of their number",
                       RAGGED, axis_comm->detail, entries, axis_comm->size);
    if (entries > 0 && null)
        return jd_fail(JD_INVALID_ARGUMENT, "%s: %s is NULL and entries is %d",
                       RAGGED, null, entries);
    return JD_OK;
}

jd_status
jd_ragged_all_to_all(jd_shard *shard, const char *axes, const void *in,
                     size_t in_rows, void *out, size_t out_rows,
                     size_t row_count, const int64_t *input_offsets,
                     const int64_t *send_sizes, const int64_t *output_offsets,
                     const int64_t *recv_sizes, int entries, jd_dtype dtype)
{
    JD_NOTE_CALLER();
    struct jd_collective call = { .activity = JD_ACTIVITY_RAGGED_ALL_TO_ALL,
                                  .in = in,
                                  .out = out,
                                  .count = row_count,
                                  .dtype = dtype };
    struct jd_ragged ragged = { .input_offsets = input_offsets,
                                .send_sizes = send_sizes,
                                .output_offsets = output_offsets,
                                .recv_sizes = recv_sizes,
                                .in_rows = in_rows,
                                .out_rows = out_rows };
    const struct jd_buffers buffers = { in_rows * row_count,
                                        out_rows * row_count, JD_NO_PLACE, "" };
    struct jd_axis_comm *axis_comm;
    size_t rows = in_rows > out_rows ? in_rows : out_rows;
    jd_status status = jd__checks_call(shard, axes, &call, rows, &axis_comm);
    if (status == JD_OK)
        status = check_lists(axis_comm, &ragged, entries);
    if (status == JD_OK)
        status = jd__checks_buffers(&call, &buffers);
    if (status == JD_OK)
        status = jd__axis_comm_enter(axis_comm, &call, (uint64_t)entries);
    if (status != JD_OK)
        return status;
    ragged.per_member = entries / axis_comm->size;
    ragged.rest = (uint64_t)ragged.per_member;
    status = shard->mesh->platform->ragged_all_to_all(
        jd__axis_comm_handle(axis_comm), &call, &ragged);
    return jd__axis_comm_leave(axis_comm, call.activity, status);
}

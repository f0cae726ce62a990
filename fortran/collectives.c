/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * collectives.c - jd_collectives.h for Fortran: type and count come from the
 * arrays. C sees an array's dimensions reversed: its first axis is Fortran's
 * last dimension, along which members' parts follow each other.
 */
#include "fortran/collective.h"

#include <stdint.h>

/* ---- as many out as in --------------------------------------------------- */

typedef jd_status (*alike_f)(jd_shard *shard, const char *axes, const void *in,
                             void *out, size_t count, jd_dtype dtype);

/* Where all of in and out is of one count. */
static void make_alike(const struct jdf_call *call, alike_f make, JDF_ALONG,
                       JDF_ARRAYS, const int *dtype)
{
    struct jdf_collective it;
    jd_status status = jdf_collective_begin(call, shard, axes, in, out, dtype,
                                            JDF_REDUCED, &it);
    if (status == JD_OK)
        status = jdf_check_counts(call, &it.pair.out, &it.pair.in, 1);
    if (status == JD_OK)
        status = make(it.shard, it.along.text, it.pair.in.data,
                      it.pair.out.data, it.pair.in.count, it.pair.in.dtype);
    jdf_collective_end(call, &it, status);
}

#define REDUCTION(name)                                                        \
    JD_API void jdf_##name(JDF_ALONG, JDF_ARRAYS, JDF_TYPED)                   \
    {                                                                          \
        JDF_CALL("jd_" #name);                                                 \
        make_alike(&call, jd_##name, shard, axes, in, out, dtype);             \
    }

REDUCTION(psum)
REDUCTION(pmean)
REDUCTION(pmax)
REDUCTION(pmin)
REDUCTION(pprod)
REDUCTION(pand)
REDUCTION(por)
REDUCTION(pxor)

JD_API void jdf_scan(JDF_ALONG, const int *op, const int *kind, JDF_ARRAYS,
                     JDF_TYPED)
{
    JDF_CALL("jd_scan");
    struct jdf_collective it;
    jd_status status = jdf_collective_begin(&call, shard, axes, in, out, dtype,
                                            JDF_REDUCED, &it);
    if (status == JD_OK)
        status = jdf_check_counts(&call, &it.pair.out, &it.pair.in, 1);
    if (status == JD_OK)
        status = jd_scan(it.shard, it.along.text, it.pair.in.data,
                         it.pair.out.data, it.pair.in.count, it.pair.in.dtype,
                         (jd_op)*op, (jd_scan_kind)*kind);
    jdf_collective_end(&call, &it, status);
}

/* jd sees bytes alone. */
static jd_status check_elements(const struct jdf_call *call,
                                const struct jdf_pair *pair)
{
    const CFI_cdesc_t *in = pair->in.array, *out = pair->out.array;
    size_t ins = jdf_num_elements(in), outs = jdf_num_elements(out);
    if (in->type == out->type && in->elem_len == out->elem_len && ins == outs)
        return JD_OK;
    return jd_fail_with(JD_INVALID_ARGUMENT,
                        "%s: in has %zu elements of %zu bytes (%s), and out "
                        "%zu of %zu (%s); they are as many of one type",
                        call->name, ins, in->elem_len, jdf_type_text(in).text,
                        outs, out->elem_len, jdf_type_text(out).text);
}

JD_API void jdf_preduce(JDF_ALONG, JDF_ARRAYS, jd_reduce_f join,
                        void *const *context, JDF_OUTCOME)
{
    JDF_CALL("jd_preduce");
    struct jdf_collective it;
    jd_status status = jdf_collective_begin(&call, shard, axes, in, out, NULL,
                                            JDF_OPAQUE, &it);
    if (status == JD_OK)
        status = check_elements(&call, &it.pair);
    if (status == JD_OK)
        status =
            jd_preduce(it.shard, it.along.text, it.pair.in.data,
                       it.pair.out.data, jdf_num_elements(it.pair.in.array),
                       in->elem_len, join, context ? *context : NULL);
    jdf_collective_end(&call, &it, status);
}

/* ---- values and indices -------------------------------------------------- */

/* The arrays of indices; in is without data where it is not present. */
struct indices {
    struct jdf_buffer in, out;
};

static jd_status take_indices(const struct jdf_call *call,
                              const struct jdf_buffer *values,
                              const CFI_cdesc_t *in, const CFI_cdesc_t *out,
                              struct indices *indices)
{
    jd_status status = JD_OK;
    if (in)
        status = jdf_buffer_take(call, "in_index", in, NULL, JDF_MOVED,
                                 &indices->in);
    if (status == JD_OK && in)
        status = jdf_check_counts(call, &indices->in, values, 1);
    if (status == JD_OK)
        status = jdf_buffer_take(call, "out_index", out, NULL, JDF_MOVED,
                                 &indices->out);
    return status == JD_OK ? jdf_check_counts(call, &indices->out, values, 1)
                           : status;
}

static void end_indices(struct indices *indices, jd_status status)
{
    if (status == JD_OK)
        jdf_buffer_write(&indices->out);
    jdf_buffer_drop(&indices->in);
    jdf_buffer_drop(&indices->out);
}

typedef jd_status (*extreme_f)(jd_shard *shard, const char *axes,
                               const void *in, const int64_t *in_index,
                               void *out, int64_t *out_index, size_t count,
                               jd_dtype dtype);

static void make_extreme(const struct jdf_call *call, extreme_f make, JDF_ALONG,
                         JDF_ARRAYS, const CFI_cdesc_t *out_index,
                         const CFI_cdesc_t *in_index, const int *dtype)
{
    struct jdf_collective it;
    struct indices indices = { 0 };
    jd_status status = jdf_collective_begin(call, shard, axes, in, out, dtype,
                                            JDF_REDUCED, &it);
    if (status == JD_OK)
        status = jdf_check_counts(call, &it.pair.out, &it.pair.in, 1);
    if (status == JD_OK)
        status = take_indices(call, &it.pair.in, in_index, out_index, &indices);
    if (status == JD_OK)
        status = make(it.shard, it.along.text, it.pair.in.data, indices.in.data,
                      it.pair.out.data, indices.out.data, it.pair.in.count,
                      it.pair.in.dtype);
    end_indices(&indices, status);
    jdf_collective_end(call, &it, status);
}

JD_API void jdf_pmaxloc(JDF_ALONG, JDF_ARRAYS, const CFI_cdesc_t *out_index,
                        const CFI_cdesc_t *in_index, JDF_TYPED)
{
    JDF_CALL("jd_pmaxloc");
    make_extreme(&call, jd_pmaxloc, shard, axes, in, out, out_index, in_index,
                 dtype);
}

JD_API void jdf_pminloc(JDF_ALONG, JDF_ARRAYS, const CFI_cdesc_t *out_index,
                        const CFI_cdesc_t *in_index, JDF_TYPED)
{
    JDF_CALL("jd_pminloc");
    make_extreme(&call, jd_pminloc, shard, axes, in, out, out_index, in_index,
                 dtype);
}

/* ---- one of them has a part for each member ------------------------------ */

static void make_parts(const struct jdf_call *call, alike_f make, bool gathers,
                       JDF_ALONG, JDF_ARRAYS, const int *dtype)
{
    struct jdf_collective it;
    jd_status status = jdf_collective_begin(call, shard, axes, in, out, dtype,
                                            jdf_use_of_parts(gathers), &it);
    struct jdf_parts parts = jdf_parts_of(&it, gathers);
    if (status == JD_OK)
        status = jdf_check_counts(call, parts.all, parts.part,
                                  jdf_collective_members(&it));
    if (status == JD_OK)
        status = make(it.shard, it.along.text, it.pair.in.data,
                      it.pair.out.data, parts.part->count, it.pair.in.dtype);
    jdf_collective_end(call, &it, status);
}

JD_API void jdf_psum_scatter(JDF_ALONG, JDF_ARRAYS, JDF_TYPED)
{
    JDF_CALL("jd_psum_scatter");
    make_parts(&call, jd_psum_scatter, false, shard, axes, in, out, dtype);
}

JD_API void jdf_all_gather(JDF_ALONG, JDF_ARRAYS, JDF_TYPED)
{
    JDF_CALL("jd_all_gather");
    make_parts(&call, jd_all_gather, true, shard, axes, in, out, dtype);
}

/* Rows of C are what lies along dimension 1 here. */
static jd_status check_rows(const struct jdf_call *call,
                            const struct jdf_collective *it)
{
    size_t in = jdf_num_rows(&it->pair.in), out = jdf_num_rows(&it->pair.out);
    if (in == out)
        return JD_OK;
    return jd_fail_with(JD_INVALID_ARGUMENT,
                        "%s: in has %zu elements in all its dimensions after "
                        "the first, and out %zu; they are alike there",
                        call->name, in, out);
}

typedef jd_status (*matrix_f)(jd_shard *shard, const char *axes, const void *in,
                              void *out, size_t rows, size_t columns,
                              jd_dtype dtype);

static void make_matrix(const struct jdf_call *call, matrix_f make,
                        bool gathers, JDF_ALONG, JDF_ARRAYS, const int *dtype)
{
    struct jdf_collective it;
    jd_status status = jdf_collective_begin(call, shard, axes, in, out, dtype,
                                            jdf_use_of_parts(gathers), &it);
    struct jdf_parts parts = jdf_parts_of(&it, gathers);
    if (status == JD_OK)
        status = check_rows(call, &it);
    if (status == JD_OK)
        status = jdf_check_counts(call, parts.all, parts.part,
                                  jdf_collective_members(&it));
    if (status == JD_OK)
        status = make(it.shard, it.along.text, it.pair.in.data,
                      it.pair.out.data, jdf_num_rows(parts.part),
                      jdf_row_length(parts.part), it.pair.in.dtype);
    jdf_collective_end(call, &it, status);
}

JD_API void jdf_psum_scatter_2d(JDF_ALONG, JDF_ARRAYS, JDF_TYPED)
{
    JDF_CALL("jd_psum_scatter_2d");
    make_matrix(&call, jd_psum_scatter_2d, false, shard, axes, in, out, dtype);
}

JD_API void jdf_all_gather_2d(JDF_ALONG, JDF_ARRAYS, JDF_TYPED)
{
    JDF_CALL("jd_all_gather_2d");
    make_matrix(&call, jd_all_gather_2d, true, shard, axes, in, out, dtype);
}

/* ---- exchanging --------------------------------------------------------- */

JD_API void jdf_all_to_all(JDF_ALONG, JDF_ARRAYS, JDF_TYPED)
{
    JDF_CALL("jd_all_to_all");
    struct jdf_collective it;
    size_t count;
    jd_status status = jdf_collective_begin(&call, shard, axes, in, out, dtype,
                                            JDF_MOVED, &it);
    if (status == JD_OK)
        status = jdf_check_counts(&call, &it.pair.out, &it.pair.in, 1);
    if (status == JD_OK)
        status = jdf_collective_share(&call, &it, &count);
    if (status == JD_OK)
        status = jd_all_to_all(it.shard, it.along.text, it.pair.in.data,
                               it.pair.out.data, count, it.pair.in.dtype);
    jdf_collective_end(&call, &it, status);
}

/* A dimension of Fortran's, 1 or 2, as C's axis. */
static jd_status check_dimension(const struct jdf_call *call, const char *name,
                                 int dimension)
{
    if (dimension == 1 || dimension == 2)
        return JD_OK;
    return jd_fail_with(JD_INVALID_ARGUMENT, "%s: %s is %d; it is 1 or 2",
                        call->name, name, dimension);
}

JD_API void jdf_all_to_all_2d(JDF_ALONG, JDF_ARRAYS, const int *split_dim,
                              const int *concat_dim, JDF_TYPED)
{
    JDF_CALL("jd_all_to_all_2d");
    struct jdf_collective it;
    jd_status status = jdf_collective_begin(&call, shard, axes, in, out, dtype,
                                            JDF_MOVED, &it);
    if (status == JD_OK)
        status = check_dimension(&call, "split_dim", *split_dim);
    if (status == JD_OK)
        status = check_dimension(&call, "concat_dim", *concat_dim);
    if (status == JD_OK)
        status = jdf_check_counts(&call, &it.pair.out, &it.pair.in, 1);
    if (status == JD_OK)
        status = jd_all_to_all_2d(it.shard, it.along.text, it.pair.in.data,
                                  it.pair.out.data, jdf_num_rows(&it.pair.in),
                                  jdf_row_length(&it.pair.in), 2 - *split_dim,
                                  2 - *concat_dim, it.pair.in.dtype);
    jdf_collective_end(&call, &it, status);
}

static jd_status check_any_dimension(const struct jdf_call *call,
                                     const char *name, int dimension, int rank)
{
    if (dimension >= 1 && dimension <= rank)
        return JD_OK;
    return jd_fail_with(JD_INVALID_ARGUMENT,
                        "%s: %s is %d; in has the dimensions 1 to %d",
                        call->name, name, dimension, rank);
}

/* Fortran's first dimension is C's last. */
static jd_status exchange_any(const struct jdf_collective *it, int split_dim,
                              int concat_dim)
{
    const struct jdf_buffer *in = &it->pair.in;
    int64_t shape[CFI_MAX_RANK];
    int rank = in->array->rank;
    for (int i = 0; i < rank; i++)
        shape[i] = (int64_t)in->array->dim[rank - 1 - i].extent;
    return jd_all_to_all_nd(it->shard, it->along.text, in->data,
                            it->pair.out.data, rank, shape, rank - split_dim,
                            rank - concat_dim, in->dtype);
}

JD_API void jdf_all_to_all_nd(JDF_ALONG, JDF_ARRAYS, const int *split_dim,
                              const int *concat_dim, JDF_TYPED)
{
    JDF_CALL("jd_all_to_all_nd");
    struct jdf_collective it;
    jd_status status = jdf_collective_begin(&call, shard, axes, in, out, dtype,
                                            JDF_MOVED, &it);
    int rank = status == JD_OK ? it.pair.in.array->rank : 0;
    if (status == JD_OK)
        status = check_any_dimension(&call, "split_dim", *split_dim, rank);
    if (status == JD_OK)
        status = check_any_dimension(&call, "concat_dim", *concat_dim, rank);
    if (status == JD_OK)
        status = jdf_check_counts(&call, &it.pair.out, &it.pair.in, 1);
    if (status == JD_OK)
        status = exchange_any(&it, *split_dim, *concat_dim);
    jdf_collective_end(&call, &it, status);
}

/* Rows are what lies along all dimensions but the last. */
static size_t extent_of_last(const struct jdf_buffer *buffer)
{
    int rank = buffer->array->rank;
    return rank > 0 ? (size_t)buffer->array->dim[rank - 1].extent : 1;
}

/* The elements in such a row: alike in in and out, of which one may have none.
 */
static jd_status find_row(const struct jdf_call *call,
                          const struct jdf_collective *it, size_t *ret_count)
{
    size_t in = 1, out = 1;
    const struct jdf_pair *pair = &it->pair;
    for (int i = 0; i + 1 < pair->in.array->rank; i++)
        in *= (size_t)pair->in.array->dim[i].extent;
    for (int i = 0; i + 1 < pair->out.array->rank; i++)
        out *= (size_t)pair->out.array->dim[i].extent;
    *ret_count = in;
    if (in == out)
        return JD_OK;
    return jd_fail_with(JD_INVALID_ARGUMENT,
                        "%s: a row of in, which is what lies along all its "
                        "dimensions but the last, has %zu elements, and one of "
                        "out %zu; they are alike",
                        call->name, in, out);
}

static jd_status check_entries(const struct jdf_call *call, const char *name,
                               const CFI_cdesc_t *list, size_t entries)
{
    if (jdf_count(list) == entries)
        return JD_OK;
    return jd_fail_with(
        JD_INVALID_ARGUMENT,
        "%s: input_offsets has %zu entries and %s %zu; the four "
        "lists have as many",
        call->name, entries, name, jdf_count(list));
}

JD_API void jdf_ragged_all_to_all(JDF_ALONG, JDF_ARRAYS,
                                  const CFI_cdesc_t *input_offsets,
                                  const CFI_cdesc_t *send_sizes,
                                  const CFI_cdesc_t *output_offsets,
                                  const CFI_cdesc_t *recv_sizes, JDF_TYPED)
{
    JDF_CALL("jd_ragged_all_to_all");
    struct jdf_collective it;
    size_t row_count, entries = jdf_count(input_offsets);
    jd_status status = jdf_collective_begin(&call, shard, axes, in, out, dtype,
                                            JDF_MOVED, &it);
    if (status == JD_OK)
        status = find_row(&call, &it, &row_count);
    if (status == JD_OK)
        status = check_entries(&call, "send_sizes", send_sizes, entries);
    if (status == JD_OK)
        status =
            check_entries(&call, "output_offsets", output_offsets, entries);
    if (status == JD_OK)
        status = check_entries(&call, "recv_sizes", recv_sizes, entries);
    if (status == JD_OK)
        status = jd_ragged_all_to_all(
            it.shard, it.along.text, it.pair.in.data,
            extent_of_last(&it.pair.in), it.pair.out.data,
            extent_of_last(&it.pair.out), row_count, jdf_first(input_offsets),
            jdf_first(send_sizes), jdf_first(output_offsets),
            jdf_first(recv_sizes), (int)entries, it.pair.in.dtype);
    jdf_collective_end(&call, &it, status);
}

/* A number for each member, and as many elements of out as they are together:
 * what is negative the call refuses. */
static jd_status check_parts_of_out(const struct jdf_call *call,
                                    const struct jdf_collective *it,
                                    const CFI_cdesc_t *counts)
{
    int members = jdf_collective_members(it);
    const int64_t *count = jdf_first(counts);
    size_t all = 0;
    if (members < 0)
        return JD_INVALID_ARGUMENT; /* which has said why */
    if (jdf_count(counts) != (size_t)members)
        return jd_fail_with(JD_INVALID_ARGUMENT,
                            "%s: counts has %zu entries, and there are %d "
                            "members along the axes; it has one for each",
                            call->name, jdf_count(counts), members);
    for (int i = 0; i < members; i++)
        all += (size_t)count[i];
    if (all == it->pair.out.count)
        return JD_OK;
    return jd_fail_with(JD_INVALID_ARGUMENT,
                        "%s: out has %zu elements, and the counts of all "
                        "members are %zu together; they are alike",
                        call->name, it->pair.out.count, all);
}

JD_API void jdf_ragged_all_gather(JDF_ALONG, JDF_ARRAYS,
                                  const CFI_cdesc_t *counts, JDF_TYPED)
{
    JDF_CALL("jd_ragged_all_gather");
    struct jdf_collective it;
    jd_status status = jdf_collective_begin(&call, shard, axes, in, out, dtype,
                                            JDF_MOVED, &it);
    if (status == JD_OK)
        status = check_parts_of_out(&call, &it, counts);
    if (status == JD_OK)
        status = jd_ragged_all_gather(it.shard, it.along.text, it.pair.in.data,
                                      it.pair.in.count, it.pair.out.data,
                                      jdf_first(counts), it.pair.in.dtype);
    jdf_collective_end(&call, &it, status);
}

/* ---- moving ------------------------------------------------------------- */

typedef jd_status (*permute_f)(jd_shard *shard, const char *axes,
                               const void *in, void *out, size_t count,
                               jd_dtype dtype, const jd_route *routes,
                               int num_routes);

static void make_permute(const struct jdf_call *call, permute_f permute,
                         JDF_ALONG, JDF_ARRAYS, const CFI_cdesc_t *routes,
                         const int *dtype)
{
    struct jdf_collective it;
    jd_status status =
        jdf_collective_begin(call, shard, axes, in, out, dtype, JDF_MOVED, &it);
    if (status == JD_OK)
        status = jdf_check_counts(call, &it.pair.out, &it.pair.in, 1);
    if (status == JD_OK)
        status = permute(it.shard, it.along.text, it.pair.in.data,
                         it.pair.out.data, it.pair.in.count, it.pair.in.dtype,
                         jdf_first(routes), (int)jdf_count(routes));
    jdf_collective_end(call, &it, status);
}

JD_API void jdf_ppermute(JDF_ALONG, JDF_ARRAYS, const CFI_cdesc_t *routes,
                         JDF_TYPED)
{
    JDF_CALL("jd_ppermute");
    make_permute(&call, jd_ppermute, shard, axes, in, out, routes, dtype);
}

JD_API void jdf_ppermute_keep(JDF_ALONG, JDF_ARRAYS, const CFI_cdesc_t *routes,
                              JDF_TYPED)
{
    JDF_CALL("jd_ppermute_keep");
    make_permute(&call, jd_ppermute_keep, shard, axes, in, out, routes, dtype);
}

static jd_status check_permutation(const struct jdf_call *call,
                                   const struct jdf_collective *it,
                                   const CFI_cdesc_t *permutation)
{
    int members = jdf_collective_members(it);
    if (members < 0)
        return JD_INVALID_ARGUMENT; /* which has said why */
    if (jdf_count(permutation) == (size_t)members)
        return JD_OK;
    return jd_fail_with(JD_INVALID_ARGUMENT,
                        "%s: permutation has %zu entries, and there are %d "
                        "members along the axes; list each once",
                        call->name, jdf_count(permutation), members);
}

JD_API void jdf_pshuffle(JDF_ALONG, JDF_ARRAYS, const CFI_cdesc_t *permutation,
                         JDF_TYPED)
{
    JDF_CALL("jd_pshuffle");
    struct jdf_collective it;
    jd_status status = jdf_collective_begin(&call, shard, axes, in, out, dtype,
                                            JDF_MOVED, &it);
    if (status == JD_OK)
        status = jdf_check_counts(&call, &it.pair.out, &it.pair.in, 1);
    if (status == JD_OK)
        status = check_permutation(&call, &it, permutation);
    if (status == JD_OK)
        status = jd_pshuffle(it.shard, it.along.text, it.pair.in.data,
                             it.pair.out.data, it.pair.in.count,
                             it.pair.in.dtype, jdf_first(permutation));
    jdf_collective_end(&call, &it, status);
}

JD_API void jdf_shift(JDF_ALONG, const int *by, const int *edge, JDF_ARRAYS,
                      JDF_TYPED)
{
    JDF_CALL("jd_shift");
    struct jdf_collective it;
    jd_status status = jdf_collective_begin(&call, shard, axes, in, out, dtype,
                                            JDF_MOVED, &it);
    if (status == JD_OK)
        status = jdf_check_counts(&call, &it.pair.out, &it.pair.in, 1);
    if (status == JD_OK)
        status = jd_shift(it.shard, it.along.text, *by, it.pair.in.data,
                          it.pair.out.data, it.pair.in.count, it.pair.in.dtype,
                          (jd_edge)*edge);
    jdf_collective_end(&call, &it, status);
}

JD_API void jdf_pbroadcast(JDF_ALONG, const int *source, JDF_ARRAYS, JDF_TYPED)
{
    JDF_CALL("jd_pbroadcast");
    struct jdf_collective it;
    jd_status status = jdf_collective_begin(&call, shard, axes, in, out, dtype,
                                            JDF_MOVED, &it);
    if (status == JD_OK)
        status = jdf_check_counts(&call, &it.pair.out, &it.pair.in, 1);
    if (status == JD_OK)
        status =
            jd_pbroadcast(it.shard, it.along.text, *source, it.pair.in.data,
                          it.pair.out.data, it.pair.in.count, it.pair.in.dtype);
    jdf_collective_end(&call, &it, status);
}

/* ---- waiting ------------------------------------------------------------ */

JD_API void jdf_barrier(JDF_ALONG, JDF_OUTCOME)
{
    JDF_CALL("jd_barrier");
    struct jdf_text along;
    jd_status status = jdf_axes_take(&call, axes, &along);
    if (status == JD_OK)
        status = jd_barrier(*shard, along.text);
    jdf_text_drop(&along);
    jdf_end(&call, status);
}

JD_API void jdf_shard_synchronize(jd_shard *const *shard, JDF_OUTCOME)
{
    JDF_CALL("jd_shard_synchronize");
    jdf_end(&call, jd_shard_synchronize(*shard));
}

JD_API void *jdf_shard_stream(jd_shard *const *shard, JDF_OUTCOME)
{
    JDF_CALL("jd_shard_stream");
    void *stream = jd_shard_stream(*shard);
    jdf_end(&call, jdf_unless(!stream, JD_UNIMPLEMENTED));
    return stream;
}

JD_API void jdf_shard_use_stream(jd_shard *const *shard, void *const *stream,
                                 JDF_OUTCOME)
{
    JDF_CALL("jd_shard_use_stream");
    jdf_end(&call, jd_shard_use_stream(*shard, *stream));
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* share.c - a part of a box, between the array's block and plain memory. */
#include "arrays/array/share.h"

#include <string.h>

/* One way or the other. */
struct share {
    const struct jd_box *block;
    char *memory; /* where the next elements go or come from */
    bool is_packing;
    struct jd_stream *stream;
    jd_range index[JD_MAX_NDIM]; /* of the next ones */
};

static jd_status copy_box(struct share *share)
{
    const struct jd_box *block = share->block;
    const struct jd_box plain = { share->memory, share->index, block->ndim,
                                  block->element };
    jd_status status = jd__box_queue(share->is_packing ? &plain : block,
                                     share->is_packing ? block : &plain,
                                     share->index, share->stream);
    share->memory +=
        (size_t)jd__box_count(share->index, block->ndim) * block->element;
    return status;
}

/* Elements [begin, end) of the box that dimensions d and on make, the ones
 * before being what share->index says. */
static jd_status copy_part(struct share *share, const jd_range *index, int d,
                           int64_t begin, int64_t end)
{
    int ndim = share->block->ndim;
    int64_t count = jd__box_count(index + d, ndim - d);
    jd_status status = JD_OK;
    if (begin == end)
        return JD_OK;
    memcpy(share->index + d, index + d, (size_t)(ndim - d) * sizeof *index);
    if (end - begin == count)
        return copy_box(share);
    int64_t inner = jd__box_count(index + d + 1, ndim - d - 1);
    int64_t first = begin / inner, last = end / inner;
    int64_t head = begin % inner, tail = end % inner;
    jd_range *range = &share->index[d];
    if (head) {
        *range =
            (jd_range){ index[d].begin + first, index[d].begin + first + 1 };
        status =
            copy_part(share, index, d + 1, head, first == last ? tail : inner);
        if (first == last)
            return status;
        first++;
    }
    if (status == JD_OK && first < last) {
        *range = (jd_range){ index[d].begin + first, index[d].begin + last };
        memcpy(share->index + d + 1, index + d + 1,
               (size_t)(ndim - d - 1) * sizeof *index);
        status = copy_box(share);
    }
    if (status == JD_OK && tail) {
        *range = (jd_range){ index[d].begin + last, index[d].begin + last + 1 };
        status = copy_part(share, index, d + 1, 0, tail);
    }
    return status;
}

jd_status jd__share_pack(void *to, const struct jd_box *from,
                         const jd_range *index, int64_t begin, int64_t end,
                         struct jd_stream *stream)
{
    struct share share = {
        .block = from, .memory = to, .is_packing = true, .stream = stream
    };
    return copy_part(&share, index, 0, begin, end);
}

/* The memory is only read. */
jd_status jd__share_unpack(const struct jd_box *to, const jd_range *index,
                           int64_t begin, int64_t end, const void *from,
                           struct jd_stream *stream)
{
    struct share share = { .block = to,
                           .memory = (char *)(uintptr_t)from,
                           .stream = stream };
    return copy_part(&share, index, 0, begin, end);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * share.h - elements [begin, end) of a box, in row-major order, to and from
 * plain memory: at most a few boxes, each copied in one go.
 *
 *     jd__share_pack(memory, &block, index, begin, end, stream);
 *     jd__share_unpack(&block, index, begin, end, memory, stream);
 *
 * stream: as jd__box_queue's; NULL is allowed.
 * Returns: as jd__box_copy. Threads: any.
 */
#ifndef ARRAYS_ARRAY_SHARE_H
#define ARRAYS_ARRAY_SHARE_H

#include "arrays/array/array.h"

jd_status jd__share_pack(void *to, const struct jd_box *from,
                         const jd_range *index, int64_t begin, int64_t end,
                         struct jd_stream *stream);
jd_status jd__share_unpack(const struct jd_box *to, const jd_range *index,
                           int64_t begin, int64_t end, const void *from,
                           struct jd_stream *stream);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * strided_place.cuh - where the words of a box are, on a GPU and on the host,
 * where the unit tests run it:
 *
 *     struct strided box = strided_of(&nest);    words as wide as can be
 *     struct strided_word word = strided_place<uint32_t>(box, i);
 *     ... word i goes from box.from + word.from to box.to + word.to ...
 */
#ifndef COLLECTIVES_CUDA_STRIDED_PLACE_CUH
#define COLLECTIVES_CUDA_STRIDED_PLACE_CUH

#ifdef __CUDACC__
#define STRIDED_INLINE static __host__ __device__ __forceinline__
#else
#define STRIDED_INLINE static inline
#endif
#include "collectives/kernels/nest.h"

#include <stddef.h>
#include <stdint.h>

/* A box in words, all of which are aligned to their size on both sides. */
struct strided {
    unsigned char *to;
    const unsigned char *from;
    unsigned word;       /* bytes: 1, 2, 4, 8, 16 */
    size_t words, total; /* of a row, of all */
    int num_loops;       /* around a row, the innermost first */
    struct jd_nest_loop loops[JD_NEST_LOOPS + 1];
};

/* Bytes from the sides' begins. */
struct strided_word {
    size_t to, from;
};

static inline unsigned strided_common(size_t bits)
{
    unsigned word = 16;
    while (bits % word)
        word /= 2;
    return word;
}

static inline void strided_add(struct strided *box, struct jd_nest_loop loop,
                               size_t *bits)
{
    if (loop.count == 1)
        return;
    box->loops[box->num_loops++] = loop;
    box->total *= loop.count;
    *bits |= loop.to_step | loop.from_step;
}

static inline struct strided strided_of(const struct jd_nest *nest)
{
    const struct jd_rows *rows = &nest->rows;
    size_t bits = (size_t)rows->to | (size_t)rows->from | rows->row;
    struct strided box = {};
    box.to = (unsigned char *)rows->to;
    box.from = (const unsigned char *)rows->from;
    box.total = 1;
    strided_add(&box, { rows->count, rows->to_pitch, rows->from_pitch }, &bits);
    for (int i = 0; i < nest->num_loops; i++)
        strided_add(&box, nest->loops[i], &bits);
    box.word = strided_common(bits);
    box.words = rows->row / box.word;
    box.total *= box.words;
    return box;
}

/* Of word i < total, which Index holds. */
template <class Index>
STRIDED_INLINE struct strided_word strided_place(const struct strided &box,
                                                 Index i)
{
    Index left = i / (Index)box.words;
    size_t offset = (size_t)(i - left * (Index)box.words) * box.word;
    struct strided_word word = { offset, offset };
    for (int k = 0; k < box.num_loops; k++) {
        Index next = left / (Index)box.loops[k].count;
        size_t at = left - next * (Index)box.loops[k].count;
        word.to += at * box.loops[k].to_step;
        word.from += at * box.loops[k].from_step;
        left = next;
    }
    return word;
}

#endif

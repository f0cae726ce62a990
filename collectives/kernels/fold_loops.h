/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fold_loops.h - the plain loops that folds are made of. fold_loops.c is
 * compiled once for each kind of processor, and fold.c puts the loops
 * together, block by block.
 *
 *     loops->combine[JD_REDUCE_SUM][JD_F32](out, a, b, n);
 *
 * Vectors need no alignment, and out may be one of the ins. Each loop gives
 * the same bits in all variants: no contraction of products and sums, and
 * every NaN that is written is the quiet one without sign and payload.
 * Threads: any.
 */
#ifndef COLLECTIVES_KERNELS_FOLD_LOOPS_H
#define COLLECTIVES_KERNELS_FOLD_LOOPS_H

#include "collectives/kernels/reduce.h"
#include "jd_dtype.h"

#include <stddef.h>

#define JD_NUM_DTYPES (JD_F8E4M3FN + 1) /* the largest number */

/* out[i] = a[i] op b[i]. */
typedef void jd_fold_combine(void *out, const void *a, const void *b, size_t n);
/* out[i] = in[i] in another type. */
typedef void jd_fold_change(void *out, const void *in, size_t n);
/* out[i] = in[i] / divisor. */
typedef void jd_fold_divide(void *out, const void *in, size_t n, int divisor);

/* out[i] = the sum of ins[k][start + i], over divisor where that is not 0. */
typedef void jd_fold_many(void *out, const void *const *ins, int num_ins,
                          size_t start, size_t n, int divisor);

struct jd_convert_loops; /* convert_loops.h */

/* NULL where the pair has no meaning, or is made of other loops. */
struct jd_fold_loops {
    const char *name;
    /* Ins and out in the type; not of what is rounded: sums and products of
     * F16, BF16 and F8. */
    jd_fold_combine *combine[JD_REDUCE_ALL][JD_NUM_DTYPES];
    /* The sum of just two vectors of F16, BF16 or F8, rounded. */
    jd_fold_combine *pair_sum[JD_NUM_DTYPES];
    /* The same of any number of vectors. */
    jd_fold_many *many_sum[JD_NUM_DTYPES];
    /* b is of such a type, a and out are F32: widen and combine in one. */
    jd_fold_combine *gather[JD_NUM_DTYPES];
    jd_fold_divide *divide[JD_NUM_DTYPES];
    jd_fold_change *widen[JD_NUM_DTYPES];  /* to F32 */
    jd_fold_change *narrow[JD_NUM_DTYPES]; /* from F32 */
    /* memcpy by stores that pass the caches; the caller fences. */
    void (*stream)(void *to, const void *from, size_t bytes);
    const struct jd_convert_loops *convert;
};

extern const struct jd_fold_loops jd__fold_loops_portable;
#ifdef __x86_64__
extern const struct jd_fold_loops jd__fold_loops_avx2;
extern const struct jd_fold_loops jd__fold_loops_avx512;
#endif

/* The variant in use. */
const struct jd_fold_loops *jd__fold_loops(void);

#endif

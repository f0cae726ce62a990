/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fold.h - the arithmetic of the cpu platform: many vectors into one, element
 * by element, from the first vector to the last.
 *
 *     jd_fold_function *fold = jd__fold_find(JD_BF16, JD_REDUCE_SUM, form);
 *     fold(&(struct jd_fold){ .ins = ins, .num_ins = 4, .outs = outs,
 *                             .num_outs = 1, .count = n });
 *
 * Each kernel is written once and compiled for the processors that there are
 * (portable, AVX2, AVX-512); the choice is made once, at run time, and gives
 * the same bits as any other.
 *
 * F16, BF16 and the F8 types are added, multiplied and divided as F32, and
 * rounded once, to nearest even; pmax and pmin of them do not round. Integers
 * wrap. NaN wins in max and min, and -0.0 < +0.0. PRED: max is or, min is and;
 * and, or and xor are of integers, bit by bit, and of PRED.
 * Every NaN that is computed is the quiet one without sign and payload, so
 * that bits depend on nothing but the order of the ins; a fold of one vector
 * into its own type, other than a mean, is its copy. Threads: any.
 */
#ifndef COLLECTIVES_KERNELS_FOLD_H
#define COLLECTIVES_KERNELS_FOLD_H

#include "collectives/kernels/reduce.h"
#include "jd_dtype.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * Which side is in the type itself and which in the accumulator's: partial
 * results that go on to other hosts are wide. The two are the same type but
 * for F16, BF16 and F8, whose accumulator is F32.
 */
enum jd_fold_form {
    JD_FOLD_WHOLE,   /* ins and outs in the type */
    JD_FOLD_PARTIAL, /* ins in the type, outs wide; no division */
    JD_FOLD_FINISH,  /* ins wide, outs in the type */
    JD_FOLD_WIDE,    /* ins and outs wide; no division */
    JD_FOLD_FORMS
};

/* The type of the accumulator. */
jd_dtype jd__fold_wide(jd_dtype dtype);

struct jd_fold {
    const void *const *ins; /* num_ins > 0 vectors of count elements */
    void *const *outs;      /* the result goes to num_outs > 0 vectors */
    int num_ins;
    int num_outs;
    size_t count;
    int divisor;  /* of JD_REDUCE_MEAN, in WHOLE and FINISH: how many summands
                   * there were, > 0 */
    bool streams; /* outs are not read soon: stores that pass the caches,
                   * fenced before the return */
};

/* Vectors need no alignment; an out may be one of the ins, where both are in
 * the same type, and has nothing else in common with any. */
typedef void jd_fold_function(const struct jd_fold *fold);

/* NULL for a pair without a meaning: sums, means and products of PRED, means
 * of integers, max and min of complex numbers, and, or and xor of floating and
 * complex ones. LOCATED is of C128, as which pairs travel (located.h). */
jd_fold_function *jd__fold_find(jd_dtype dtype, enum jd_reduce op,
                                enum jd_fold_form form);

/* Of one vector: its change of type and its division, or the copy where neither
 * is asked for. The pair has a meaning. */
void jd__fold_one(jd_dtype dtype, enum jd_reduce op, enum jd_fold_form form,
                  const void *in, void *out, size_t count, int divisor);

/* Copies like memcpy, with stores that pass the caches: they are there for
 * others after the fence. */
void jd__fold_stream(void *to, const void *from, size_t bytes);
void jd__fold_fence(void);

/* For tests and benches: "portable", "avx2", "avx512"; which one is in use,
 * and the choice of another (false where this processor lacks it, or it is
 * none of these). */
const char *jd__fold_variant(void);
bool jd__fold_set_variant(const char *name);

#endif

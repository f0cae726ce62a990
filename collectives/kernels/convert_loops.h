/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * convert_loops.h - the loops of jd_convert, compiled like those of folds
 * (fold_loops.h) and chosen with them: each type to a common one and back.
 *
 *     jd__fold_loops()->convert->to_double[JD_S16](doubles, in, n);
 *
 * Vectors need no alignment; out may be in where elements have one size.
 * Every NaN that is written is the quiet one without sign and payload.
 * Threads: any.
 */
#ifndef COLLECTIVES_KERNELS_CONVERT_LOOPS_H
#define COLLECTIVES_KERNELS_CONVERT_LOOPS_H

#include "collectives/kernels/fold_loops.h"

struct jd_convert_loops {
    /* To F64, to nearest; of a complex number the real part. */
    jd_fold_change *to_double[JD_NUM_DTYPES];
    /* S64 and U64 to an F64 from which a type of less than 40 bits of mantissa
     * is rounded as from the integer. */
    jd_fold_change *to_odd_double[JD_NUM_DTYPES];
    /* From F64, rounded to nearest; to an integer towards zero, and to the
     * nearest end of the range; a complex number has no imaginary part. */
    jd_fold_change *from_double[JD_NUM_DTYPES];
    /* Integers and PRED to 64 bits, and the low bits of these. */
    jd_fold_change *to_bits[JD_NUM_DTYPES];
    jd_fold_change *from_bits[JD_NUM_DTYPES];
};

extern const struct jd_convert_loops jd__convert_loops_portable;
#ifdef __x86_64__
extern const struct jd_convert_loops jd__convert_loops_avx2;
extern const struct jd_convert_loops jd__convert_loops_avx512;
#endif

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* jd_dtype.h - the element types of collectives and arrays. */
#ifndef JD_DTYPE_H
#define JD_DTYPE_H

#include "jd_status.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One row per type: name, number (XLA's), bytes per element. PRED is one
 * byte, 0 or 1. */
#define JD_DTYPE_MAP(X)                                                        \
    X(PRED, 1, 1)                                                              \
    X(S8, 2, 1)                                                                \
    X(S16, 3, 2)                                                               \
    X(S32, 4, 4)                                                               \
    X(S64, 5, 8)                                                               \
    X(U8, 6, 1)                                                                \
    X(U16, 7, 2)                                                               \
    X(U32, 8, 4)                                                               \
    X(U64, 9, 8)                                                               \
    X(F16, 10, 2)                                                              \
    X(F32, 11, 4)                                                              \
    X(F64, 12, 8)                                                              \
    X(C64, 15, 8)                                                              \
    X(BF16, 16, 2)                                                             \
    X(C128, 18, 16)                                                            \
    X(F8E5M2, 19, 1)                                                           \
    X(F8E4M3FN, 20, 1)

/* Types that are kept, moved, saved and converted, and that no reduction takes.
 * S4 and U4 are the low four bits of a byte each. */
#define JD_STORAGE_DTYPE_MAP(X)                                                \
    X(S4, 21, 1)                                                               \
    X(U4, 22, 1)                                                               \
    X(F8E4M3B11FNUZ, 23, 1)                                                    \
    X(F8E5M2FNUZ, 24, 1)                                                       \
    X(F8E4M3FNUZ, 25, 1)                                                       \
    X(F8E4M3, 28, 1)                                                           \
    X(F8E3M4, 29, 1)                                                           \
    X(F8E8M0FNU, 33, 1)

typedef enum jd_dtype {
#define JD_DTYPE_ENUM_ROW(name, number, size) JD_##name = number,
    JD_DTYPE_MAP(JD_DTYPE_ENUM_ROW) JD_STORAGE_DTYPE_MAP(JD_DTYPE_ENUM_ROW)
#undef JD_DTYPE_ENUM_ROW
} jd_dtype;

/* Bytes per element; 0 for a number that is no type. Threads: any. */
JD_API size_t jd_dtype_size(jd_dtype dtype);

/* "F32"; for a number that is no type, "not a jd_dtype". Threads: any. */
JD_API const char *jd_dtype_name(jd_dtype dtype);

/*
 * Writes count elements of one type as elements of another:
 *
 *     jd_convert(gradient, JD_F32, message, JD_BF16, n);
 *
 * - To a floating type the nearest number, of two equally near the even one,
 *   rounded once from the exact value. What is too large is infinity, and NaN
 *   in those of F8 that have none (FN, FNUZ, FNU). NaN stays NaN, without sign
 *   or payload. FNUZ has no -0: it is 0 there.
 * - To F8E8M0FNU, which has powers of two alone, the nearest one, of two
 * equally near the greater; of 0 and of negative numbers NaN.
 * - From a floating type to an integer towards zero; what is too large or too
 *   small is the nearest end of the range, NaN is 0.
 * - From an integer to a shorter one the low bits, as a cast in C does.
 * - To PRED 1 where the number is not 0 (NaN is not), else 0.
 * - From a complex number to a real one without the imaginary part, the other
 *   way with 0 for it.
 * - From a type to itself a copy.
 *
 * The buffers need no alignment. out is in, where elements of both types have
 * the same size, or has nothing in common with it. With a count of 0 nothing
 * is looked at but the types.
 *
 * Threads: any.
 * Returns: JD_OK; JD_INVALID_ARGUMENT for a number that is no type, for NULL
 * and for any other overlap.
 */
JD_API jd_status jd_convert(const void *in, jd_dtype from, void *out,
                            jd_dtype to, size_t count);

#ifdef __cplusplus
}
#endif

#endif

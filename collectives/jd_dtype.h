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

typedef enum jd_dtype {
#define JD_DTYPE_ENUM_ROW(name, number, size) JD_##name = number,
    JD_DTYPE_MAP(JD_DTYPE_ENUM_ROW)
#undef JD_DTYPE_ENUM_ROW
} jd_dtype;

/* Bytes per element; 0 for a number that is no type. Threads: any. */
JD_API size_t jd_dtype_size(jd_dtype dtype);

/* "F32"; for a number that is no type, "not a jd_dtype". Threads: any. */
JD_API const char *jd_dtype_name(jd_dtype dtype);

#ifdef __cplusplus
}
#endif

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* identity.c - what a reduction of nothing is. */
#include "collectives/kernels/identity.h"

#include <math.h>
#include <string.h>

/* As a number, which is the nearest of the type then: of integers an infinity
 * is the end of their range. */
static double identity_value(jd_dtype dtype, enum jd_reduce op)
{
    double most = dtype == JD_F8E4M3FN ? 448 : (double)INFINITY;
    switch (op) {
    case JD_REDUCE_PROD:
        return 1;
    case JD_REDUCE_MAX:
        return dtype == JD_PRED ? 0 : -most;
    case JD_REDUCE_MIN:
        return dtype == JD_PRED ? 1 : most;
    case JD_REDUCE_AND:
        return dtype == JD_PRED ? 1 : 0;
    default:
        return 0;
    }
}

void jd__identity_fill(jd_dtype dtype, enum jd_reduce op, size_t count,
                       void *out)
{
    double value = identity_value(dtype, op);
    size_t size = jd_dtype_size(dtype);
    unsigned char element[16], *to = out;
    jd_convert(&value, JD_F64, element, dtype, 1);
    if (op == JD_REDUCE_AND && dtype != JD_PRED)
        memset(element, 0xff, size);
    for (size_t i = 0; i < count; i++)
        memcpy(to + i * size, element, size);
}

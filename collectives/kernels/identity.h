/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * identity.h - the element that changes no other: what a reduction of nothing
 * is. 0 of sum, or and xor; 1 of a product; of and all bits; of max the least
 * value, of min the greatest: an infinity where the type has one. PRED: false
 * of max, or and xor, true of min and and.
 *
 *     jd__identity_fill(JD_F32, JD_REDUCE_MAX, n, out); -inf, n times
 *
 * Threads: any.
 */
#ifndef COLLECTIVES_KERNELS_IDENTITY_H
#define COLLECTIVES_KERNELS_IDENTITY_H

#include "collectives/kernels/reduce.h"
#include "jd_dtype.h"

#include <stddef.h>

/* Of a pair that has a meaning (fold.h), but for a mean. */
void jd__identity_fill(jd_dtype dtype, enum jd_reduce op, size_t count,
                       void *out);

#endif

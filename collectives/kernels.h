/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * kernels.h - the arithmetic of the cpu platform: plain loops that the
 * compiler turns into vector instructions, one table per operation.
 *
 *     jd_kernel *add = jd__kernel_add(JD_F32);
 *     add(accumulator, in, n);
 *
 * Threads: any.
 */
#ifndef COLLECTIVES_KERNELS_H
#define COLLECTIVES_KERNELS_H

#include "jd_dtype.h"

#include <stddef.h>

/* accumulator[i] = accumulator[i] op in[i] for i < n elements. The two need
 * no alignment and do not overlap. */
typedef void jd_kernel(void *accumulator, const void *in, size_t n);

/* The sum of two vectors, or NULL for a type without one. Integers wrap. */
jd_kernel *jd__kernel_add(jd_dtype dtype);

#endif

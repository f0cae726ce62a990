/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * npy.h - the header that makes a row-major payload a file of NumPy's
 * (format 1.0): numpy.load() reads header and payload.
 *
 *     char header[JD_NPY_MAX_HEADER];
 *     size_t bytes = jd__npy_header(JD_F32, 2, shape, header);
 *
 * Types that NumPy has not got (BF16, F8) are raw bytes there: '|V2', '|V1'.
 * Threads: any.
 */
#ifndef ARRAYS_CHECKPOINT_NPY_H
#define ARRAYS_CHECKPOINT_NPY_H

#include "jd_dtype.h"

#include <stddef.h>
#include <stdint.h>

enum { JD_NPY_MAX_HEADER = 384 };

/* Writes it and gives its bytes, a multiple of 64. The same type and shape
 * (of at most 8 dimensions) give the same bytes. */
size_t jd__npy_header(jd_dtype dtype, int ndim, const int64_t *shape,
                      char *header);

#endif

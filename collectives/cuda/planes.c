/* SPDX-License-Identifier: BSD-3-Clause */
/* planes.c - boxes as the copies that CUDA has. */
#include "collectives/cuda/strided.h"

#include <limits.h>

/* CUDA's pitches are numbers of 32 bits; rows so far apart are few. */
static bool is_one_call(const struct jd_rows *rows)
{
    return rows->to_pitch <= INT_MAX && rows->from_pitch <= INT_MAX;
}

static cudaError_t queue_one(const struct jd_rows *rows, size_t i,
                             cudaStream_t stream)
{
    return cudaMemcpyAsync((char *)rows->to + i * rows->to_pitch,
                           (const char *)rows->from + i * rows->from_pitch,
                           rows->row, cudaMemcpyDefault, stream);
}

static cudaError_t queue_rows(const struct jd_rows *rows, cudaStream_t stream)
{
    cudaError_t error = cudaSuccess;
    if (rows->count > 1 && is_one_call(rows))
        return cudaMemcpy2DAsync(rows->to, rows->to_pitch, rows->from,
                                 rows->from_pitch, rows->row, rows->count,
                                 cudaMemcpyDefault, stream);
    for (size_t i = 0; i < rows->count && error == cudaSuccess; i++)
        error = queue_one(rows, i, stream);
    return error;
}

cudaError_t jd__cuda_planes(const struct jd_nest *nest, cudaStream_t stream)
{
    struct jd_nest left = *nest;
    size_t at[JD_NEST_LOOPS] = { 0 };
    cudaError_t error;
    do
        error = queue_rows(&left.rows, stream);
    while (error == cudaSuccess && jd__nest_next(&left, at));
    return error;
}

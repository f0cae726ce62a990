/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * strided.h - boxes of bytes from one place of a GPU's memory to another,
 * queued on a stream of it.
 *
 *     error = jd__cuda_strided(&nest, handle);
 *
 * strided_kernel.cu has it as a kernel, where nvcc was there when jd was built:
 * narrow rows go at the speed of wide ones, and a box is one launch, whatever
 * its dimensions. strided_host.c, linked in its place elsewhere, has it as
 * copies of planes.
 */
#ifndef COLLECTIVES_CUDA_STRIDED_H
#define COLLECTIVES_CUDA_STRIDED_H

#include "collectives/kernels/nest.h"

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Both sides are memory of the stream's device, and have nothing in common. */
cudaError_t jd__cuda_strided(const struct jd_nest *nest, cudaStream_t stream);

/* Loads the kernels on the thread's device, which else come with their first
 * launch, behind the device's work. */
cudaError_t jd__cuda_strided_load(void);

/* The same between any two sides, a plane after the other (cudaMemcpy2DAsync);
 * rows too far apart for CUDA one by one. planes.c has it. */
cudaError_t jd__cuda_planes(const struct jd_nest *nest, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fold.h - the arithmetic that NCCL lacks, queued on a stream: several vectors
 * in device memory into one, element by element, from the first to the last,
 * with the bits of the cpu platform's fold (collectives/kernels/fold.h).
 *
 * fold_kernels.cu has it as kernels, where nvcc was there when jd was built;
 * fold_host.c, linked in its place elsewhere, brings the vectors to the host in
 * pieces and folds them there, in a host function of the stream.
 */
#ifndef COLLECTIVES_CUDA_FOLD_H
#define COLLECTIVES_CUDA_FOLD_H

#include "collectives/kernels/order_keys.h"
#include "collectives/kernels/reduce.h"
#include "jd_dtype.h"

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct jd_cuda_fold {
    jd_dtype dtype;
    enum jd_reduce op;
    const void *in; /* terms vectors, stride elements apart */
    size_t stride;
    int terms;
    int divisor; /* of a mean */
    void *out;   /* may be one of the vectors */
    size_t count;
};

/* Queues it; returns what CUDA does. The pair has a meaning. */
cudaError_t jd__cuda_fold(const struct jd_cuda_fold *fold, cudaStream_t stream);

/* Queues the keys of fold.in, one vector, or the way back from them
 * (order_keys.h, which has the pairs). */
cudaError_t jd__cuda_fold_keys(const struct jd_cuda_fold *fold,
                               enum jd_order_way way, cudaStream_t stream);

/* Loads what the pairs need on the thread's device, which else comes with the
 * first of each, behind the device's work. */
cudaError_t jd__cuda_fold_load(void);

/* For sentences and jd-info: "kernels" or "host". */
const char *jd__cuda_fold_way(void);

#ifdef __cplusplus
}
#endif

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * errors.h - what CUDA and NCCL report, as a status and a sentence.
 *
 *     status = jd__cuda_check(cudaMalloc(&p, n), "jd_device_alloc",
 *                             "cudaMalloc");
 *
 * Each names the operation, the call, the error's name and text and, of NCCL,
 * what it says of the last error and how to hear more (NCCL_DEBUG=WARN).
 */
#ifndef COLLECTIVES_CUDA_ERRORS_H
#define COLLECTIVES_CUDA_ERRORS_H

#include "base/status.h"

#include <cuda_runtime_api.h>
#include <nccl.h>

/* JD_OK for cudaSuccess, and for cudaErrorCudartUnloading: at exit jd's
 * handlers may run after CUDA's. RESOURCE_EXHAUSTED where memory is short;
 * else INTERNAL. Clears CUDA's last error. */
jd_status jd__cuda_check(cudaError_t error, const char *operation,
                         const char *call);

/* JD_OK for ncclSuccess and ncclInProgress. UNAVAILABLE for a remote error
 * (a peer has gone), INVALID_ARGUMENT for invalid usage, else INTERNAL. comm
 * may be NULL. */
jd_status jd__nccl_check(ncclResult_t result, ncclComm_t comm,
                         const char *operation, const char *call);

#endif

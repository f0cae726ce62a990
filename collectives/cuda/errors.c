/* SPDX-License-Identifier: BSD-3-Clause */
/* errors.c - what CUDA and NCCL report, as a status and a sentence. */
#include "collectives/cuda/errors.h"

#include <stdbool.h>

/* Headers of CUDA before 12.8 lack it. */
#define CONTAINED ((cudaError_t)226) /* cudaErrorContained */

/* After one of these nothing works any more in this process. */
static bool is_fatal(cudaError_t error)
{
    static const cudaError_t fatal[] = {
        cudaErrorECCUncorrectable,   CONTAINED,
        cudaErrorIllegalAddress,     cudaErrorLaunchTimeout,
        cudaErrorContextIsDestroyed, cudaErrorAssert,
        cudaErrorHardwareStackError, cudaErrorIllegalInstruction,
        cudaErrorMisalignedAddress,  cudaErrorInvalidAddressSpace,
        cudaErrorInvalidPc,          cudaErrorLaunchFailure,
    };
    for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++)
        if (error == fatal[i])
            return true;
    return false;
}

static const char *remedy_of(cudaError_t error)
{
    if (is_fatal(error))
        return "; something that was queued before has failed, a kernel "
               "perhaps (compute-sanitizer finds it), and CUDA serves this "
               "process no more";
    if (error == cudaErrorMemoryAllocation)
        return "; free memory of the GPU, or ask for less";
    if (error == cudaErrorNoKernelImageForDevice)
        return "; jd was built without kernels for this GPU: name its compute "
               "capability in -Dcuda-architectures (jd-info --topology says "
               "it)";
    if (error == cudaErrorUnsupportedPtxVersion)
        return "; the driver is older than the CUDA that jd was built with, "
               "and jd has no kernels for this GPU as they are: update the "
               "driver, or name the GPU's compute capability in "
               "-Dcuda-architectures (jd-info --topology says it)";
    if (error == cudaErrorInsufficientDriver)
        return "; there is no NVIDIA driver here, or one older than the CUDA "
               "runtime that jd was built with";
    return "";
}

jd_status jd__cuda_check(cudaError_t error, const char *operation,
                         const char *call)
{
    if (error == cudaSuccess || error == cudaErrorCudartUnloading)
        return JD_OK;
    cudaGetLastError();
    return jd_fail(error == cudaErrorMemoryAllocation ? JD_RESOURCE_EXHAUSTED
                                                      : JD_INTERNAL,
                   "%s: %s failed: %s (%s)%s", operation, call,
                   cudaGetErrorName(error), cudaGetErrorString(error),
                   remedy_of(error));
}

static jd_status status_of(ncclResult_t result)
{
    if (result == ncclRemoteError)
        return JD_UNAVAILABLE;
    return result == ncclInvalidUsage ? JD_INVALID_ARGUMENT : JD_INTERNAL;
}

jd_status jd__nccl_check(ncclResult_t result, ncclComm_t comm,
                         const char *operation, const char *call)
{
    if (result == ncclSuccess || result == ncclInProgress)
        return JD_OK;
    const char *last = ncclGetLastError(comm);
    bool has_last = last && last[0];
    return jd_fail(status_of(result),
                   "%s: %s failed: %s%s%s%s; NCCL_DEBUG=WARN makes NCCL say "
                   "more",
                   operation, call, ncclGetErrorString(result),
                   has_last ? " (" : "", has_last ? last : "",
                   has_last ? ")" : "");
}

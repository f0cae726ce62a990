/* SPDX-License-Identifier: BSD-3-Clause */
/* driver.c - functions of CUDA's driver. */
#include "collectives/cuda/driver.h"

#include <cuda_runtime_api.h>
#include <stddef.h>

void jd__driver_find(const char *name, void **ret_function)
{
    enum cudaDriverEntryPointQueryResult found =
        cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
    cudaError_t error = cudaGetDriverEntryPointByVersion(
        name, ret_function, 12000, cudaEnableDefault, &found);
#else
    cudaError_t error =
        cudaGetDriverEntryPoint(name, ret_function, cudaEnableDefault, &found);
#endif
    if (error == cudaSuccess && found == cudaDriverEntryPointSuccess)
        return;
    *ret_function = NULL;
    cudaGetLastError();
}

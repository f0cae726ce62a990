/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cuda_runtime.h - the stand-in's interface has no part for nvcc's language:
 * this is cuda_runtime_api.h.
 */
#ifndef NCCL_STANDIN_CUDA_RUNTIME_H
#define NCCL_STANDIN_CUDA_RUNTIME_H

#include <cuda_runtime_api.h>

#endif

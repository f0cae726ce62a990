/* SPDX-License-Identifier: BSD-3-Clause */
/* probe.cu - what an nvcc that works can compile. */
#include <stdint.h>
#include <string.h>

__global__ void probe(float *x)
{
    x[threadIdx.x] += 1;
}

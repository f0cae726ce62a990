/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memory.h - device memory: by ncclMemAlloc (2.19 on; else cudaMalloc) from
 * 1 MiB on, out of pools below, because its granule is 2 MiB.
 * Threads: any.
 */
#ifndef COLLECTIVES_CUDA_MEMORY_H
#define COLLECTIVES_CUDA_MEMORY_H

#include "collectives/platform/platform.h"

extern const struct jd_device_memory jd__cuda_memory;

/*
 * Whether kernels of that CUDA device can use the pointer. jd's own ranges are
 * looked at first, without a call of CUDA; only then cudaPointerGetAttributes
 * (managed memory counts as device memory). NULL is.
 */
bool jd__cuda_is_device_pointer(const void *pointer, int native);

/* Where a pointer's bytes are. */
struct jd_cuda_place {
    bool is_apart; /* the host cannot touch them */
    int native;    /* then: CUDA's number of the device */
};
struct jd_cuda_place jd__cuda_locate(const void *pointer);

/* copy.c: the table's copies. */
jd_status jd__cuda_copy(void *to, const void *from, size_t bytes);
jd_status jd__cuda_copy_nest(const struct jd_nest *nest,
                             struct jd_stream *stream);

#endif

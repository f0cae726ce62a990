/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * jd_memory.h - memory of a device.
 *
 *     float *gradient;
 *     JD_CHECK(jd_device_alloc(device, n * sizeof *gradient,
 *                              (void **)&gradient));
 *     ...
 *     jd_device_free(gradient);
 *
 * Collectives take any buffer. On cpu, memory from here is memory that the
 * other processes of the host can map: collectives read and write it in place
 * instead of copying it twice. On cuda it is the GPU's: kernels and collectives
 * use it, the host reads and writes it by jd_device_copy() alone.
 */
#ifndef JD_MEMORY_H
#define JD_MEMORY_H

#include "jd_device.h"
#include "jd_status.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Gives bytes of the device's memory, zeroed, aligned to at least 64 bytes
 * (from 2 MiB on to a page of 2 MiB); 0 bytes is a NULL. device is a local
 * one of any platform.
 * Collective: no. Blocks: no. Threads: any.
 * Owns: the caller, who gives it to jd_device_free(), before or after
 *   jd_shutdown().
 * Returns: JD_OK; INVALID_ARGUMENT for a NULL, or a device of another process;
 *   RESOURCE_EXHAUSTED naming the size, what there is, and what limits it
 *   (a cgroup, the host's memory): never a signal later.
 */
JD_API jd_status jd_device_alloc(const jd_device *device, size_t bytes,
                                 void **ret_memory);

/*
 * Gives it back; NULL is allowed. Nothing that uses it is under way, nor queued
 * on a stream: unlike cudaFree(), this does not wait for the GPU.
 * Returns: JD_OK; INVALID_ARGUMENT where the pointer is not one that
 *   jd_device_alloc() gave, was given back already, or belongs to an array:
 * then nothing is done.
 */
JD_API jd_status jd_device_free(void *memory);

/*
 * Copies bytes; each side is host memory or device memory of this process,
 * and they do not overlap. Returns when the copy is done. On cuda it comes
 * after what is queued on the default stream, not after what is on a shard's:
 * jd_shard_synchronize() comes first.
 * Returns: JD_OK; INVALID_ARGUMENT for a NULL with bytes, or an overlap.
 */
JD_API jd_status jd_device_copy(void *to, const void *from, size_t bytes);

#ifdef __cplusplus
}
#endif

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * staging.h - host buffers in a collective on GPUs: copied to the device by way
 * of pinned memory before it and back after it, and then the call returns when
 * the result is there.
 *
 *     struct jd_staged staged;
 *     status = jd__cuda_stage(call, in_bytes, out_bytes, &staged);
 *     if (status == JD_OK)
 *         status = ... queue it with &staged.call ...;
 *     return jd__cuda_unstage(&staged, status);
 *
 * Where both buffers are device memory of jd's this is a look at two address
 * ranges: no copy, no call of CUDA, no allocation.
 */
#ifndef COLLECTIVES_CUDA_STAGING_H
#define COLLECTIVES_CUDA_STAGING_H

#include "collectives/platform/platform.h"

struct jd_staged {
    struct jd_collective call; /* with device pointers */
    void *host_out;            /* where the result goes; NULL: it is there */
    size_t out_bytes;
    bool is_staged; /* a host buffer is involved */
};

/*
 * in_bytes and out_bytes are what the call reads and writes. Where in is a part
 * of out or out of in (in place), so it is of the staged buffers. What the call
 * leaves alone in out is copied there first where keeps_out.
 * Returns: JD_OK; RESOURCE_EXHAUSTED; FAILED_PRECONDITION for a host pointer
 *   while a graph is captured, naming the buffer: a capture cannot wait.
 */
jd_status jd__cuda_stage(const struct jd_collective *call, size_t in_bytes,
                         size_t out_bytes, bool keeps_out,
                         struct jd_staged *ret_staged);

/* After the call: brings the result back and waits, where there was a host
 * buffer. Returns status, or the wait's. */
jd_status jd__cuda_unstage(struct jd_staged *staged, jd_status status);

struct jd_staging;
void jd__cuda_staging_destroy(struct jd_staging *staging);

#endif

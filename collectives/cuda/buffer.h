/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * buffer.h - memory of a stream that grows with what its calls need.
 *
 *     struct jd_cuda_buffer buffer = { 0 };
 *     struct jd_cuda_growth growth = { .bytes = n, ... };
 *     if (n > buffer.bytes)
 *         status = jd__cuda_buffer_grow(&buffer, &growth);
 *     ... buffer.memory ...
 *     jd__cuda_buffer_free(&buffer);
 *
 * What it has outgrown stays until it is freed itself. What is queued may use
 * the old memory, and a graph that was captured as long as it is there; and
 * cudaFree would wait for all that this GPU and its peers do: for a collective
 * of another thread, which waits for this one. Each is at least twice the one
 * before, so that all the old ones are no larger than the new.
 *
 * Threads: one at a time. During a visit of the stream's device.
 */
#ifndef COLLECTIVES_CUDA_BUFFER_H
#define COLLECTIVES_CUDA_BUFFER_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>

struct jd_cuda_buffer {
    char *memory; /* NULL before the first growth */
    size_t bytes;
    bool is_pinned;                    /* memory of the host; else the GPU's */
    struct jd_cuda_outgrown *outgrown; /* the smaller ones before it */
};

struct jd_cuda_growth {
    size_t bytes; /* more than the buffer has */
    bool is_idle; /* nothing uses the old ones: they may go */
    const char *operation;
    const char *purpose; /* "for a host buffer" */
};

/* Up to a multiple of 256 bytes, as buffers are. */
size_t jd__cuda_align(size_t bytes);

/* Has at least the bytes then, more where there are. Returns: JD_OK;
 * RESOURCE_EXHAUSTED, and the buffer is as it was, or empty where it was idle;
 * INTERNAL as CUDA reports. */
jd_status jd__cuda_buffer_grow(struct jd_cuda_buffer *buffer,
                               const struct jd_cuda_growth *growth);

/* It, and all that it has outgrown; it is empty then. */
void jd__cuda_buffer_free(struct jd_cuda_buffer *buffer);

#endif

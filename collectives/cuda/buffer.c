/* SPDX-License-Identifier: BSD-3-Clause */
/* buffer.c - memory of a stream that grows with what its calls need. */
#include "collectives/cuda/buffer.h"
#include "collectives/cuda/errors.h"

#include <stdio.h>
#include <stdlib.h>

#define ALIGNMENT ((size_t)256)
#define SMALLEST ((size_t)64 << 10)
#define DOUBLED_UP_TO ((size_t)64 << 20) /* from there as much as is needed */

struct jd_cuda_outgrown {
    struct jd_cuda_outgrown *next;
    void *memory;
};

size_t jd__cuda_align(size_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static size_t round_up(size_t bytes, size_t old)
{
    size_t rounded = old ? 2 * old : SMALLEST;
    while (rounded < bytes && rounded < DOUBLED_UP_TO)
        rounded *= 2;
    return bytes <= rounded ? rounded : jd__cuda_align(bytes);
}

static cudaError_t allocate_memory(bool is_pinned, size_t bytes,
                                   void **ret_memory)
{
    return is_pinned ? cudaMallocHost(ret_memory, bytes)
                     : cudaMalloc(ret_memory, bytes);
}

static void release_memory(bool is_pinned, void *memory)
{
    if (is_pinned)
        cudaFreeHost(memory);
    else
        cudaFree(memory);
}

/* As much as is wanted; or what is needed, and for that the old ones go. */
static cudaError_t get_memory(struct jd_cuda_buffer *buffer,
                              const struct jd_cuda_growth *growth,
                              void **ret_memory, size_t *ret_bytes)
{
    size_t needed = jd__cuda_align(growth->bytes);
    *ret_bytes = round_up(growth->bytes, buffer->bytes);
    cudaError_t error =
        allocate_memory(buffer->is_pinned, *ret_bytes, ret_memory);
    if (error == cudaErrorMemoryAllocation && needed < *ret_bytes)
        error =
            allocate_memory(buffer->is_pinned, *ret_bytes = needed, ret_memory);
    if (error == cudaErrorMemoryAllocation && growth->is_idle &&
        buffer->memory) {
        jd__cuda_buffer_free(buffer);
        error =
            allocate_memory(buffer->is_pinned, *ret_bytes = needed, ret_memory);
    }
    if (error == cudaSuccess)
        cudaGetLastError(); /* of one that failed */
    return error;
}

static jd_status fail_pinned(const struct jd_cuda_growth *growth,
                             cudaError_t error)
{
    cudaGetLastError();
    return jd_fail(JD_RESOURCE_EXHAUSTED,
                   "%s: cudaMallocHost (%zu bytes %s) failed: %s (%s); the "
                   "host has too little memory that can be pinned: free some, "
                   "or take memory of jd_device_alloc(), which needs none",
                   growth->operation, growth->bytes, growth->purpose,
                   cudaGetErrorName(error), cudaGetErrorString(error));
}

static jd_status fail_growth(const struct jd_cuda_buffer *buffer,
                             const struct jd_cuda_growth *growth,
                             cudaError_t error)
{
    char call[96];
    if (buffer->is_pinned && error == cudaErrorMemoryAllocation)
        return fail_pinned(growth, error);
    snprintf(call, sizeof call, "%s (%zu bytes %s)",
             buffer->is_pinned ? "cudaMallocHost" : "cudaMalloc", growth->bytes,
             growth->purpose);
    return jd__cuda_check(error, growth->operation, call);
}

jd_status jd__cuda_buffer_grow(struct jd_cuda_buffer *buffer,
                               const struct jd_cuda_growth *growth)
{
    void *memory;
    size_t bytes;
    struct jd_cuda_outgrown *outgrown = malloc(sizeof *outgrown);
    if (!outgrown)
        return jd__fail_no_memory(growth->operation, sizeof *outgrown);
    cudaError_t error = get_memory(buffer, growth, &memory, &bytes);
    if (error != cudaSuccess || !buffer->memory)
        free(outgrown);
    if (error != cudaSuccess)
        return fail_growth(buffer, growth, error);
    if (buffer->memory) {
        *outgrown =
            (struct jd_cuda_outgrown){ buffer->outgrown, buffer->memory };
        buffer->outgrown = outgrown;
    }
    buffer->memory = memory;
    buffer->bytes = bytes;
    return JD_OK;
}

void jd__cuda_buffer_free(struct jd_cuda_buffer *buffer)
{
    while (buffer->outgrown) {
        struct jd_cuda_outgrown *outgrown = buffer->outgrown;
        buffer->outgrown = outgrown->next;
        release_memory(buffer->is_pinned, outgrown->memory);
        free(outgrown);
    }
    if (buffer->memory)
        release_memory(buffer->is_pinned, buffer->memory);
    buffer->memory = NULL;
    buffer->bytes = 0;
}

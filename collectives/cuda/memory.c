/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memory.c - what jd_device_alloc() gives on a GPU. A block is memory that CUDA
 * or NCCL gave: one large piece, or a slab of a pool. Calls that may wait for
 * the GPU are made outside the lock.
 */
#include "collectives/cuda/memory.h"
#include "base/log.h"
#include "collectives/cuda/devices.h"
#include "collectives/cuda/errors.h"
#include "collectives/cuda/pause.h"
#include "collectives/cuda/pool.h"
#include "collectives/cuda/ranges.h"

#include <nccl.h>
#include <pthread.h>
#include <stdlib.h>

#define ALLOC "jd_device_alloc"
#define FREE "jd_device_free"

struct block {
    void *memory;
    size_t bytes; /* of a large piece: as asked for */
    bool is_nccl; /* ncclMemAlloc gave it */
    int native;
    struct jd_cuda_slab *slab; /* NULL: a large piece */
};

/* What is kept of each GPU. */
struct gpu {
    struct gpu *next;
    int native;
    struct jd_cuda_pool pool;
    cudaStream_t stream; /* zeroes what is given; of its own, so that a
                          * collective that hangs holds up nobody here */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct gpu *gpus; /* under lock, as all that hangs from it */

/* ---- CUDA's and NCCL's memory ------------------------------------------- */

#if NCCL_VERSION_CODE >= NCCL_VERSION(2, 19, 0)
/* The NCCL that is loaded may be older than the headers. */
#pragma weak ncclMemAlloc
#pragma weak ncclMemFree

static bool get_from_nccl(void **ret_memory, size_t bytes)
{
    *ret_memory = NULL;
    if (ncclMemAlloc && ncclMemAlloc(ret_memory, bytes) == ncclSuccess)
        return true;
    cudaGetLastError();
    return false;
}

static jd_status give_to_nccl(void *memory)
{
    return jd__nccl_check(ncclMemFree(memory), NULL, FREE, "ncclMemFree");
}
#else
static bool get_from_nccl(void **ret_memory, size_t bytes)
{
    (void)ret_memory;
    (void)bytes;
    return false;
}

static jd_status give_to_nccl(void *memory)
{
    (void)memory;
    return JD_OK;
}
#endif

static jd_status fail_exhausted(const jd_device *device, size_t bytes)
{
    size_t free_bytes = 0, total = 0;
    cudaGetLastError();
    cudaMemGetInfo(&free_bytes, &total);
    return jd_fail(
        JD_RESOURCE_EXHAUSTED,
        ALLOC ": %zu bytes are not to be had on device %lld (\"%s\", %s): %zu "
              "of its %zu bytes are free; give memory back, or ask for less "
              "(nvidia-smi shows whether other processes use it)",
        bytes, (long long)device->id, device->kind, device->uuid, free_bytes,
        total);
}

/* NCCL says of a failure only that CUDA had one, so CUDA is asked itself. */
static jd_status get_block(const jd_device *device, size_t asked, size_t bytes,
                           struct block *block)
{
    cudaError_t error = cudaErrorMemoryAllocation;
    block->native = jd__cuda_native(device);
    block->bytes = bytes;
    if (device->memory_bytes == 0 || bytes <= device->memory_bytes) {
        block->is_nccl = get_from_nccl(&block->memory, bytes);
        if (block->is_nccl)
            return JD_OK;
        error = cudaMalloc(&block->memory, bytes);
    }
    if (error == cudaErrorMemoryAllocation)
        return fail_exhausted(device, asked);
    return jd__cuda_check(error, ALLOC, "cudaMalloc");
}

/* Nobody is told of a failure: it is the GPU's, and the next call says it. */
static void give_block(struct block *block)
{
    struct jd_cuda_visit visit;
    jd_status status = jd__cuda_enter(block->native, FREE, &visit);
    if (status == JD_OK && block->is_nccl)
        status = give_to_nccl(block->memory);
    else if (status == JD_OK)
        status = jd__cuda_check(cudaFree(block->memory), FREE, "cudaFree");
    if (status != JD_OK)
        jd__log(JD_LOG_DEBUG, "%s", jd_error_message());
    jd__cuda_leave(&visit);
    free(block);
}

/* ---- what there is ------------------------------------------------------ */

/* Under lock; NULL without memory. */
static struct gpu *find_gpu(int native)
{
    struct gpu *gpu = gpus;
    while (gpu && gpu->native != native)
        gpu = gpu->next;
    if (gpu)
        return gpu;
    gpu = calloc(1, sizeof *gpu);
    if (!gpu)
        return NULL;
    gpu->native = native;
    gpu->next = gpus;
    return gpus = gpu;
}

static bool list_block(struct block *block, size_t bytes)
{
    uintptr_t begin = (uintptr_t)block->memory;
    return jd__cuda_ranges_add(&(struct jd_cuda_range){ .begin = begin,
                                                        .end = begin + bytes,
                                                        .native = block->native,
                                                        .owner = block });
}

/* Under lock: the block that the pointer is in, and the bytes that were asked
 * for it; NULL and 0. */
static struct block *find_block(const void *memory, size_t *ret_bytes)
{
    struct jd_cuda_range range;
    *ret_bytes = 0;
    if (!jd__cuda_ranges_find(memory, &range))
        return NULL;
    struct block *block = range.owner;
    if (block->slab)
        *ret_bytes = jd__cuda_slab_size(block->slab, memory);
    else if (block->memory == memory)
        *ret_bytes = block->bytes;
    return block;
}

/* ---- getting ------------------------------------------------------------ */

static jd_status get_large(const jd_device *device, size_t bytes,
                           void **ret_memory)
{
    struct block *block = calloc(1, sizeof *block);
    if (!block)
        return jd__fail_no_memory(ALLOC, sizeof *block);
    jd_status status = get_block(device, bytes, bytes, block);
    if (status != JD_OK) {
        free(block);
        return status;
    }
    *ret_memory = block->memory;
    pthread_mutex_lock(&lock);
    bool is_listed = list_block(block, bytes);
    pthread_mutex_unlock(&lock);
    if (is_listed)
        return JD_OK;
    give_block(block);
    return jd__fail_no_memory(ALLOC, sizeof(struct jd_cuda_range));
}

/* A slot of a slab that is there. */
static void *take_slot(int native, size_t bytes)
{
    pthread_mutex_lock(&lock);
    struct gpu *gpu = find_gpu(native);
    struct jd_cuda_slab *slab =
        gpu ? jd__cuda_pool_find(&gpu->pool, bytes) : NULL;
    void *memory = slab ? jd__cuda_slab_take(slab, bytes) : NULL;
    pthread_mutex_unlock(&lock);
    return memory;
}

/* Makes a slab of the block, for pieces of that size. Under lock. */
static bool open_block(struct block *block, size_t bytes)
{
    struct gpu *gpu = find_gpu(block->native);
    if (!gpu)
        return false;
    block->slab = jd__cuda_pool_add(&gpu->pool, block->memory, bytes);
    if (block->slab && list_block(block, JD_CUDA_SLAB))
        return true;
    if (block->slab)
        jd__cuda_pool_remove(block->slab);
    return false;
}

static jd_status get_slab(const jd_device *device, size_t bytes,
                          void **ret_memory)
{
    struct block *block = calloc(1, sizeof *block);
    if (!block)
        return jd__fail_no_memory(ALLOC, sizeof *block);
    jd_status status = get_block(device, bytes, JD_CUDA_SLAB, block);
    if (status != JD_OK) {
        free(block);
        return status;
    }
    pthread_mutex_lock(&lock);
    bool is_open = open_block(block, bytes);
    if (is_open)
        *ret_memory = jd__cuda_slab_take(block->slab, bytes);
    pthread_mutex_unlock(&lock);
    if (is_open)
        return JD_OK;
    give_block(block);
    return jd__fail_no_memory(ALLOC, sizeof(struct jd_cuda_slab));
}

static jd_status get_small(const jd_device *device, size_t bytes,
                           void **ret_memory)
{
    *ret_memory = take_slot(jd__cuda_native(device), bytes);
    return *ret_memory ? JD_OK : get_slab(device, bytes, ret_memory);
}

/* ---- zeroing ------------------------------------------------------------ */

static jd_status get_stream(int native, cudaStream_t *ret_stream)
{
    jd_status status = JD_OK;
    pthread_mutex_lock(&lock);
    struct gpu *gpu = find_gpu(native);
    if (!gpu)
        status = jd__fail_no_memory(ALLOC, sizeof *gpu);
    else if (!gpu->stream)
        status = jd__cuda_check(
            cudaStreamCreateWithFlags(&gpu->stream, cudaStreamNonBlocking),
            ALLOC, "cudaStreamCreateWithFlags");
    *ret_stream = gpu ? gpu->stream : NULL;
    pthread_mutex_unlock(&lock);
    return status;
}

static jd_status zero_memory(const jd_device *device, void *memory,
                             size_t bytes)
{
    cudaStream_t stream;
    jd_status status = get_stream(jd__cuda_native(device), &stream);
    if (status == JD_OK)
        status = jd__cuda_check(cudaMemsetAsync(memory, 0, bytes, stream),
                                ALLOC, "cudaMemsetAsync");
    struct jd_cuda_pace pace = jd__cuda_pace(jd__cuda_timeout());
    while (status == JD_OK) {
        cudaError_t error = cudaStreamQuery(stream);
        if (error != cudaErrorNotReady)
            return jd__cuda_check(error, ALLOC, "cudaMemsetAsync");
        if (!jd__cuda_pause(&pace))
            status = jd_fail(
                JD_DEADLINE_EXCEEDED,
                ALLOC ": device %lld (\"%s\", %s) has not zeroed %zu bytes "
                      "within %.3g s: a kernel on it does not end, or is "
                      "slow; the deadline is the collectives' "
                      "(JD_COLLECTIVE_TIMEOUT changes it)",
                (long long)device->id, device->kind, device->uuid, bytes,
                jd__cuda_timeout());
    }
    return status;
}

/* ---- giving back -------------------------------------------------------- */

/* Under lock: the piece is nobody's any more. An empty slab goes too, but for
 * the last of its size: a piece that comes and goes is not to cost more than
 * the look. Returns what CUDA is to get back, or NULL. */
static struct block *forget_piece(struct block *block, const void *memory)
{
    struct jd_cuda_slab *slab = block->slab;
    if (slab) {
        struct gpu *gpu = find_gpu(block->native);
        jd__cuda_slab_give(&gpu->pool, slab, memory);
        if (!jd__cuda_slab_is_empty(slab) ||
            jd__cuda_slab_is_last(&gpu->pool, slab))
            return NULL;
        jd__cuda_pool_remove(slab);
    }
    jd__cuda_ranges_remove((uintptr_t)block->memory);
    return block;
}

static bool free_memory(void *memory)
{
    size_t bytes;
    struct block *gone = NULL;
    pthread_mutex_lock(&lock);
    struct block *block = find_block(memory, &bytes);
    if (bytes)
        gone = forget_piece(block, memory);
    pthread_mutex_unlock(&lock);
    if (gone)
        give_block(gone);
    return bytes > 0;
}

/* ---- the table ---------------------------------------------------------- */

static jd_status alloc_memory(const struct jd_runtime *runtime,
                              const jd_device *device, size_t bytes,
                              void **ret_memory)
{
    struct jd_cuda_visit visit;
    (void)runtime;
    void *memory = NULL;
    jd_status status = jd__cuda_enter(jd__cuda_native(device), ALLOC, &visit);
    if (status == JD_OK)
        status = bytes < JD_CUDA_LARGE ? get_small(device, bytes, &memory)
                                       : get_large(device, bytes, &memory);
    if (status == JD_OK)
        status = zero_memory(device, memory, bytes);
    jd__cuda_leave(&visit);
    if (status == JD_OK)
        *ret_memory = memory;
    else if (memory && status != JD_DEADLINE_EXCEEDED)
        free_memory(memory); /* else the GPU may still write there */
    return status;
}

static size_t size_of(const void *memory)
{
    size_t bytes;
    pthread_mutex_lock(&lock);
    find_block(memory, &bytes);
    pthread_mutex_unlock(&lock);
    return bytes;
}

static bool is_apart(const void *memory)
{
    return jd__cuda_locate(memory).is_apart;
}

/* ---- any pointer -------------------------------------------------------- */

/* Memory that somebody else has from CUDA. A process without a GPU has none,
 * and CUDA need not start there. */
static struct cudaPointerAttributes ask_cuda(const void *pointer)
{
    struct cudaPointerAttributes attributes = {
        .type = cudaMemoryTypeUnregistered
    };
    if (!jd__cuda_select_any() ||
        cudaPointerGetAttributes(&attributes, pointer) != cudaSuccess) {
        cudaGetLastError();
        attributes.type = cudaMemoryTypeUnregistered;
    }
    return attributes;
}

struct jd_cuda_place jd__cuda_locate(const void *pointer)
{
    struct jd_cuda_range range;
    if (jd__cuda_ranges_find(pointer, &range))
        return (struct jd_cuda_place){ true, range.native };
    struct cudaPointerAttributes attributes = ask_cuda(pointer);
    return (struct jd_cuda_place){ attributes.type == cudaMemoryTypeDevice,
                                   attributes.device };
}

bool jd__cuda_is_device_pointer(const void *pointer, int native)
{
    struct jd_cuda_range range;
    if (!pointer)
        return true;
    if (jd__cuda_ranges_find(pointer, &range))
        return range.native == native;
    struct cudaPointerAttributes attributes = ask_cuda(pointer);
    return attributes.type == cudaMemoryTypeManaged ||
           (attributes.type == cudaMemoryTypeDevice &&
            attributes.device == native);
}

const struct jd_device_memory jd__cuda_memory = {
    .alloc = alloc_memory,
    .free = free_memory,
    .size = size_of,
    .is_apart = is_apart,
    .copy = jd__cuda_copy,
    .copy_nest = jd__cuda_copy_nest,
};

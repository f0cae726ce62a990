/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cudart_memory.c - device memory and pinned memory.
 *
 * New memory is full of 0xDB. What lies behind the end of a piece of device
 * memory is looked at when it is freed.
 */
#include "cudart.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define DEVICE_BYTES ((size_t)1 << 30)
#define FILLED_BYTES ((size_t)1 << 20)

enum { PAGE = 4096, FRESH = 0xDB, BEHIND = 0xA5 };

/* Guarded by lock: the bytes that are allocated of each device. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static size_t taken[STANDIN_MAX_DEVICES];

size_t standin__device_bytes(void)
{
    return DEVICE_BYTES;
}

static bool take(int device, size_t size)
{
    bool is_there;

    pthread_mutex_lock(&lock);
    is_there = size <= DEVICE_BYTES - taken[device];
    if (is_there)
        taken[device] += size;
    pthread_mutex_unlock(&lock);
    return is_there;
}

static void give_back(int device, size_t size)
{
    pthread_mutex_lock(&lock);
    taken[device] -= size;
    pthread_mutex_unlock(&lock);
}

static size_t whole_pages(size_t size)
{
    return (size + PAGE - 1) / PAGE * PAGE;
}

/* With a page behind that nothing may touch; NULL where there is no memory. */
static char *map(size_t size)
{
    size_t pages = whole_pages(size);
    char *mapped = mmap(NULL, pages + PAGE, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (mapped == MAP_FAILED)
        return NULL;
    if (mprotect(mapped + pages, PAGE, PROT_NONE) != 0)
        standin__fatal("no page behind %zu bytes", size);
    memset(mapped, FRESH, size < FILLED_BYTES ? size : FILLED_BYTES);
    memset(mapped + size, BEHIND, pages - size);
    return mapped;
}

static void check_end(const struct standin_block *block)
{
    size_t end = whole_pages(block->size);

    for (size_t i = block->size; i < end; i++) {
        if ((unsigned char)block->bytes[i] != BEHIND)
            standin__fatal("byte %zu of the %zu at %p was written", i,
                           block->size, (void *)block->start);
    }
}

static cudaError_t allocate(size_t size, void **ret)
{
    struct standin_block block = { .size = size, .device = standin__device() };

    if (!take(block.device, size))
        return cudaErrorMemoryAllocation;
    block.bytes = map(size);
    block.start = block.bytes == NULL ? NULL : standin__reserve(size);
    if (block.start == NULL) {
        if (block.bytes != NULL)
            munmap(block.bytes, whole_pages(size) + PAGE);
        give_back(block.device, size);
        return cudaErrorMemoryAllocation;
    }
    standin__block_add(&block);
    *ret = block.start;
    return cudaSuccess;
}

/* As the real one, after all work of the device and of those that can access
 * it: all. Pinned memory is all devices'. */
static void wait_devices(const char *call)
{
    standin__lock();
    for (int i = 0; i < standin__num_devices(); i++)
        standin__wait_device(i, call);
    standin__unlock();
}

/* As a real one where NCCL has mapped the devices' memory to each other. */
static void wait_for_peers(const char *call)
{
    if (standin__number("STANDIN_PEERS_WAIT", 0) != 0)
        wait_devices(call);
}

static cudaError_t malloc_device(void **ret, size_t size)
{
    if (ret == NULL)
        return cudaErrorInvalidValue;
    wait_for_peers("cudaMalloc");
    if (size > 0)
        return allocate(size, ret);
    *ret = NULL;
    return cudaSuccess;
}

/* Calls that a capture may forbid, by its mode. */
static cudaError_t enter_unsafe(const char *call)
{
    cudaError_t error = standin__enter_device(call);

    if (error != cudaSuccess)
        return error;
    standin__lock();
    error = standin__allow_unsafe();
    standin__unlock();
    return error;
}

cudaError_t cudaMalloc(void **devPtr, size_t size)
{
    cudaError_t error = enter_unsafe(__func__);

    if (error == cudaSuccess)
        error = malloc_device(devPtr, size);
    return standin__leave(error);
}

static cudaError_t free_device(void *start)
{
    struct standin_block block;

    if (!standin__block_find(start, &block) || block.start != start ||
        block.is_pinned)
        return cudaErrorInvalidValue;
    wait_devices("cudaFree");
    if (!standin__block_take(start, false, &block))
        return cudaErrorInvalidValue;
    check_end(&block);
    munmap(block.bytes, whole_pages(block.size) + PAGE);
    give_back(block.device, block.size);
    return cudaSuccess;
}

cudaError_t cudaFree(void *devPtr)
{
    cudaError_t error = enter_unsafe(__func__);

    if (error == cudaSuccess && devPtr != NULL)
        error = free_device(devPtr);
    return standin__leave(error);
}

static cudaError_t malloc_pinned(void **ret, size_t size)
{
    struct standin_block block = { .size = size,
                                   .device = standin__device(),
                                   .is_pinned = true };

    if (ret == NULL)
        return cudaErrorInvalidValue;
    *ret = NULL;
    if (size == 0)
        return cudaSuccess;
    wait_for_peers("cudaMallocHost");
    if (posix_memalign(ret, PAGE, size) != 0)
        return cudaErrorMemoryAllocation;
    block.start = *ret;
    block.bytes = *ret;
    memset(*ret, FRESH, size < FILLED_BYTES ? size : FILLED_BYTES);
    standin__block_add(&block);
    return cudaSuccess;
}

cudaError_t cudaMallocHost(void **ptr, size_t size)
{
    cudaError_t error = enter_unsafe(__func__);

    if (error == cudaSuccess)
        error = malloc_pinned(ptr, size);
    return standin__leave(error);
}

static cudaError_t register_host(void *start, size_t size, unsigned int flags)
{
    struct standin_block block = { .start = start,
                                   .bytes = start,
                                   .size = size,
                                   .device = standin__device(),
                                   .is_pinned = true };

    if (start == NULL || size == 0 ||
        flags != (cudaHostRegisterPortable | cudaHostRegisterMapped) ||
        standin__place(start, size) != STANDIN_PAGEABLE)
        return cudaErrorInvalidValue;
    standin__block_add(&block);
    return cudaSuccess;
}

cudaError_t cudaHostRegister(void *ptr, size_t size, unsigned int flags)
{
    cudaError_t error = enter_unsafe(__func__);

    if (error == cudaSuccess)
        error = register_host(ptr, size, flags);
    return standin__leave(error);
}

cudaError_t cudaHostGetDevicePointer(void **pDevice, void *pHost,
                                     unsigned int flags)
{
    cudaError_t error = standin__enter_device(__func__);

    if (error == cudaSuccess && (pDevice == NULL || flags != 0 ||
                                 standin__place(pHost, 1) != STANDIN_PINNED))
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess)
        *pDevice = pHost;
    return standin__leave(error);
}

static cudaError_t free_pinned(void *start)
{
    struct standin_block block;

    wait_devices("cudaFreeHost");
    if (!standin__block_take(start, true, &block))
        return cudaErrorInvalidValue;
    free(start);
    return cudaSuccess;
}

cudaError_t cudaFreeHost(void *ptr)
{
    cudaError_t error = enter_unsafe(__func__);

    if (error == cudaSuccess && ptr != NULL)
        error = free_pinned(ptr);
    return standin__leave(error);
}

cudaError_t cudaMemGetInfo(size_t *free, size_t *total)
{
    cudaError_t error = standin__enter_device(__func__);

    if (error == cudaSuccess && (free == NULL || total == NULL))
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess) {
        pthread_mutex_lock(&lock);
        *total = DEVICE_BYTES;
        *free = DEVICE_BYTES - taken[standin__device()];
        pthread_mutex_unlock(&lock);
    }
    return standin__leave(error);
}

static void describe(void *ptr, struct cudaPointerAttributes *attributes)
{
    struct standin_block block;

    *attributes = (struct cudaPointerAttributes){
        .type = cudaMemoryTypeUnregistered,
        .device = -2, /* no device, as CUDA writes it */
        .hostPointer = ptr,
    };
    if (!standin__block_find(ptr, &block))
        return;
    attributes->type =
        block.is_pinned ? cudaMemoryTypeHost : cudaMemoryTypeDevice;
    attributes->device = block.device;
    attributes->devicePointer = ptr;
    attributes->hostPointer = block.is_pinned ? ptr : NULL;
}

cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *attributes,
                                     const void *ptr)
{
    cudaError_t error = standin__enter_device(__func__);

    if (error == cudaSuccess && attributes == NULL)
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess)
        describe((void *)(uintptr_t)ptr, attributes);
    return standin__leave(error);
}

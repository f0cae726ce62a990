/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cudart_copy.c - copies and fills. When a call returns is what the real
 * interface says: with pageable memory the source is read before, and the
 * destination written; with host memory on both sides all is done; else it is
 * only queued. cudaMemcpy waits where host memory takes part, pageable sources
 * apart, and cudaMemset does not.
 */
#include "cudart.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

struct copy {
    void *dst;
    const void *src;
    size_t dpitch;
    size_t spitch;
    size_t width;
    size_t height;
    void *staged; /* the copy's own, of a pageable source; tight */
};

static void run_copy(void *arg)
{
    const struct copy *copy = arg;
    char *dst = standin_address(copy->dst);
    const char *src =
        copy->staged != NULL ? copy->staged : standin_address(copy->src);
    size_t spitch = copy->staged != NULL ? copy->width : copy->spitch;

    for (size_t row = 0; row < copy->height; row++)
        memmove(dst + row * copy->dpitch, src + row * spitch, copy->width);
    free(copy->staged);
}

static void stage(struct copy *copy)
{
    char *staged = standin__allocate(copy->width * copy->height);

    for (size_t row = 0; row < copy->height; row++)
        memcpy(staged + row * copy->width,
               (const char *)copy->src + row * copy->spitch, copy->width);
    copy->staged = staged;
}

static size_t extent(const struct copy *copy, size_t pitch)
{
    return (copy->height - 1) * pitch + copy->width;
}

/* Where the two are; cudaErrorInvalidValue where the kind says otherwise. */
static cudaError_t find_places(const struct copy *copy,
                               enum cudaMemcpyKind kind,
                               enum standin_place *dst, enum standin_place *src)
{
    bool is_to_device;
    bool is_from_device;

    *dst = standin__place(copy->dst, extent(copy, copy->dpitch));
    *src = standin__place(copy->src, extent(copy, copy->spitch));
    if (*dst == STANDIN_INVALID || *src == STANDIN_INVALID)
        return cudaErrorInvalidValue;
    if ((int)kind < cudaMemcpyHostToHost || (int)kind > cudaMemcpyDefault)
        return cudaErrorInvalidMemcpyDirection;
    if (kind == cudaMemcpyDefault)
        return cudaSuccess;
    is_to_device =
        kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    is_from_device =
        kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    if (is_to_device != (*dst == STANDIN_DEVICE) ||
        is_from_device != (*src == STANDIN_DEVICE))
        return cudaErrorInvalidValue;
    return cudaSuccess;
}

/* A capture cannot read or write pageable memory at each launch. */
static cudaError_t check_capture(struct CUstream_st *stream, bool is_pageable)
{
    cudaError_t error = standin__usable(stream);

    if (error != cudaSuccess || stream->capture == NULL || !is_pageable)
        return error;
    standin__invalidate(stream->capture);
    return cudaErrorStreamCaptureUnsupported;
}

/* With the lock held. waits: for the copy, whatever the places are. */
static cudaError_t submit(struct copy *copy, cudaStream_t handle,
                          enum standin_place dst, enum standin_place src,
                          bool waits)
{
    struct CUstream_st *stream = standin__stream(handle);
    struct standin_task task = { .run = run_copy, .bytes = sizeof(*copy) };
    bool is_pageable = dst == STANDIN_PAGEABLE || src == STANDIN_PAGEABLE;
    cudaError_t error;

    if (stream == NULL)
        return cudaErrorInvalidResourceHandle;
    error = check_capture(stream, is_pageable);
    if (error != cudaSuccess)
        return error;
    if (src == STANDIN_PAGEABLE && dst == STANDIN_DEVICE) {
        if (waits)
            standin__wait_idle(stream, "cudaMemcpy");
        stage(copy);
        waits = false;
    } else if (dst == STANDIN_PAGEABLE ||
               (dst != STANDIN_DEVICE && src != STANDIN_DEVICE)) {
        waits = stream->capture == NULL;
    }
    task.arg = copy;
    task = standin__task_copy(&task);
    error = standin__submit(stream, &task, NULL);
    if (error == cudaSuccess && waits)
        standin__wait_idle(stream, "a copy");
    return error;
}

static cudaError_t copy_async(struct copy *copy, enum cudaMemcpyKind kind,
                              cudaStream_t stream)
{
    enum standin_place dst;
    enum standin_place src;
    cudaError_t error;

    if (copy->width == 0 || copy->height == 0)
        return cudaSuccess;
    error = find_places(copy, kind, &dst, &src);
    if (error != cudaSuccess)
        return error;
    standin__lock();
    error = submit(copy, stream, dst, src, false);
    standin__unlock();
    return error;
}

static cudaError_t copy_sync(struct copy *copy, enum cudaMemcpyKind kind)
{
    enum standin_place dst;
    enum standin_place src;
    cudaError_t error;

    if (copy->width == 0)
        return cudaSuccess;
    error = find_places(copy, kind, &dst, &src);
    if (error != cudaSuccess)
        return error;
    standin__lock();
    error = standin__allow_unsafe();
    if (error == cudaSuccess)
        error = submit(copy, NULL, dst, src,
                       dst != STANDIN_DEVICE || src != STANDIN_DEVICE);
    standin__unlock();
    return error;
}

cudaError_t cudaMemcpy(void *dst, const void *src, size_t count,
                       enum cudaMemcpyKind kind)
{
    struct copy copy = { dst, src, count, count, count, 1, NULL };
    cudaError_t error = standin__enter_device(__func__);

    if (error == cudaSuccess)
        error = copy_sync(&copy, kind);
    return standin__leave(error);
}

cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t count,
                            enum cudaMemcpyKind kind, cudaStream_t stream)
{
    struct copy copy = { dst, src, count, count, count, 1, NULL };
    cudaError_t error = standin__enter_device(__func__);

    if (error == cudaSuccess)
        error = copy_async(&copy, kind, stream);
    return standin__leave(error);
}

/* The largest is cudaDeviceProp's memPitch, on any GPU the same. */
static bool is_pitch(size_t pitch, size_t width)
{
    return width <= pitch && pitch <= INT_MAX;
}

cudaError_t cudaMemcpy2DAsync(void *dst, size_t dpitch, const void *src,
                              size_t spitch, size_t width, size_t height,
                              enum cudaMemcpyKind kind, cudaStream_t stream)
{
    struct copy copy = { dst, src, dpitch, spitch, width, height, NULL };
    cudaError_t error = standin__enter_device(__func__);

    if (error == cudaSuccess &&
        (!is_pitch(dpitch, width) || !is_pitch(spitch, width)))
        error = cudaErrorInvalidPitchValue;
    if (error == cudaSuccess)
        error = copy_async(&copy, kind, stream);
    return standin__leave(error);
}

struct filling {
    void *dst;
    int value;
    size_t count;
};

static void run_filling(void *arg)
{
    const struct filling *filling = arg;

    memset(standin_address(filling->dst), filling->value, filling->count);
}

/* The destination is device memory, or pinned. */
static cudaError_t fill(void *dst, int value, size_t count, cudaStream_t handle)
{
    struct filling filling = { dst, value, count };
    struct standin_task task = { run_filling, &filling, sizeof(filling),
                                 false };
    enum standin_place place = standin__place(dst, count);
    struct CUstream_st *stream;
    cudaError_t error = cudaErrorInvalidResourceHandle;

    if (count == 0)
        return cudaSuccess;
    if (place != STANDIN_DEVICE && place != STANDIN_PINNED)
        return cudaErrorInvalidValue;
    standin__lock();
    stream = standin__stream(handle);
    if (stream != NULL) {
        task = standin__task_copy(&task);
        error = standin__submit(stream, &task, NULL);
    }
    standin__unlock();
    return error;
}

cudaError_t cudaMemset(void *devPtr, int value, size_t count)
{
    cudaError_t error = standin__enter_device(__func__);

    if (error == cudaSuccess)
        error = fill(devPtr, value, count, NULL);
    return standin__leave(error);
}

cudaError_t cudaMemsetAsync(void *devPtr, int value, size_t count,
                            cudaStream_t stream)
{
    cudaError_t error = standin__enter_device(__func__);

    if (error == cudaSuccess)
        error = fill(devPtr, value, count, stream);
    return standin__leave(error);
}

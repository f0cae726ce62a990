/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cudart_stream.c - the calls on streams.
 */
#include "cudart.h"

#include <stdint.h>

static cudaError_t create(cudaStream_t *ret, unsigned int flags)
{
    if (ret == NULL ||
        (flags != cudaStreamDefault && flags != cudaStreamNonBlocking))
        return cudaErrorInvalidValue;
    standin__lock();
    *ret =
        standin__stream_create(standin__device(), flags == cudaStreamDefault);
    standin__unlock();
    return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *pStream, unsigned int flags)
{
    cudaError_t error = standin__enter_device(__func__);

    if (error == cudaSuccess)
        error = create(pStream, flags);
    return standin__leave(error);
}

/* What is queued is done all the same. */
static cudaError_t destroy(cudaStream_t handle)
{
    struct CUstream_st *stream;

    if (handle == NULL || handle == cudaStreamLegacy ||
        handle == cudaStreamPerThread)
        return cudaErrorInvalidResourceHandle;
    stream = standin__stream(handle);
    if (stream == NULL || stream->is_legacy)
        return cudaErrorInvalidResourceHandle;
    if (stream->capture != NULL) {
        standin__invalidate(stream->capture);
        return cudaErrorStreamCaptureUnsupported;
    }
    standin__stream_destroy(stream);
    return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    cudaError_t error = standin__enter_device(__func__);

    if (error == cudaSuccess) {
        standin__lock();
        error = destroy(stream);
        standin__unlock();
    }
    return standin__leave(error);
}

static cudaError_t look(cudaStream_t handle, bool waits)
{
    struct CUstream_st *stream = standin__stream(handle);
    cudaError_t error;

    if (stream == NULL)
        return cudaErrorInvalidResourceHandle;
    error = standin__allow_looking(stream);
    if (error != cudaSuccess)
        return error;
    if (waits)
        standin__wait_idle(stream, "cudaStreamSynchronize");
    return standin__is_idle(stream) || waits ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaStreamQuery(cudaStream_t stream)
{
    cudaError_t error = standin__enter_device(__func__);

    if (error == cudaSuccess) {
        standin__lock();
        error = look(stream, false);
        standin__unlock();
    }
    return standin__leave(error);
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    cudaError_t error = standin__enter_device(__func__);

    if (error == cudaSuccess) {
        standin__lock();
        error = look(stream, true);
        standin__unlock();
    }
    return standin__leave(error);
}

/* Not while anything of the device is captured. */
static cudaError_t synchronize_device(int device)
{
    cudaError_t error = standin__allow_unsafe();

    for (struct CUstream_st *at = standin__streams(); at != NULL;
         at = at->next) {
        if (at->device != device || at->capture == NULL)
            continue;
        standin__invalidate(at->capture);
        error = cudaErrorStreamCaptureUnsupported;
    }
    if (error == cudaSuccess)
        standin__wait_device(device, "cudaDeviceSynchronize");
    return error;
}

cudaError_t cudaDeviceSynchronize(void)
{
    cudaError_t error = standin__enter_device(__func__);

    if (error == cudaSuccess) {
        standin__lock();
        error = synchronize_device(standin__device());
        standin__unlock();
    }
    return standin__leave(error);
}

static cudaError_t submit(cudaStream_t handle, const struct standin_task *task)
{
    struct standin_task copy = standin__task_copy(task);
    struct CUstream_st *stream;
    cudaError_t error = cudaErrorInvalidResourceHandle;

    standin__lock();
    stream = standin__stream(handle);
    if (stream != NULL)
        error = standin__submit(stream, &copy, NULL);
    standin__unlock();
    return error;
}

struct host_function {
    cudaHostFn_t call;
    void *data;
};

static void run_host_function(void *arg)
{
    const struct host_function *function = arg;

    function->call(function->data);
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t fn,
                               void *userData)
{
    struct host_function function = { fn, userData };
    struct standin_task task = { run_host_function, &function, sizeof(function),
                                 true };
    cudaError_t error = standin__enter_device(__func__);

    if (error == cudaSuccess && fn == NULL)
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess)
        error = submit(stream, &task);
    return standin__leave(error);
}

cudaError_t standin_enqueue(cudaStream_t stream, void (*run)(void *arg),
                            const void *arg, size_t bytes)
{
    struct standin_task task = { run, (void *)(uintptr_t)arg, bytes, false };
    cudaError_t error = standin__enter(__func__);

    if (error == cudaSuccess)
        error = submit(stream, &task);
    return standin__leave(error);
}

int standin_device_of(cudaStream_t stream)
{
    const struct CUstream_st *found;
    int device = standin__device();

    standin__lock();
    found = standin__stream(stream);
    if (found != NULL)
        device = found->device;
    standin__unlock();
    return device;
}

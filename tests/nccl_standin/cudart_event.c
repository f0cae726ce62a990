/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cudart_event.c - events: a place in a stream's work. Recorded in a capture
 * they are a place in that, and whoever waits for them joins it.
 */
#include "cudart.h"

#include <stdlib.h>

static struct CUevent_st *events;

static struct CUevent_st *find(cudaEvent_t handle)
{
    for (struct CUevent_st *at = events; at != NULL; at = at->next) {
        if (at == handle)
            return at;
    }
    return NULL;
}

static cudaError_t create(cudaEvent_t *ret, unsigned int flags)
{
    struct CUevent_st *event;

    if (ret == NULL ||
        (flags & ~(cudaEventBlockingSync | cudaEventDisableTiming)) != 0)
        return cudaErrorInvalidValue;
    event = standin__allocate(sizeof(*event));
    event->device = standin__device();
    standin__lock();
    event->next = events;
    events = event;
    standin__unlock();
    *ret = event;
    return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags)
{
    cudaError_t error = standin__enter_device(__func__);

    if (error == cudaSuccess)
        error = create(event, flags);
    return standin__leave(error);
}

static cudaError_t destroy(cudaEvent_t handle)
{
    struct CUevent_st **link = &events;
    struct CUevent_st *event = find(handle);

    if (event == NULL)
        return cudaErrorInvalidResourceHandle;
    while (*link != event)
        link = &(*link)->next;
    *link = event->next;
    standin__unmark(&event->marker);
    free(event);
    return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    cudaError_t error = standin__enter_device(__func__);

    if (error == cudaSuccess) {
        standin__lock();
        error = destroy(event);
        standin__unlock();
    }
    return standin__leave(error);
}

static void record_done(struct CUevent_st *event, struct CUstream_st *stream)
{
    static const struct standin_task nothing = { .run = NULL };

    standin__unmark(&event->marker);
    event->capture = NULL;
    /* Its own piece of work: after the default stream's, where that counts. */
    standin__queue(stream, &nothing, NULL);
    event->marker = standin__mark(stream);
}

static cudaError_t record(cudaEvent_t handle, cudaStream_t stream_handle)
{
    struct CUevent_st *event = find(handle);
    struct CUstream_st *stream = standin__stream(stream_handle);
    cudaError_t error;

    if (event == NULL || stream == NULL || event->device != stream->device)
        return cudaErrorInvalidResourceHandle;
    error = standin__usable(stream);
    if (error != cudaSuccess)
        return error;
    if (stream->capture == NULL) {
        record_done(event, stream);
        return cudaSuccess;
    }
    standin__unmark(&event->marker);
    event->capture = stream->capture;
    event->stream = stream;
    event->captured = stream->captured;
    return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    cudaError_t error = standin__enter_device(__func__);

    if (error == cudaSuccess) {
        standin__lock();
        error = record(event, stream);
        standin__unlock();
    }
    return standin__leave(error);
}

/* An event that was never recorded is done. */
static cudaError_t query(cudaEvent_t handle)
{
    struct CUevent_st *event = find(handle);
    cudaError_t error;

    if (event == NULL)
        return cudaErrorInvalidResourceHandle;
    if (event->capture != NULL) {
        standin__invalidate(event->capture);
        return cudaErrorCapturedEvent;
    }
    error = standin__allow_unsafe();
    if (error != cudaSuccess)
        return error;
    return standin__is_done(&event->marker) ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    cudaError_t error = standin__enter_device(__func__);

    if (error == cudaSuccess) {
        standin__lock();
        error = query(event);
        standin__unlock();
    }
    return standin__leave(error);
}

/* A capture cannot depend on what is outside it. */
static cudaError_t wait_outside(struct CUstream_st *stream,
                                const struct CUevent_st *event)
{
    static const struct standin_task nothing = { .run = NULL };

    if (stream->capture != NULL) {
        standin__invalidate(stream->capture);
        return cudaErrorStreamCaptureIsolation;
    }
    standin__queue(stream, &nothing, &event->marker);
    return cudaSuccess;
}

static cudaError_t wait_for(cudaStream_t stream_handle, cudaEvent_t handle)
{
    struct CUevent_st *event = find(handle);
    struct CUstream_st *stream = standin__stream(stream_handle);
    cudaError_t error;

    if (event == NULL || stream == NULL)
        return cudaErrorInvalidResourceHandle;
    error = standin__usable(stream);
    if (error != cudaSuccess)
        return error;
    if (event->capture != NULL)
        return standin__join(stream, event);
    if (event->marker.stream == NULL)
        return cudaSuccess;
    return wait_outside(stream, event);
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event,
                                unsigned int flags)
{
    cudaError_t error = standin__enter_device(__func__);

    if (error == cudaSuccess && flags != cudaEventWaitDefault)
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess) {
        standin__lock();
        error = wait_for(stream, event);
        standin__unlock();
    }
    return standin__leave(error);
}

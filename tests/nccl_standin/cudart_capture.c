/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cudart_capture.c - what is recorded instead of run, and which calls are not
 * allowed meanwhile. A call that is not allowed fails, and the capture with it.
 *
 * The nodes of a graph are in the order of the calls that made them, one after
 * the other: an order that the dependencies allow.
 */
#include "cudart.h"

#include <stdlib.h>

/* All that has not ended is in captures. What ended stays in ended, since
 * events may refer to it. */
struct standin_capture {
    struct standin_capture *next;
    struct CUgraph_st *graph;
    struct CUstream_st *origin;
    enum cudaStreamCaptureMode mode;
    const void *thread; /* the one that began it */
    bool is_invalidated;
};
static struct standin_capture *captures;
static struct standin_capture *ended;
static _Thread_local enum cudaStreamCaptureMode thread_mode;

static const void *this_thread(void)
{
    return &thread_mode;
}

bool standin__is_ongoing(const struct standin_capture *capture)
{
    const struct standin_capture *at = captures;

    while (at != NULL && at != capture)
        at = at->next;
    return at != NULL;
}

void standin__invalidate(struct standin_capture *capture)
{
    capture->is_invalidated = true;
}

/* Whether the capture forbids this thread calls such as cudaMalloc. */
static bool forbids(const struct standin_capture *capture)
{
    bool is_own = capture->thread == this_thread();

    if (thread_mode == cudaStreamCaptureModeRelaxed)
        return false;
    if (is_own)
        return capture->mode != cudaStreamCaptureModeRelaxed;
    return thread_mode == cudaStreamCaptureModeGlobal &&
           capture->mode == cudaStreamCaptureModeGlobal;
}

cudaError_t standin__allow_unsafe(void)
{
    cudaError_t error = cudaSuccess;

    for (struct standin_capture *at = captures; at != NULL; at = at->next) {
        if (!forbids(at))
            continue;
        standin__invalidate(at);
        error = cudaErrorStreamCaptureUnsupported;
    }
    return error;
}

/* The capture of a blocking stream, while which the default one is not used. */
static struct standin_capture *
implicit_capture(const struct CUstream_st *stream)
{
    for (struct CUstream_st *at = standin__streams();
         stream->is_legacy && at != NULL; at = at->next) {
        if (at->is_blocking && at->device == stream->device &&
            at->capture != NULL)
            return at->capture;
    }
    return NULL;
}

cudaError_t standin__usable(struct CUstream_st *stream)
{
    struct standin_capture *implicit = implicit_capture(stream);

    if (implicit != NULL) {
        standin__invalidate(implicit);
        return cudaErrorStreamCaptureImplicit;
    }
    if (stream->capture != NULL && stream->capture->is_invalidated)
        return cudaErrorStreamCaptureInvalidated;
    return cudaSuccess;
}

cudaError_t standin__allow_looking(struct CUstream_st *stream)
{
    cudaError_t error = standin__usable(stream);

    if (error != cudaSuccess)
        return error;
    if (stream->capture == NULL)
        return standin__allow_unsafe();
    standin__invalidate(stream->capture);
    return cudaErrorStreamCaptureUnsupported;
}

void standin__record(struct CUstream_st *stream,
                     const struct standin_task *task)
{
    standin__graph_add(stream->capture->graph, task);
    stream->captured++;
    stream->is_joined = false;
}

cudaError_t standin__join(struct CUstream_st *stream, struct CUevent_st *event)
{
    struct standin_capture *capture = event->capture;

    if (!standin__is_ongoing(capture))
        return cudaErrorCapturedEvent;
    if (capture->is_invalidated)
        return cudaErrorStreamCaptureInvalidated;
    if (stream->is_legacy ||
        (stream->capture != NULL && stream->capture != capture)) {
        standin__invalidate(capture);
        return stream->is_legacy ? cudaErrorStreamCaptureImplicit
                                 : cudaErrorStreamCaptureMerge;
    }
    if (stream->capture == NULL) {
        stream->capture = capture;
        stream->captured = 0;
        stream->is_joined = false;
    }
    if (event->stream != stream && event->stream->capture == capture &&
        event->stream->captured == event->captured)
        event->stream->is_joined = true;
    return cudaSuccess;
}

static cudaError_t begin(cudaStream_t handle, enum cudaStreamCaptureMode mode)
{
    struct CUstream_st *stream = standin__stream(handle);
    struct standin_capture *capture;

    if (stream == NULL)
        return cudaErrorInvalidResourceHandle;
    if ((int)mode < cudaStreamCaptureModeGlobal ||
        (int)mode > cudaStreamCaptureModeRelaxed)
        return cudaErrorInvalidValue;
    if (stream->is_legacy)
        return cudaErrorStreamCaptureUnsupported;
    if (stream->capture != NULL)
        return cudaErrorIllegalState;
    capture = standin__allocate(sizeof(*capture));
    capture->graph = standin__graph_create();
    capture->origin = stream;
    capture->mode = mode;
    capture->thread = this_thread();
    capture->next = captures;
    captures = capture;
    stream->capture = capture;
    stream->captured = 0;
    return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t stream,
                                   enum cudaStreamCaptureMode mode)
{
    cudaError_t error = standin__enter_device(__func__);

    if (error == cudaSuccess) {
        standin__lock();
        error = begin(stream, mode);
        standin__unlock();
    }
    return standin__leave(error);
}

/* No stream records for it any more. */
static bool release_streams(const struct standin_capture *capture)
{
    bool is_joined = true;

    for (struct CUstream_st *at = standin__streams(); at != NULL;
         at = at->next) {
        if (at->capture != capture)
            continue;
        if (at != capture->origin && !at->is_joined)
            is_joined = false;
        at->capture = NULL;
    }
    return is_joined;
}

static cudaError_t finish(struct standin_capture *capture, cudaGraph_t *ret)
{
    struct standin_capture **link = &captures;
    bool is_joined = release_streams(capture);
    bool is_good = is_joined && !capture->is_invalidated;

    while (*link != capture)
        link = &(*link)->next;
    *link = capture->next;
    capture->next = ended;
    ended = capture;
    *ret = is_good ? capture->graph : NULL;
    if (!is_good)
        standin__graph_destroy(capture->graph);
    capture->graph = NULL;
    if (capture->is_invalidated)
        return cudaErrorStreamCaptureInvalidated;
    return is_joined ? cudaSuccess : cudaErrorStreamCaptureUnjoined;
}

static cudaError_t end(cudaStream_t handle, cudaGraph_t *ret)
{
    struct CUstream_st *stream = standin__stream(handle);

    if (stream == NULL)
        return cudaErrorInvalidResourceHandle;
    if (ret == NULL)
        return cudaErrorInvalidValue;
    *ret = NULL;
    if (stream->capture == NULL)
        return cudaErrorIllegalState;
    if (stream->capture->origin != stream)
        return cudaErrorStreamCaptureUnmatched;
    if (stream->capture->mode != cudaStreamCaptureModeRelaxed &&
        stream->capture->thread != this_thread())
        return cudaErrorStreamCaptureWrongThread;
    return finish(stream->capture, ret);
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *pGraph)
{
    cudaError_t error = standin__enter_device(__func__);

    if (error == cudaSuccess) {
        standin__lock();
        error = end(stream, pGraph);
        standin__unlock();
    }
    return standin__leave(error);
}

static cudaError_t look(cudaStream_t handle, enum cudaStreamCaptureStatus *ret)
{
    struct CUstream_st *stream = standin__stream(handle);

    if (stream == NULL)
        return cudaErrorInvalidResourceHandle;
    if (ret == NULL)
        return cudaErrorInvalidValue;
    *ret = cudaStreamCaptureStatusNone;
    if (implicit_capture(stream) != NULL)
        return cudaErrorStreamCaptureImplicit;
    if (stream->capture != NULL)
        *ret = stream->capture->is_invalidated
                   ? cudaStreamCaptureStatusInvalidated
                   : cudaStreamCaptureStatusActive;
    return cudaSuccess;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t stream,
                                  enum cudaStreamCaptureStatus *pCaptureStatus)
{
    cudaError_t error = standin__enter_device(__func__);

    if (error == cudaSuccess) {
        standin__lock();
        error = look(stream, pCaptureStatus);
        standin__unlock();
    }
    return standin__leave(error);
}

cudaError_t
cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode)
{
    cudaError_t error = standin__enter_device(__func__);
    enum cudaStreamCaptureMode before = thread_mode;

    if (error == cudaSuccess &&
        (mode == NULL || (int)*mode < cudaStreamCaptureModeGlobal ||
         (int)*mode > cudaStreamCaptureModeRelaxed))
        error = cudaErrorInvalidValue;
    if (error == cudaSuccess) {
        thread_mode = *mode;
        *mode = before;
    }
    return standin__leave(error);
}

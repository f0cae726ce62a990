/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stream.c - a shard's stream, what is known of the work on it, and its
 * scratch memory. It is one that the default stream does not wait for: a
 * collective that hangs holds up nothing else of the program.
 */
#include "collectives/cuda/stream.h"
#include "base/log.h"
#include "collectives/cuda/comm.h"
#include "collectives/cuda/devices.h"
#include "collectives/cuda/errors.h"
#include "collectives/cuda/staging.h"
#include "runtime/recorder/recorder.h"

#include <stdlib.h>

#define CREATE "jd_mesh_create"
#define DESTROY "jd_mesh_destroy"
#define USE "jd_shard_use_stream"

enum { FIRST_CAPACITY = 8 };

/* ---- all of the process ------------------------------------------------- */

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct jd_stream *streams; /* under list_lock, as their links */

static void list_stream(struct jd_stream *stream)
{
    pthread_mutex_lock(&list_lock);
    stream->next = streams;
    stream->link = &streams;
    if (streams)
        streams->link = &stream->next;
    streams = stream;
    pthread_mutex_unlock(&list_lock);
}

static void unlist_stream(struct jd_stream *stream)
{
    pthread_mutex_lock(&list_lock);
    *stream->link = stream->next;
    if (stream->next)
        stream->next->link = stream->link;
    pthread_mutex_unlock(&list_lock);
}

/* ---- works -------------------------------------------------------------- */

/* Under the stream's lock: the communicator's, or a new one; NULL without
 * memory. */
static struct jd_cuda_work *find_work(struct jd_stream *stream,
                                      const struct jd_comm *comm)
{
    for (int i = 0; i < stream->num_works; i++)
        if (stream->works[i].comm == comm)
            return &stream->works[i];
    if (stream->num_works == stream->capacity) {
        int capacity = stream->capacity ? 2 * stream->capacity : FIRST_CAPACITY;
        struct jd_cuda_work *works =
            realloc(stream->works, (size_t)capacity * sizeof *works);
        if (!works)
            return NULL;
        stream->works = works;
        stream->capacity = capacity;
    }
    stream->works[stream->num_works] = (struct jd_cuda_work){ 0 };
    return &stream->works[stream->num_works++];
}

jd_status jd__cuda_stream_note(struct jd_stream *stream, struct jd_comm *comm,
                               const struct jd_collective *call,
                               bool is_captured)
{
    pthread_mutex_lock(&stream->lock);
    struct jd_cuda_work *work = find_work(stream, comm);
    if (work)
        *work = (struct jd_cuda_work){
            .comm = comm,
            .activity = call->activity,
            .detail = comm->detail,
            .is_captured = is_captured || work->is_captured,
        };
    pthread_mutex_unlock(&stream->lock);
    if (work)
        return JD_OK;
    return jd__fail_no_memory(jd__signature_activity_name(call->activity),
                              sizeof *work);
}

static void forget_in(struct jd_stream *stream, const struct jd_comm *comm)
{
    pthread_mutex_lock(&stream->lock);
    for (int i = 0; i < stream->num_works; i++)
        if (stream->works[i].comm == comm)
            stream->works[i--] = stream->works[--stream->num_works];
    pthread_mutex_unlock(&stream->lock);
}

void jd__cuda_streams_forget(const struct jd_comm *comm)
{
    pthread_mutex_lock(&list_lock);
    for (struct jd_stream *stream = streams; stream; stream = stream->next)
        forget_in(stream, comm);
    pthread_mutex_unlock(&list_lock);
}

/* ---- capture ------------------------------------------------------------ */

static bool is_capturing(cudaStream_t handle)
{
    enum cudaStreamCaptureStatus status;
    if (cudaStreamIsCapturing(handle, &status) == cudaSuccess)
        return status != cudaStreamCaptureStatusNone;
    cudaGetLastError(); /* the default stream, while another is captured */
    return false;
}

bool jd__cuda_is_capturing(const struct jd_stream *stream)
{
    return is_capturing(stream->handle);
}

/* ---- scratch ------------------------------------------------------------ */

static jd_status fail_captured(const struct jd_collective *call, size_t bytes)
{
    return jd_fail(JD_FAILED_PRECONDITION,
                   "%s%s: the call needs %zu bytes of scratch memory on the "
                   "GPU, and none can be had while a CUDA graph is captured; "
                   "make the call once, with this count and type, before the "
                   "capture",
                   jd__signature_activity_name(call->activity),
                   call->detail ? call->detail : "", bytes);
}

static jd_status grow_scratch(struct jd_stream *stream, size_t bytes,
                              const struct jd_collective *call)
{
    struct jd_cuda_growth growth = {
        .bytes = bytes,
        .operation = jd__signature_activity_name(call->activity),
        .purpose = "of scratch memory",
    };
    struct jd_cuda_visit visit;
    jd_status status = jd__cuda_enter(stream->native, growth.operation, &visit);
    if (status == JD_OK)
        status = jd__cuda_buffer_grow(&stream->scratch, &growth);
    jd__cuda_leave(&visit);
    return status;
}

jd_status jd__cuda_scratch(struct jd_stream *stream, size_t bytes,
                           const struct jd_collective *call, void **ret_memory)
{
    jd_status status = JD_OK;
    bool is_captured = jd__cuda_is_capturing(stream);
    if (bytes > stream->scratch.bytes)
        status = is_captured ? fail_captured(call, bytes)
                             : grow_scratch(stream, bytes, call);
    if (status != JD_OK)
        return status;
    *ret_memory = stream->scratch.memory;
    return JD_OK;
}

/* ---- coming and going --------------------------------------------------- */

/* With the least scratch: what the first transfers need must be there, as a
 * member to which they come may wait for this one meanwhile (local_meet.h). */
static jd_status make_handle(struct jd_stream *stream)
{
    static const struct jd_cuda_growth least = {
        .bytes = 1, .operation = CREATE, .purpose = "of scratch memory"
    };
    struct jd_cuda_visit visit;
    jd_status status = jd__cuda_enter(stream->native, CREATE, &visit);
    if (status == JD_OK)
        status = jd__cuda_check(
            cudaStreamCreateWithFlags(&stream->own, cudaStreamNonBlocking),
            CREATE, "cudaStreamCreateWithFlags");
    if (status == JD_OK) {
        status = jd__cuda_buffer_grow(&stream->scratch, &least);
        if (status == JD_OK)
            jd__lane_open(&stream->lane);
        else
            cudaStreamDestroy(stream->own);
    }
    jd__cuda_leave(&visit);
    return status;
}

static jd_status create_stream(const struct jd_runtime *runtime,
                               const jd_device *device,
                               struct jd_stream **ret_stream)
{
    struct jd_stream *stream = calloc(1, sizeof *stream);
    if (!stream)
        return jd__fail_no_memory(CREATE, sizeof *stream);
    stream->runtime = runtime;
    stream->device = device;
    stream->native = jd__cuda_native(device);
    jd_status status = make_handle(stream);
    if (status != JD_OK) {
        free(stream);
        return status;
    }
    stream->handle = stream->own;
    pthread_mutex_init(&stream->lock, NULL);
    list_stream(stream);
    jd__lane_watch_add(&stream->watch, &stream->lane, jd__cuda_stream_look,
                       stream);
    *ret_stream = stream;
    return JD_OK;
}

static void free_memory(struct jd_stream *stream)
{
    struct jd_cuda_visit visit;
    if (jd__cuda_enter(stream->native, DESTROY, &visit) != JD_OK)
        return;
    jd__cuda_staging_destroy(stream->staging);
    jd__backlog_free(&stream->backlog);
    jd__lane_close(&stream->lane);
    jd__cuda_buffer_free(&stream->scratch);
    cudaStreamDestroy(stream->own);
    cudaGetLastError();
    jd__cuda_leave(&visit);
}

/* What is queued may still use its memory, so all of it stays, and stays
 * listed; its mesh, its communicators and the world go. */
static void leave_behind(struct jd_stream *stream)
{
    jd__log(JD_LOG_WARNING, "%s; the stream and its memory stay",
            jd_error_message());
    if (stream->lane.number) /* nobody looks any more */
        jd__recorder_set_lane(stream->lane.number, JD_RING_LANE_UNKNOWN);
    pthread_mutex_lock(&stream->lock);
    stream->num_works = 0;
    stream->runtime = NULL;
    pthread_mutex_unlock(&stream->lock);
}

static void destroy_stream(struct jd_stream *stream,
                           const struct jd_runtime *runtime)
{
    if (!stream)
        return;
    stream->runtime = runtime;
    jd_status status = jd__cuda_stream_wait(stream, DESTROY, NULL);
    if (status != JD_OK && jd__cuda_stream_ends(stream))
        status = JD_OK;
    jd__lane_watch_remove(&stream->watch);
    if (status != JD_OK) {
        leave_behind(stream);
        return;
    }
    unlist_stream(stream);
    free_memory(stream);
    pthread_mutex_destroy(&stream->lock);
    free(stream->works);
    free(stream);
}

static void *get_native(const struct jd_stream *stream)
{
    return stream->handle;
}

/* ---- another in its place ----------------------------------------------- */

/* A stream of another device takes no event of this one's. */
static jd_status record_there(const struct jd_stream *stream,
                              cudaStream_t handle, cudaEvent_t event)
{
    cudaError_t error = cudaEventRecord(event, handle);
    if (error != cudaErrorInvalidResourceHandle)
        return jd__cuda_check(error, USE, "cudaEventRecord");
    cudaGetLastError();
    return jd_fail(JD_INVALID_ARGUMENT,
                   USE ": the stream %p is none of GPU %d (device %lld, "
                       "\"%s\"), which the shard's device is; make it after "
                       "cudaSetDevice(%d)",
                   (void *)handle, stream->native,
                   (long long)stream->device->id, stream->device->kind,
                   stream->native);
}

/* The new one waits for what is queued on the one before. */
static jd_status order_behind(const struct jd_stream *stream,
                              cudaStream_t handle, cudaEvent_t event)
{
    jd_status status = jd__cuda_check(cudaEventRecord(event, stream->handle),
                                      USE, "cudaEventRecord");
    return status == JD_OK
               ? jd__cuda_check(cudaStreamWaitEvent(handle, event, 0), USE,
                                "cudaStreamWaitEvent")
               : status;
}

/* To be asked of no stream that is captured: that would end the capture. */
static bool is_done(const struct jd_stream *stream)
{
    bool is = cudaStreamQuery(stream->handle) == cudaSuccess;
    cudaGetLastError();
    return is;
}

static jd_status fail_half_captured(const char *which, const char *remedy)
{
    return jd_fail(JD_FAILED_PRECONDITION,
                   USE ": a CUDA graph is being captured from the %s, and the "
                       "other stream is not part of it; %s",
                   which, remedy);
}

/* Streams of which one is captured cannot wait for each other. */
static jd_status follow_stream(const struct jd_stream *stream,
                               cudaStream_t handle, cudaEvent_t event)
{
    bool is_old = is_capturing(stream->handle), is_new = is_capturing(handle);
    if (is_old && !is_new)
        return fail_half_captured("shard's stream", "end the capture first");
    if (is_old)
        return order_behind(stream, handle, event);
    if (is_new)
        return is_done(stream)
                   ? JD_OK
                   : fail_half_captured("new stream",
                                        "work is queued on the shard's stream: "
                                        "call jd_shard_synchronize() before "
                                        "the capture");
    jd_status status = record_there(stream, handle, event);
    return status != JD_OK || is_done(stream)
               ? status
               : order_behind(stream, handle, event);
}

static jd_status take_stream(struct jd_stream *stream, cudaStream_t handle)
{
    cudaEvent_t event;
    jd_status status =
        jd__cuda_check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming),
                       USE, "cudaEventCreateWithFlags");
    if (status != JD_OK)
        return status;
    status = follow_stream(stream, handle, event);
    cudaEventDestroy(event);
    if (status == JD_OK)
        stream->handle = handle;
    return status;
}

/* NCCL queues on a thread of its own. */
static jd_status fail_per_thread(void)
{
    return jd_fail(JD_INVALID_ARGUMENT,
                   USE ": cudaStreamPerThread is another stream on each thread "
                       "that NCCL uses; take one of "
                       "cudaStreamCreateWithFlags()");
}

static jd_status use_native(struct jd_stream *stream, void *native)
{
    cudaStream_t handle = native ? native : stream->own;
    struct jd_cuda_visit visit;
    if (handle == stream->handle)
        return JD_OK;
    if (handle == cudaStreamPerThread)
        return fail_per_thread();
    jd_status status = jd__cuda_enter(stream->native, USE, &visit);
    if (status == JD_OK)
        status = take_stream(stream, handle);
    jd__cuda_leave(&visit);
    return status;
}

static jd_status synchronize_stream(struct jd_stream *stream,
                                    const char *operation)
{
    return jd__cuda_stream_wait(stream, operation, NULL);
}

const struct jd_stream_table jd__cuda_streams = {
    .create = create_stream,
    .destroy = destroy_stream,
    .native = get_native,
    .use = use_native,
    .synchronize = synchronize_stream,
    .is_idle = jd__cuda_stream_is_idle,
};

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stream_wait.c - waits for a stream by polling. A sentence names the last
 * collective of each communicator there, of their members those that have not
 * queued as many, and the call that the GPU is in, where it tells (lane.h).
 */
#include "collectives/cuda/comm.h"
#include "collectives/cuda/devices.h"
#include "collectives/cuda/errors.h"
#include "collectives/cuda/host.h"
#include "collectives/cuda/pause.h"
#include "collectives/cuda/stream.h"
#include "runtime/recorder/recorder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAUSES_PER_LOOK = 64 }; /* reading the clock costs as much as a query */

#define ABORT_SECONDS                                                          \
    2.0 /* for kernels to see that they are aborted: some ms */

/* One wait. */
struct watch {
    struct jd_stream *stream;
    cudaEvent_t event; /* NULL: all that is queued there */
    const char *operation;
    const char *detail; /* as given; NULL */
    struct jd_wait wait;
    struct jd_wait_state state;
    struct jd_cuda_pace pace;
    char text[512]; /* the wait's detail */
    int *processes; /* of the other members, some perhaps twice */
    int num_processes;
    uint64_t word; /* the lane's; 0: it is read when it is told */
    struct jd_wait_queue *queues; /* of each communicator; NULL: unknown */
    double failed_since; /* another member was seen to have failed; or 0 */
};

/* ---- what is waited for ------------------------------------------------- */

static const char *name_of(const struct jd_cuda_work *work)
{
    return jd__signature_activity_name(work->activity);
}

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

/* " of jd_psum over axis "data", jd_barrier": of an operation that is a
 * collective itself, what it was called with and what came before. */
static void describe_works(struct watch *watch)
{
    const struct jd_stream *stream = watch->stream;
    size_t size = sizeof watch->text, length;
    const char *glue = watch->detail ? ", after " : " of ";
    length = (size_t)snprintf(watch->text, size, "%s", or_empty(watch->detail));
    for (int i = 0; i < stream->num_works && length < size; i++) {
        const struct jd_cuda_work *work = &stream->works[i];
        bool is_this = watch->detail && work->detail &&
                       strcmp(work->detail, watch->detail) == 0 &&
                       strcmp(name_of(work), watch->operation) == 0;
        if (is_this)
            continue;
        length +=
            (size_t)snprintf(watch->text + length, size - length, "%s%s%s",
                             glue, name_of(work), or_empty(work->detail));
        glue = ", ";
    }
}

static int count_members(const struct jd_stream *stream)
{
    int count = 0;
    for (int i = 0; i < stream->num_works; i++)
        count += stream->works[i].comm->size;
    return count;
}

static void list_members(struct watch *watch, const struct jd_comm *comm)
{
    for (int j = 0; j < comm->size; j++)
        if (comm->processes[j] != watch->wait.self)
            watch->processes[watch->num_processes++] = comm->processes[j];
}

static void list_processes(struct watch *watch)
{
    const struct jd_stream *stream = watch->stream;
    for (int i = 0; i < stream->num_works; i++) {
        const struct jd_comm *comm = stream->works[i].comm;
        int before = watch->num_processes;
        list_members(watch, comm);
        if (watch->queues)
            watch->queues[i] = (struct jd_wait_queue){
                .comm = comm->recorded,
                .member = comm->index,
                .processes = watch->processes + before,
                .count = watch->num_processes - before,
            };
    }
}

/* A graph launches calls that were counted when they were captured. */
static bool has_captured(const struct jd_stream *stream)
{
    for (int i = 0; i < stream->num_works; i++)
        if (stream->works[i].is_captured)
            return true;
    return false;
}

/* A wait for a mark is not for all that is queued. */
static void allocate_queues(struct watch *watch)
{
    const struct jd_stream *stream = watch->stream;
    if (stream->num_works > 0 && !watch->event && !has_captured(stream))
        watch->queues =
            calloc((size_t)stream->num_works, sizeof *watch->queues);
}

static char *describe_gpu(void *arg)
{
    const struct watch *watch = arg;
    uint64_t word =
        watch->word ? watch->word : jd__lane_read(&watch->stream->lane);
    return jd__recorder_own_call(jd__ring_lane_call(word));
}

/* The notice and the deadline are jd__wait_look()'s where there are others to
 * name, else this file's. */
static void begin_wait(struct watch *watch)
{
    struct jd_stream *stream = watch->stream;
    double timeout = jd__cuda_timeout();
    pthread_mutex_lock(&stream->lock);
    describe_works(watch);
    if (stream->runtime) {
        watch->wait = jd__runtime_wait(stream->runtime, watch->operation);
        timeout = watch->wait.timeout;
        watch->processes =
            malloc(((size_t)count_members(stream) + 1) * sizeof(int));
        if (watch->processes) {
            allocate_queues(watch);
            list_processes(watch);
        }
        watch->wait.queues = watch->queues;
        watch->wait.num_queues = watch->queues ? stream->num_works : 0;
    }
    pthread_mutex_unlock(&stream->lock);
    watch->wait.operation = watch->operation;
    watch->wait.detail = watch->text;
    watch->wait.describe_gpu = describe_gpu;
    watch->wait.gpu = watch;
    watch->wait.processes = watch->processes;
    if (stream->runtime)
        watch->state = jd__wait_start(&watch->wait);
    watch->pace = jd__cuda_pace(watch->num_processes ? -1 : timeout);
    watch->wait.timeout = timeout;
}

static int find_missing(void *arg, int *processes)
{
    const struct watch *watch = arg;
    memcpy(processes, watch->processes,
           (size_t)watch->num_processes * sizeof(int));
    return watch->num_processes;
}

/* ---- looks -------------------------------------------------------------- */

/* What NCCL says of those that have work here; of one that is aborted, where
 * nothing else is asked for. */
static jd_status poll_comms(struct jd_stream *stream, const char *operation,
                            bool only_aborted)
{
    jd_status status = JD_OK;
    pthread_mutex_lock(&stream->lock);
    for (int i = 0; i < stream->num_works && status == JD_OK; i++) {
        struct jd_comm *comm = stream->works[i].comm;
        if (!only_aborted || atomic_load(comm->is_aborted))
            status = jd__cuda_comm_poll(comm, operation);
    }
    pthread_mutex_unlock(&stream->lock);
    return status;
}

/* Others' failures that NCCL does not tell of. */
static jd_status heed_others(struct watch *watch)
{
    struct jd_stream *stream = watch->stream;
    jd_status status = JD_OK;
    pthread_mutex_lock(&stream->lock);
    for (int i = 0; i < stream->num_works && status == JD_OK; i++)
        status = jd__cuda_comm_heed(stream->works[i].comm, watch->operation,
                                    &watch->failed_since);
    pthread_mutex_unlock(&stream->lock);
    return status;
}

static jd_status look_at_stream(struct watch *watch)
{
    const struct jd_runtime *runtime = watch->stream->runtime;
    jd_status status = poll_comms(watch->stream, watch->operation, false);
    if (status != JD_OK || !runtime)
        return status;
    jd__host_make_progress(runtime);
    if (watch->pace.sleeps == 0 && watch->pace.pauses % PAUSES_PER_LOOK != 0)
        return JD_OK;
    status = watch->num_processes
                 ? jd__wait_look(&watch->wait, &watch->state, find_missing,
                                 watch, watch->num_processes)
                 : jd__wait_check(&watch->wait);
    return status == JD_OK ? heed_others(watch) : status;
}

/* No other process is waited for. */
static jd_status fail_alone(const struct watch *watch)
{
    const struct jd_stream *stream = watch->stream;
    return jd_fail(
        JD_DEADLINE_EXCEEDED,
        "%s%s: what is queued on the stream of device %lld (GPU %d, \"%s\") "
        "is not done within %.3g s: %s (JD_COLLECTIVE_TIMEOUT changes the "
        "deadline)",
        watch->operation, watch->text, (long long)stream->device->id,
        stream->native, stream->device->kind, watch->wait.timeout,
        stream->num_works
            ? "another device of this process has not made the call, or a "
              "kernel of the program does not end"
            : "a kernel of the program does not end, or is slow");
}

static jd_status wait_one_turn(struct watch *watch)
{
    if (jd__cuda_pause_is_short(&watch->pace)) {
        jd__cuda_pause(&watch->pace);
        return JD_OK;
    }
    if (!watch->wait.operation)
        begin_wait(watch);
    jd_status status = look_at_stream(watch);
    if (status == JD_OK && !jd__cuda_pause(&watch->pace))
        status = fail_alone(watch);
    return status;
}

static jd_status await_stream(struct watch *watch)
{
    jd_status status = JD_OK;
    while (status == JD_OK) {
        cudaError_t error = watch->event
                                ? cudaEventQuery(watch->event)
                                : cudaStreamQuery(watch->stream->handle);
        if (error != cudaErrorNotReady)
            return jd__cuda_check(error, watch->operation,
                                  watch->event ? "cudaEventQuery"
                                               : "cudaStreamQuery");
        status = wait_one_turn(watch);
    }
    return status;
}

/* ---- the end ------------------------------------------------------------ */

static void forget_done(struct jd_stream *stream)
{
    int kept = 0;
    pthread_mutex_lock(&stream->lock);
    for (int i = 0; i < stream->num_works; i++)
        if (stream->works[i].is_captured)
            stream->works[kept++] = stream->works[i];
    stream->num_works = kept;
    pthread_mutex_unlock(&stream->lock);
}

/* Their kernels would spin for ever. */
static void abort_comms(struct jd_stream *stream)
{
    pthread_mutex_lock(&stream->lock);
    for (int i = 0; i < stream->num_works; i++)
        jd__cuda_comm_abort(stream->works[i].comm);
    pthread_mutex_unlock(&stream->lock);
}

static jd_status fail_captured(const char *operation)
{
    return jd_fail(JD_FAILED_PRECONDITION,
                   "%s: a CUDA graph is being captured from the shard's "
                   "stream, and what is captured runs later; wait after "
                   "cudaStreamEndCapture() and cudaGraphLaunch()",
                   operation);
}

/* Work of a communicator that was aborted ends too, without its result. */
static jd_status wait_inside(struct watch *watch)
{
    atomic_fetch_add(&watch->stream->waits, 1);
    jd_status status = await_stream(watch);
    jd__wait_end(&watch->state);
    atomic_fetch_sub(&watch->stream->waits, 1);
    cudaGetLastError(); /* "not ready" is none */
    if (status == JD_OK)
        status = poll_comms(watch->stream, watch->operation, true);
    if (status != JD_OK)
        abort_comms(watch->stream);
    else if (!watch->event)
        forget_done(watch->stream);
    free(watch->processes);
    free(watch->queues);
    return status;
}

jd_status jd__cuda_stream_wait(struct jd_stream *stream, const char *operation,
                               const char *detail)
{
    struct jd_cuda_visit visit;
    struct watch watch = { .stream = stream,
                           .operation = operation,
                           .detail = detail,
                           .pace = jd__cuda_pace(-1) };
    jd_status status = jd__cuda_enter(stream->native, operation, &visit);
    if (status == JD_OK)
        status = jd__cuda_is_capturing(stream) ? fail_captured(operation)
                                               : wait_inside(&watch);
    jd__cuda_leave(&visit);
    return status;
}

jd_status jd__cuda_stream_wait_event(struct jd_stream *stream,
                                     cudaEvent_t event, const char *operation,
                                     const char *detail)
{
    struct watch watch = { .stream = stream,
                           .event = event,
                           .operation = operation,
                           .detail = detail,
                           .pace = jd__cuda_pace(-1) };
    return wait_inside(&watch);
}

/* ---- for nobody who waits ------------------------------------------------ */

/* While it was said, the call may have ended. */
static void end_job(const struct watch *watch)
{
    struct jd_stream *stream = watch->stream;
    if (jd__lane_read(&stream->lane) == watch->word &&
        !atomic_load(&stream->waits))
        jd__host_abort(jd_error_message());
}

static void look_once(struct watch *watch, double since, double *ret_notice)
{
    watch->state.begin = since;
    if (*ret_notice > 0)
        watch->state.next_notice = *ret_notice;
    jd_status status = jd__wait_look(&watch->wait, &watch->state, find_missing,
                                     watch, watch->num_processes);
    *ret_notice = watch->state.next_notice;
    if (status == JD_DEADLINE_EXCEEDED)
        end_job(watch);
}

bool jd__cuda_stream_look(void *arg, double since, uint64_t word,
                          double *ret_notice)
{
    struct jd_stream *stream = arg;
    struct watch watch = { .stream = stream,
                           .operation = "the GPU's work",
                           .word = word,
                           .pace = jd__cuda_pace(-1) };
    if (atomic_load(&stream->waits))
        return false;
    begin_wait(&watch);
    if (watch.num_processes)
        look_once(&watch, since, ret_notice);
    free(watch.processes);
    free(watch.queues);
    return true;
}

/* ---- without waiting ----------------------------------------------------- */

/* A query would end a capture. */
bool jd__cuda_stream_is_idle(struct jd_stream *stream, const char *operation)
{
    struct jd_cuda_visit visit;
    bool is_idle = true;
    if (jd__cuda_enter(stream->native, operation, &visit) == JD_OK)
        is_idle = jd__cuda_is_capturing(stream) ||
                  cudaStreamQuery(stream->handle) != cudaErrorNotReady;
    cudaGetLastError();
    jd__cuda_leave(&visit);
    return is_idle;
}

bool jd__cuda_stream_ends(struct jd_stream *stream)
{
    struct jd_cuda_visit visit;
    struct jd_cuda_pace pace = jd__cuda_pace(ABORT_SECONDS);
    cudaError_t error = cudaErrorNotReady;
    if (jd__cuda_enter(stream->native, "jd_mesh_destroy", &visit) == JD_OK)
        do
            error = cudaStreamQuery(stream->handle);
        while (error == cudaErrorNotReady && jd__cuda_pause(&pace));
    cudaGetLastError();
    jd__cuda_leave(&visit);
    return error == cudaSuccess;
}

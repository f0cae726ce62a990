/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cudart_queue.c - streams' threads: the order of work, the random delay before
 * each piece, and waiting for it.
 *
 * A stream's thread starts with its first piece of work and ends when the
 * stream is destroyed and nothing is queued. A wait that takes two minutes is a
 * deadlock, which a real GPU would have, too: it ends the process, and names
 * the call.
 */
#include "cudart.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { DEADLOCK_SECONDS = 120 };

/* lock guards all that is not memory; something_done is its condition. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t something_done; /* set with the first stream */
static struct CUstream_st *streams;
static struct CUstream_st *legacy[STANDIN_MAX_DEVICES];
static _Thread_local struct CUstream_st *per_thread[STANDIN_MAX_DEVICES];
static unsigned int num_streams;

/* Host functions of a device follow each other, whatever their streams: the
 * real ones may. */
static pthread_mutex_t host_functions[STANDIN_MAX_DEVICES];
static pthread_once_t host_functions_once = PTHREAD_ONCE_INIT;

void standin__lock(void)
{
    pthread_mutex_lock(&lock);
}

void standin__unlock(void)
{
    pthread_mutex_unlock(&lock);
}

struct standin_task standin__task_copy(const struct standin_task *task)
{
    struct standin_task copy = *task;

    if (task->bytes == 0)
        return copy;
    copy.arg = standin__allocate(task->bytes);
    memcpy(copy.arg, task->arg, task->bytes);
    return copy;
}

static void drop(struct CUstream_st *stream)
{
    struct CUstream_st **link = &streams;

    stream->references--;
    if (stream->references > 0)
        return;
    while (*link != stream)
        link = &(*link)->next;
    *link = stream->next;
    pthread_cond_destroy(&stream->arrived);
    free(stream);
}

struct standin_marker standin__mark(struct CUstream_st *stream)
{
    stream->references++;
    return (struct standin_marker){ stream, stream->queued };
}

void standin__unmark(struct standin_marker *marker)
{
    if (marker->stream != NULL)
        drop(marker->stream);
    marker->stream = NULL;
}

bool standin__is_done(const struct standin_marker *marker)
{
    return marker->stream == NULL || marker->stream->done >= marker->number;
}

struct CUstream_st *standin__streams(void)
{
    return streams;
}

static void make_condition(void)
{
    pthread_condattr_t attributes;

    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&something_done, &attributes);
    pthread_condattr_destroy(&attributes);
}

struct CUstream_st *standin__stream_create(int device, bool is_blocking)
{
    struct CUstream_st *stream = standin__allocate(sizeof(*stream));

    if (num_streams == 0)
        make_condition();
    stream->references = 1;
    stream->device = device;
    stream->is_blocking = is_blocking;
    stream->longest_delay = standin__number("STANDIN_DELAY_US", 50);
    stream->random =
        (unsigned int)standin__number("STANDIN_SEED", getpid()) * 2654435761u +
        num_streams;
    pthread_cond_init(&stream->arrived, NULL);
    stream->next = streams;
    streams = stream;
    num_streams++;
    return stream;
}

void standin__stream_destroy(struct CUstream_st *stream)
{
    stream->is_destroyed = true;
    pthread_cond_signal(&stream->arrived);
    drop(stream);
}

static struct CUstream_st *default_stream(int device)
{
    if (legacy[device] == NULL) {
        legacy[device] = standin__stream_create(device, false);
        legacy[device]->is_legacy = true;
    }
    return legacy[device];
}

static struct CUstream_st *thread_stream(int device)
{
    if (per_thread[device] == NULL)
        per_thread[device] = standin__stream_create(device, true);
    return per_thread[device];
}

struct CUstream_st *standin__stream(cudaStream_t handle)
{
    if (handle == NULL || handle == cudaStreamLegacy)
        return default_stream(standin__device());
    if (handle == cudaStreamPerThread)
        return thread_stream(standin__device());
    for (struct CUstream_st *at = streams; at != NULL; at = at->next) {
        if (at == handle && !at->is_destroyed)
            return at;
    }
    return NULL;
}

static void make_host_functions(void)
{
    for (int i = 0; i < STANDIN_MAX_DEVICES; i++)
        pthread_mutex_init(&host_functions[i], NULL);
}

static void delay(struct CUstream_st *stream)
{
    long us = rand_r(&stream->random) % (stream->longest_delay + 1);
    struct timespec time;

    if (us == 0)
        return;
    time = (struct timespec){ us / 1000000, us % 1000000 * 1000 };
    nanosleep(&time, NULL);
}

static void run_task(const struct standin_task *task, int device)
{
    if (task->run == NULL)
        return;
    if (task->is_host_function) {
        pthread_once(&host_functions_once, make_host_functions);
        pthread_mutex_lock(&host_functions[device]);
        standin__set_in_host_function(true);
    }
    task->run(task->arg);
    if (task->is_host_function) {
        standin__set_in_host_function(false);
        pthread_mutex_unlock(&host_functions[device]);
    }
}

static void do_first(struct CUstream_st *stream)
{
    struct standin_work *work = stream->first;

    for (int i = 0; i < work->num_after; i++) {
        while (!standin__is_done(&work->after[i]))
            pthread_cond_wait(&something_done, &lock);
        standin__unmark(&work->after[i]);
    }
    standin__unlock();
    delay(stream);
    run_task(&work->task, stream->device);
    standin__lock();
    stream->first = work->next;
    stream->done++;
    pthread_cond_broadcast(&something_done);
    if (work->task.bytes > 0)
        free(work->task.arg);
    free(work->after);
    free(work);
}

static void *serve(void *arg)
{
    struct CUstream_st *stream = arg;

    standin__lock();
    while (stream->first != NULL || !stream->is_destroyed) {
        if (stream->first != NULL)
            do_first(stream);
        else
            pthread_cond_wait(&stream->arrived, &lock);
    }
    drop(stream);
    standin__unlock();
    return NULL;
}

/* Signals are for the program's threads; a fault is the thread's own. */
static void start_thread(struct CUstream_st *stream)
{
    static const int own[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT };
    pthread_t thread;
    sigset_t blocked;
    sigset_t before;

    sigfillset(&blocked);
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
        sigdelset(&blocked, own[i]);
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    if (pthread_create(&thread, NULL, serve, stream) != 0)
        standin__fatal("no thread for a stream");
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_detach(thread);
    stream->references++;
    stream->has_thread = true;
}

static void add_after(struct standin_work *work, struct CUstream_st *stream)
{
    if (stream->done == stream->queued)
        return;
    work->after = realloc(work->after,
                          (size_t)(work->num_after + 1) * sizeof(*work->after));
    if (work->after == NULL)
        standin__fatal("no host memory for the order of work");
    work->after[work->num_after] = standin__mark(stream);
    work->num_after++;
}

/* The default stream and the blocking ones are in order with each other. */
static void add_implicit(struct standin_work *work, struct CUstream_st *stream)
{
    if (stream->is_blocking && legacy[stream->device] != NULL)
        add_after(work, legacy[stream->device]);
    for (struct CUstream_st *at = streams; stream->is_legacy && at != NULL;
         at = at->next) {
        if (at->is_blocking && at->device == stream->device)
            add_after(work, at);
    }
}

static void add_explicit(struct standin_work *work,
                         const struct standin_marker *after)
{
    if (after == NULL || standin__is_done(after))
        return;
    add_after(work, after->stream);
    work->after[work->num_after - 1].number = after->number;
}

void standin__queue(struct CUstream_st *stream, const struct standin_task *task,
                    const struct standin_marker *after)
{
    struct standin_work *work = standin__allocate(sizeof(*work));

    work->task = *task;
    add_explicit(work, after);
    add_implicit(work, stream);
    if (stream->first == NULL)
        stream->first = work;
    else
        stream->last->next = work;
    stream->last = work;
    stream->queued++;
    if (!stream->has_thread)
        start_thread(stream);
    pthread_cond_signal(&stream->arrived);
}

cudaError_t standin__submit(struct CUstream_st *stream,
                            const struct standin_task *task,
                            const struct standin_marker *after)
{
    cudaError_t error = standin__usable(stream);

    if (error == cudaSuccess && stream->capture == NULL) {
        standin__queue(stream, task, after);
        return cudaSuccess;
    }
    if (error == cudaSuccess)
        standin__record(stream, task);
    if (task->bytes > 0)
        free(task->arg);
    return error;
}

static bool is_beside(const struct CUstream_st *at,
                      const struct CUstream_st *stream)
{
    return at == stream || (stream->is_legacy && at->is_blocking &&
                            at->device == stream->device);
}

bool standin__is_idle(struct CUstream_st *stream)
{
    for (const struct CUstream_st *at = streams; at != NULL; at = at->next) {
        if (is_beside(at, stream) && at->done < at->queued)
            return false;
    }
    return true;
}

static void wait_marker(struct standin_marker *marker, const char *call)
{
    struct timespec deadline;
    int error = 0;

    clock_gettime(CLOCK_MONOTONIC, &deadline);
    deadline.tv_sec += DEADLOCK_SECONDS;
    while (!standin__is_done(marker) && error != ETIMEDOUT)
        error = pthread_cond_timedwait(&something_done, &lock, &deadline);
    if (!standin__is_done(marker))
        standin__fatal("%s has waited %d s for a stream whose piece of work "
                       "%llu does not end",
                       call, DEADLOCK_SECONDS, marker->stream->done + 1);
    standin__unmark(marker);
}

/* The streams that are meant, as they are now: the list may change while it
 * waits. */
static void wait_all(int device, struct CUstream_st *stream, const char *call)
{
    struct standin_marker *markers =
        standin__allocate(num_streams * sizeof(*markers));
    int count = 0;

    for (struct CUstream_st *at = streams; at != NULL; at = at->next) {
        if (stream == NULL ? at->device == device : is_beside(at, stream)) {
            markers[count] = standin__mark(at);
            count++;
        }
    }
    for (int i = 0; i < count; i++)
        wait_marker(&markers[i], call);
    free(markers);
}

void standin__wait_idle(struct CUstream_st *stream, const char *call)
{
    wait_all(-1, stream, call);
}

void standin__wait_device(int device, const char *call)
{
    wait_all(device, NULL, call);
}

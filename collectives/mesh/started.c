/* SPDX-License-Identifier: BSD-3-Clause */
/* started.c - calls that were started, and go on beside the program. */
#include "collectives/mesh/started.h"
#include "base/forked.h"
#include "base/progress.h"
#include "base/standing.h"
#include "collectives/mesh/shard.h"
#include "runtime/mpi/lock.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

struct jd_request {
    struct jd_started_call call;
    const char *operation;
    jd_shard *shard;                /* where it runs */
    struct jd_started_queue *queue; /* NULL: it was queued on a stream */
    const void *caller;             /* where the program started it */
    bool is_done;
    jd_status status;
    char *sentence; /* NULL: it succeeded, or there is no memory */
    jd_request *next;
    max_align_t args[];
};

/* One device's. */
struct jd_started_queue {
    struct jd_started_queue *next;
    uint64_t world;
    int64_t device;
    int references; /* twins */
    jd_request *first, **end;
    bool is_running; /* somebody runs one of them */
    bool is_ending;
    bool has_thread;
    pthread_t thread;
    pthread_cond_t changed;
};

/* The lock is of all queues and requests, and never held while one runs. */
static struct {
    pthread_mutex_t lock;
    struct jd_started_queue *first;
} table = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* ---- running ------------------------------------------------------------ */

/* As if the program made the call, where it started it. */
static void run_call(jd_request *request)
{
    const void *given = jd__progress_thread.given;
    struct jd_started_call *call = &request->call;
    jd__progress_thread.given = request->caller;
    request->status = call->run(request->shard, call->axes, request->args);
    jd__progress_thread.given = given;
    if (request->status != JD_OK)
        request->sentence = strdup(jd_error_message());
    if (call->drop)
        call->drop(request->args);
}

/* The queue's first, with the lock, which is let go of meanwhile. */
static void run_first(struct jd_started_queue *queue)
{
    jd_request *request = queue->first;
    queue->first = request->next;
    if (!queue->first)
        queue->end = &queue->first;
    queue->is_running = true;
    pthread_mutex_unlock(&table.lock);
    run_call(request);
    pthread_mutex_lock(&table.lock);
    request->is_done = true;
    queue->is_running = false;
    jd__runtime_count_started(-1);
    pthread_cond_broadcast(&queue->changed);
}

/* Meanwhile it does nothing: another thread of this process has to begin. */
static void rest_until_change(struct jd_started_queue *queue)
{
    jd__standing_rest();
    pthread_cond_wait(&queue->changed, &table.lock);
    jd__standing_go_on();
}

/* With the lock: does what there is to do, or waits until somebody has done
 * something. */
static void take_turn(struct jd_started_queue *queue)
{
    if (queue->first && !queue->is_running)
        run_first(queue);
    else
        rest_until_change(queue);
}

static void *run_queue(void *arg)
{
    struct jd_started_queue *queue = arg;
    jd__standing_count_own();
    pthread_mutex_lock(&table.lock);
    while (!queue->is_ending)
        take_turn(queue);
    pthread_mutex_unlock(&table.lock);
    return NULL;
}

/* Signals are the program's threads'. */
static void start_thread(struct jd_started_queue *queue)
{
    sigset_t all, before;
    if (!jd__mpi_serves_threads())
        return;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    queue->has_thread =
        pthread_create(&queue->thread, NULL, run_queue, queue) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (queue->has_thread)
        pthread_setname_np(queue->thread, "jd-started");
}

/* ---- queues, with the lock ---------------------------------------------- */

static struct jd_started_queue *make_queue(const struct jd_mesh *mesh,
                                           int64_t device)
{
    struct jd_started_queue *queue = calloc(1, sizeof *queue);
    if (!queue)
        return NULL;
    queue->world = mesh->world;
    queue->device = device;
    queue->end = &queue->first;
    queue->next = table.first;
    table.first = queue;
    pthread_cond_init(&queue->changed, NULL);
    start_thread(queue);
    return queue;
}

static struct jd_started_queue *get_queue(const jd_shard *shard)
{
    const struct jd_mesh *mesh = shard->mesh;
    int64_t device = mesh->devices[shard->position]->id;
    struct jd_started_queue *queue = table.first;
    while (queue && (queue->world != mesh->world || queue->device != device))
        queue = queue->next;
    if (!queue)
        queue = make_queue(mesh, device);
    if (queue)
        queue->references++;
    return queue;
}

/* Where it was the last reference the queue is empty, and nobody finds it any
 * more. */
static bool put_queue(struct jd_started_queue *queue)
{
    struct jd_started_queue **at = &table.first;
    if (--queue->references > 0)
        return false;
    while (*at != queue)
        at = &(*at)->next;
    *at = queue->next;
    queue->is_ending = true;
    pthread_cond_broadcast(&queue->changed);
    return true;
}

static bool has_mesh(const struct jd_started_queue *queue,
                     const struct jd_mesh *mesh)
{
    const jd_request *request = queue->first;
    while (request && request->shard->mesh != mesh)
        request = request->next;
    return request != NULL;
}

/* ---- twins -------------------------------------------------------------- */

static jd_shard *make_twin(jd_shard *shard)
{
    jd_shard *twin = calloc(1, sizeof *twin);
    if (!twin)
        return NULL;
    twin->mesh = shard->mesh;
    twin->position = shard->position;
    twin->grouping = shard->grouping;
    twin->is_started = true;
    twin->queue = get_queue(shard);
    if (!twin->queue) {
        free(twin);
        return NULL;
    }
    atomic_store(&shard->twin, twin);
    return twin;
}

void jd__started_finish(jd_shard *shard)
{
    jd_shard *twin = atomic_load(&shard->twin);
    if (!twin)
        return;
    struct jd_started_queue *queue = twin->queue;
    pthread_mutex_lock(&table.lock);
    while (queue->is_running || has_mesh(queue, shard->mesh))
        take_turn(queue);
    bool was_last = put_queue(queue);
    pthread_mutex_unlock(&table.lock);
    if (was_last) {
        if (queue->has_thread)
            pthread_join(queue->thread, NULL);
        pthread_cond_destroy(&queue->changed);
        free(queue);
    }
    atomic_store(&shard->twin, NULL);
    jd__shard_finish(twin);
    free(twin);
}

static void await_call(const jd_request *request)
{
    pthread_mutex_lock(&table.lock);
    while (!request->is_done)
        take_turn(request->queue);
    pthread_mutex_unlock(&table.lock);
}

/* ---- starting ----------------------------------------------------------- */

static void free_request(jd_request *request)
{
    free((char *)(uintptr_t)request->call.axes);
    free(request->sentence);
    free(request);
}

static jd_request *make_request(const char *operation,
                                const struct jd_started_call *call)
{
    jd_request *request = calloc(1, sizeof *request + call->bytes);
    if (!request)
        return NULL;
    request->operation = operation;
    request->call = *call;
    request->caller = jd__progress_thread.caller;
    request->call.axes = call->axes ? strdup(call->axes) : NULL;
    if (call->axes && !request->call.axes) {
        free_request(request);
        return NULL;
    }
    memcpy(request->args, call->args, call->bytes);
    return request;
}

/* Waits of this process are certain to have no end only where no other thread
 * of the program makes calls: this one does. */
static bool enqueue_request(jd_shard *shard, jd_request *request)
{
    jd__standing_count_thread();
    pthread_mutex_lock(&table.lock);
    jd_shard *twin = atomic_load(&shard->twin);
    if (!twin)
        twin = make_twin(shard);
    if (twin) {
        request->shard = twin;
        request->queue = twin->queue;
        *twin->queue->end = request;
        twin->queue->end = &request->next;
        jd__runtime_count_started(1);
        pthread_cond_broadcast(&twin->queue->changed);
    }
    pthread_mutex_unlock(&table.lock);
    if (twin && !twin->queue->has_thread)
        await_call(request);
    return twin != NULL;
}

static jd_status check_arguments(const jd_shard *shard, const char *operation,
                                 jd_request **ret_request)
{
    if (!shard)
        return jd__shard_fail_null(operation);
    if (!ret_request)
        return jd_fail(JD_INVALID_ARGUMENT,
                       "%s: ret_request is NULL; the call ends by jd_wait() "
                       "with the request that it gets",
                       operation);
    return jd__mesh_check_world(shard->mesh, operation);
}

jd_status jd__started_begin(jd_shard *shard, const char *operation,
                            const struct jd_started_call *call,
                            jd_request **ret_request)
{
    jd_status status = check_arguments(shard, operation, ret_request);
    if (status != JD_OK)
        return status;
    jd_request *request = make_request(operation, call);
    if (request && shard->mesh->platform->streams) {
        request->shard = shard;
        run_call(request);
        request->is_done = true;
    } else if (request && !enqueue_request(shard, request)) {
        free_request(request);
        request = NULL;
    }
    if (!request)
        return jd__fail_no_memory(operation, sizeof *request + call->bytes);
    *ret_request = request;
    return JD_OK;
}

/* ---- how it ended ------------------------------------------------------- */

static jd_status await_stream(const jd_shard *shard, const char *operation)
{
    jd_status status = jd__mesh_check_world(shard->mesh, operation);
    return status == JD_OK ? jd__platform_await(shard->mesh->platform,
                                                shard->stream, operation)
                           : status;
}

/* What the call returned, or what the stream says of it. */
static jd_status result_of(const jd_request *request, const char *operation)
{
    if (request->status != JD_OK)
        return jd_fail(request->status, "%s",
                       request->sentence ? request->sentence
                                         : request->operation);
    return request->queue ? JD_OK : await_stream(request->shard, operation);
}

/* ---- looking ------------------------------------------------------------ */

/* The lock is nobody's for long: never while a call runs. */
static bool is_over(const jd_request *request)
{
    const jd_shard *shard = request->shard;
    if (!request->queue)
        return request->status != JD_OK ||
               jd__mesh_check_world(shard->mesh, "jd_test") != JD_OK ||
               shard->mesh->platform->streams->is_idle(shard->stream,
                                                       "jd_test");
    pthread_mutex_lock(&table.lock);
    bool is_done = request->is_done;
    pthread_mutex_unlock(&table.lock);
    return is_done;
}

/* The status is the call's, and the request is gone. */
static jd_status end_request(jd_request **request, const char *operation)
{
    jd_status status = result_of(*request, operation);
    free_request(*request);
    *request = NULL;
    return status;
}

/* With a thread that runs calls there is nothing to push; without one a call is
 * done when it was started. */
jd_status jd_test(jd_request **request, int *ret_is_done)
{
    JD_NOTE_CALLER();
    if (!request || !ret_is_done)
        return jd_fail(JD_INVALID_ARGUMENT, "jd_test: %s is NULL; %s",
                       request ? "ret_is_done" : "request",
                       request ? "it is where 1 is written when the call is "
                                 "done, and 0 before"
                               : "it is the address of what jd_psum_start() "
                                 "and its like gave");
    jd_status status = *request ? jd__forked_check("jd_test") : JD_OK;
    if (status != JD_OK)
        return status;
    *ret_is_done = !*request || is_over(*request);
    return *request && *ret_is_done ? end_request(request, "jd_test") : JD_OK;
}

/* ---- waiting ------------------------------------------------------------ */

/* In a forked child nobody runs what the parent has started. */
jd_status jd_wait(jd_request **request)
{
    JD_NOTE_CALLER();
    if (!request)
        return jd_fail(JD_INVALID_ARGUMENT,
                       "jd_wait: request is NULL; it is the address of what "
                       "jd_psum_start() and its like gave");
    if (!*request)
        return JD_OK;
    jd_status status = jd__forked_check("jd_wait");
    if (status != JD_OK)
        return status;
    await_call(*request);
    return end_request(request, "jd_wait");
}

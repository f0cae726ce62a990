/* SPDX-License-Identifier: BSD-3-Clause */
/* local.c - the service of a world of one. */
#include "runtime/coordination/client/local.h"
#include "base/clock.h"
#include "runtime/coordination/server/service.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* A call that waits; on its caller's stack. */
struct local_request {
    struct local_request *next;
    uint64_t id;
    Jd__Message *answer;
    bool is_answered; /* also where there was no memory for the answer */
};

struct jd_local {
    pthread_mutex_t lock; /* over everything */
    pthread_cond_t changed;
    struct jd_service *service;
    struct jd_connection *session;
    struct local_request *pending;
    uint64_t last_id;
    size_t max_message;
};

/* ---- what the state machine asks for ------------------------------------ */

static void hook_send(void *arg, const Jd__Message *message)
{
    struct jd_local *local = arg;
    for (struct local_request *p = local->pending; p; p = p->next) {
        if (p->id != message->id || p->is_answered)
            continue;
        p->answer = jd__wire_copy(message); /* the machine's own goes */
        p->is_answered = true;
        pthread_cond_broadcast(&local->changed);
        return;
    }
}

static void hook_welcome(void *local, const struct jd_auth_keys *keys)
{
    (void)local, (void)keys;
}

static void hook_nothing(void *local)
{
    (void)local;
}

static size_t hook_backlog(void *local)
{
    (void)local;
    return 0;
}

static const struct jd_service_hooks hooks = {
    .send = hook_send,
    .welcome = hook_welcome,
    .end = hook_nothing,
    .backlog = hook_backlog,
};

/* ---- calls -------------------------------------------------------------- */

/* With the lock: until the machine has answered; it does so at the call's
 * deadline at the latest, and its clock is kept here. */
static void wait_for_answer(struct jd_local *local,
                            struct local_request *pending)
{
    while (!pending->is_answered) {
        double next = jd__service_tick(local->service, jd__clock_now());
        if (pending->is_answered)
            break;
        struct timespec at = jd__clock_timespec(isinf(next) ? 0 : next);
        if (isinf(next))
            pthread_cond_wait(&local->changed, &local->lock);
        else
            pthread_cond_timedwait(&local->changed, &local->lock, &at);
    }
}

static void run_call(struct jd_local *local, struct jd_call *call,
                     struct local_request *pending)
{
    pthread_mutex_lock(&local->lock);
    pending->id = call->request.id = ++local->last_id;
    pending->next = local->pending;
    local->pending = pending;
    jd__service_receive(local->service, local->session, &call->request,
                        jd__clock_now());
    wait_for_answer(local, pending);
    struct local_request **link = &local->pending;
    while (*link != pending)
        link = &(*link)->next;
    *link = pending->next;
    pthread_mutex_unlock(&local->lock);
}

jd_status jd__local_call(struct jd_local *local, struct jd_call *call)
{
    struct local_request pending = { .next = NULL };
    size_t bytes = jd__wire_size(&call->request) + 2 * sizeof(uint64_t);
    if (bytes > local->max_message)
        return jd_fail(JD_RESOURCE_EXHAUSTED,
                       "%s%s: the message would have %zu bytes, over the %zu "
                       "of JD_MAX_MESSAGE; nothing was done",
                       call->operation, call->detail ? call->detail : "", bytes,
                       local->max_message);
    run_call(local, call, &pending);
    if (!pending.answer)
        return jd__fail_no_memory(call->operation, bytes);
    return jd__call_take(call, pending.answer);
}

/* ---- life --------------------------------------------------------------- */

static jd_status open_service(struct jd_local *local, size_t max_store)
{
    static const struct jd_auth open = { .way = JD_AUTH_OPEN };
    struct jd_service_spec spec = {
        .hooks = &hooks,
        .auth = &open,
        .job = "alone",
        .count = 1,
        .heartbeat_timeout = -1,
        .max_message = local->max_message,
        .max_store = max_store,
        .host = "",
        .program = "",
    };
    jd_status status = jd__auth_start();
    if (status == JD_OK)
        status = jd__service_create(&spec, &local->service);
    if (status != JD_OK)
        return status;
    local->session = jd__service_accept_alone(local->service, local);
    return local->session
               ? JD_OK
               : jd__fail_no_memory("the key-value store", sizeof *local);
}

jd_status jd__local_create(size_t max_message, size_t max_store,
                           struct jd_local **ret_local)
{
    struct jd_local *local = calloc(1, sizeof *local);
    if (!local)
        return jd__fail_no_memory("the key-value store", sizeof *local);
    pthread_mutex_init(&local->lock, NULL);
    jd__clock_init_condition(&local->changed);
    local->max_message = max_message;
    jd_status status = open_service(local, max_store);
    if (status == JD_OK)
        *ret_local = local;
    else
        jd__local_destroy(local);
    return status;
}

void jd__local_destroy(struct jd_local *local)
{
    if (!local)
        return;
    jd__service_destroy(local->service);
    pthread_cond_destroy(&local->changed);
    pthread_mutex_destroy(&local->lock);
    free(local);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pending.c - requests that have no reply yet: whom they wait with, until when,
 * and what is said when the time is up.
 */
#include "base/text.h"
#include "runtime/coordination/server/service_private.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>

#define NOT_IN_HEAP SIZE_MAX

/* ---- what the kinds do differently --------------------------------------- */

/* Where a function is NULL, nothing is done. */
struct request_kind {
    /* Prints whom it waits for; NULL: these words are it. */
    void (*describe)(FILE *out, const struct jd_service *service,
                     const struct jd_pending_request *waiter);
    const char *others;

    /* What its process does, for sentences; NULL: the barrier says it. */
    const char *doing;
    bool has_own; /* those of a queue may wait for different things */

    /* It ends: its owner hears of it. */
    void (*forget)(struct jd_service *service,
                   struct jd_pending_request *waiter);

    /* It ends without what it waited for. */
    void (*give_up)(struct jd_service *service,
                    struct jd_pending_request *waiter);

    /* Its time is up; NULL: it is told so, and gives up. */
    void (*expire)(struct jd_service *service,
                   struct jd_pending_request *waiter);
};

static void describe_joining(FILE *out, const struct jd_service *service,
                             const struct jd_pending_request *waiter)
{
    (void)waiter;
    jd__admission_describe_absent(out, service);
}

static void describe_leaving(FILE *out, const struct jd_service *service,
                             const struct jd_pending_request *waiter)
{
    (void)waiter;
    jd__admission_describe_staying(out, service);
}

static void describe_live(FILE *out, const struct jd_service *service,
                          const struct jd_pending_request *waiter)
{
    (void)waiter;
    jd__processes_describe_not_live(out, service);
}

/* It is not among those who have joined. */
static void give_up_joining(struct jd_service *service,
                            struct jd_pending_request *waiter)
{
    jd__admission_unjoin(service, waiter->connection->member);
}

/* It has left all the same, which is a failure where others need it
 * (blocked.c). */
static void give_up_leaving(struct jd_service *service,
                            struct jd_pending_request *waiter)
{
    jd__processes_leave(service, waiter->connection->member);
}

static void expire_joining(struct jd_service *service,
                           struct jd_pending_request *first);
static void expire_inquiry(struct jd_service *service,
                           struct jd_pending_request *waiter);

static const struct request_kind kinds[] = {
    [JD_WAIT_JOIN] = {
        .describe = describe_joining,
        .doing = "waits for all to join",
        .give_up = give_up_joining,
        .expire = expire_joining,
    },
    [JD_WAIT_LEAVE] = {
        .describe = describe_leaving,
        .doing = "waits in jd_shutdown",
        .give_up = give_up_leaving,
    },
    [JD_WAIT_KEYS] = {
        .describe = jd__kv_describe,
        .doing = "waits for ",
        .has_own = true,
        .forget = jd__kv_forget,
    },
    [JD_WAIT_BARRIER] = {
        .describe = jd__barriers_describe,
        .forget = jd__barriers_forget,
        .give_up = jd__barriers_give_up,
    },
    [JD_WAIT_LIVE] = {
        .describe = describe_live,
        .doing = "waits in jd_live_processes",
        .forget = jd__processes_live_forget,
    },
    [JD_WAIT_SAME_TEXT] = {
        .others = "others to say the same",
        .doing = "is ending",
    },
    [JD_WAIT_DOING] = {
        .others = "others to say what they do",
        .doing = "asks what others do",
        .expire = expire_inquiry,
    },
    [JD_WAIT_STACK] = {
        .others = "another to show its stack",
        .doing = "asks for a stack",
        .expire = jd__stacks_expire,
    },
    [JD_WAIT_TRACE] = {
        .others = "another to show its calls",
        .doing = "asks for calls",
        .expire = jd__traces_expire,
    },
};

/* ---- by deadline: a binary heap ----------------------------------------- */

static void heap_put(struct jd_deadline_heap *heap, size_t at,
                     struct jd_pending_request *waiter)
{
    heap->items[at] = waiter;
    waiter->heap_index = at;
}

static void heap_up(struct jd_deadline_heap *heap, size_t at)
{
    struct jd_pending_request *waiter = heap->items[at];
    while (at > 0 && heap->items[(at - 1) / 2]->deadline > waiter->deadline) {
        heap_put(heap, at, heap->items[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    heap_put(heap, at, waiter);
}

static void heap_down(struct jd_deadline_heap *heap, size_t at)
{
    struct jd_pending_request *waiter = heap->items[at];
    for (size_t child; (child = 2 * at + 1) < heap->count; at = child) {
        if (child + 1 < heap->count &&
            heap->items[child + 1]->deadline < heap->items[child]->deadline)
            child++;
        if (heap->items[child]->deadline >= waiter->deadline)
            break;
        heap_put(heap, at, heap->items[child]);
    }
    heap_put(heap, at, waiter);
}

static bool heap_add(struct jd_deadline_heap *heap,
                     struct jd_pending_request *waiter)
{
    if (heap->count == heap->capacity) {
        size_t capacity = heap->capacity ? 2 * heap->capacity : 64;
        struct jd_pending_request **items = realloc(
            heap->items, capacity * sizeof(struct jd_pending_request *));
        if (!items)
            return false;
        heap->items = items;
        heap->capacity = capacity;
    }
    heap_put(heap, heap->count++, waiter);
    heap_up(heap, waiter->heap_index);
    return true;
}

static void heap_remove(struct jd_deadline_heap *heap,
                        struct jd_pending_request *waiter)
{
    size_t at = waiter->heap_index;
    if (at == NOT_IN_HEAP)
        return;
    struct jd_pending_request *last = heap->items[--heap->count];
    if (last == waiter)
        return;
    heap_put(heap, at, last);
    heap_up(heap, at);
    heap_down(heap, last->heap_index);
}

/* ---- queues ------------------------------------------------------------- */

/* One whose connection is of no process (any more) is above all. */
static int process_of(const struct jd_pending_request *waiter)
{
    const struct jd_service_process *member = waiter->connection->member;
    return member ? member->index : INT_MAX;
}

static void queue_append(struct jd_queue *queue,
                         struct jd_pending_request *waiter)
{
    if (!queue->count ||
        (queue->lowest && process_of(waiter) < process_of(queue->lowest)))
        queue->lowest = waiter;
    waiter->queue = queue;
    waiter->next = NULL;
    waiter->previous = queue->last;
    *(queue->last ? &queue->last->next : &queue->first) = waiter;
    queue->last = waiter;
    queue->count++;
}

static void queue_remove(struct jd_pending_request *waiter)
{
    struct jd_queue *queue = waiter->queue;
    struct jd_pending_request *next = waiter->next,
                              *previous = waiter->previous;
    *(previous ? &previous->next : &queue->first) = next;
    *(next ? &next->previous : &queue->last) = previous;
    queue->count--;
    if (queue->lowest == waiter)
        queue->lowest = NULL;
    waiter->queue = NULL;
}

void jd__pending_move(struct jd_pending_request *waiter, struct jd_queue *queue)
{
    queue_remove(waiter);
    queue_append(queue, waiter);
}

static void connection_add(struct jd_connection *connection,
                           struct jd_pending_request *waiter)
{
    waiter->connection = connection;
    waiter->next_of_connection = connection->waiters;
    if (connection->waiters)
        connection->waiters->previous_of_connection = waiter;
    connection->waiters = waiter;
}

static void connection_remove(struct jd_pending_request *waiter)
{
    struct jd_pending_request *next = waiter->next_of_connection;
    struct jd_pending_request *previous = waiter->previous_of_connection;
    *(previous ? &previous->next_of_connection : &waiter->connection->waiters) =
        next;
    if (next)
        next->previous_of_connection = previous;
}

/* ---- the life of a wait ------------------------------------------------- */

struct jd_pending_request *jd__pending_begin(struct jd_service *service,
                                             struct jd_queue *queue,
                                             enum jd_wait_kind kind,
                                             struct jd_connection *connection,
                                             const Jd__Message *message)
{
    int64_t timeout = message->timeout_ms;
    struct jd_pending_request *waiter = calloc(1, sizeof *waiter);
    if (!waiter) {
        jd__service_reply(service, connection, message->id,
                          JD_RESOURCE_EXHAUSTED,
                          "the service has no memory left");
        return NULL;
    }
    waiter->kind = kind;
    waiter->id = message->id;
    waiter->since = service->now;
    waiter->deadline =
        timeout < 0 ? INFINITY : service->now + (double)timeout / 1000;
    waiter->heap_index = NOT_IN_HEAP;
    if (timeout >= 0 && !heap_add(&service->heap, waiter)) {
        jd__service_reply(service, connection, message->id,
                          JD_RESOURCE_EXHAUSTED,
                          "the service has no memory left");
        free(waiter);
        return NULL;
    }
    connection_add(connection, waiter);
    queue_append(queue, waiter);
    return waiter;
}

void jd__pending_end(struct jd_service *service,
                     struct jd_pending_request *waiter)
{
    heap_remove(&service->heap, waiter);
    queue_remove(waiter);
    connection_remove(waiter);
    if (kinds[waiter->kind].forget)
        kinds[waiter->kind].forget(service, waiter);
    if (waiter->keys)
        jd__message__free_unpacked(waiter->keys, NULL);
    free(waiter);
}

void jd__pending_end_all(struct jd_service *service, struct jd_queue *queue,
                         jd_status status, const char *text)
{
    for (int left = queue->count; left > 0; left--) {
        struct jd_pending_request *waiter =
            queue->first; /* the last frees the queue */
        jd__service_reply(service, waiter->connection, waiter->id, status, "%s",
                          text);
        jd__pending_end(service, waiter);
    }
}

/* ---- what is said ------------------------------------------------------- */

void jd__pending_describe(FILE *out, const struct jd_service *service,
                          const struct jd_pending_request *waiter)
{
    const struct request_kind *kind = &kinds[waiter->kind];
    if (kind->describe)
        kind->describe(out, service, waiter);
    else
        fputs(kind->others, out);
}

void jd__pending_describe_doing(FILE *out, const struct jd_service *service,
                                const struct jd_pending_request *waiter)
{
    const struct request_kind *kind = &kinds[waiter->kind];
    if (kind->doing)
        fputs(kind->doing, out);
    else
        jd__barriers_describe_doing(out, waiter);
    if (kind->has_own)
        kind->describe(out, service, waiter);
    fprintf(out, ", for %.3g s", service->now - waiter->since);
}

/* One that asks about others does nothing that they wait for. */
const struct jd_pending_request *
jd__pending_of(const struct jd_service_process *member)
{
    const struct jd_pending_request *waiter =
        member->connection ? member->connection->waiters : NULL;
    while (waiter &&
           (waiter->kind == JD_WAIT_DOING || waiter->kind == JD_WAIT_STACK ||
            waiter->kind == JD_WAIT_TRACE))
        waiter = waiter->next_of_connection;
    return waiter;
}

bool jd__pending_is_lowest(const struct jd_pending_request *waiter)
{
    struct jd_queue *queue = waiter->queue;
    if (!queue->lowest) {
        queue->lowest = queue->first;
        for (struct jd_pending_request *w = queue->first; w; w = w->next)
            if (process_of(w) < process_of(queue->lowest))
                queue->lowest = w;
    }
    return !waiter->connection->member ||
           process_of(waiter) == process_of(queue->lowest);
}

static char *describe_waiter(const struct jd_service *service,
                             const struct jd_pending_request *waiter)
{
    struct jd_text text;
    FILE *out = jd__text_begin(&text);
    if (!out)
        return NULL;
    jd__pending_describe(out, service, waiter);
    return jd__text_end(&text);
}

static void forget_text(struct jd_service *service)
{
    free(service->wait_text.text);
    service->wait_text = (struct jd_wait_text){ .queue = NULL };
}

static int find_missing(const struct jd_service *service,
                        const struct jd_pending_request *waiter)
{
    int lowest;
    return waiter->kind == JD_WAIT_BARRIER &&
                   jd__barriers_list_missing(service, waiter, &lowest, 1)
               ? lowest
               : -1;
}

/* Those whose time is up together wait for the same; only those who wait for
 * keys may each lack others. The text stands until the next call. */
static const char *describe_once(struct jd_service *service,
                                 const struct jd_pending_request *waiter)
{
    struct jd_wait_text *last = &service->wait_text;
    if (last->queue != waiter->queue || kinds[waiter->kind].has_own) {
        forget_text(service);
        *last = (struct jd_wait_text){ waiter->queue,
                                       describe_waiter(service, waiter),
                                       find_missing(service, waiter) };
    }
    return last->text ? last->text : "others";
}

static void give_up(struct jd_service *service,
                    struct jd_pending_request *waiter)
{
    if (kinds[waiter->kind].give_up)
        kinds[waiter->kind].give_up(service, waiter);
    jd__pending_end(service, waiter);
}

/* The time of one is up: all that still wait hear why, before it ends, and
 * the service with it where that is process 0. */
static void expire_joining(struct jd_service *service,
                           struct jd_pending_request *first)
{
    double waited = service->now - first->since;
    const char *text = describe_once(service, first);
    while (service->joining.first) {
        struct jd_pending_request *waiter = service->joining.first;
        jd__service_reply(service, waiter->connection, waiter->id,
                          JD_DEADLINE_EXCEEDED,
                          "gave up after %.3g s, waiting for %s", waited, text);
        give_up(service, waiter);
    }
}

static void expire_inquiry(struct jd_service *service,
                           struct jd_pending_request *waiter)
{
    jd__processes_inquiry_answer(service, waiter);
    jd__pending_end(service, waiter);
}

/* Of a barrier also who has not come, whose stack may be asked for. */
static void reply_late(struct jd_service *service,
                       const struct jd_pending_request *waiter)
{
    Jd__Reply reply = JD__REPLY__INIT;
    char *text = NULL;
    const char *others = describe_once(service, waiter);
    uint32_t range[2] = { (uint32_t)service->wait_text.missing, 1 };
    if (asprintf(&text, "gave up after %.3g s, waiting for %s",
                 service->now - waiter->since, others) < 0)
        text = NULL;
    reply.status = JD_DEADLINE_EXCEEDED;
    reply.text = text ? text : reply.text;
    reply.ranges = range;
    reply.n_ranges = service->wait_text.missing >= 0 ? 2 : 0;
    jd__service_answer(service, waiter->connection, waiter->id, &reply);
    free(text);
}

static void expire_waiter(struct jd_service *service,
                          struct jd_pending_request *waiter)
{
    if (kinds[waiter->kind].expire) {
        kinds[waiter->kind].expire(service, waiter);
        return;
    }
    reply_late(service, waiter);
    give_up(service, waiter);
}

double jd__pending_expire(struct jd_service *service)
{
    struct jd_deadline_heap *heap = &service->heap;
    while (heap->count && heap->items[0]->deadline <= service->now)
        expire_waiter(service, heap->items[0]);
    forget_text(service);
    return heap->count ? heap->items[0]->deadline : INFINITY;
}

struct jd_pending_request *
jd__connection_find_waiter(const struct jd_connection *connection, uint64_t id)
{
    struct jd_pending_request *waiter = connection->waiters;
    while (waiter && waiter->id != id)
        waiter = waiter->next_of_connection;
    return waiter;
}

void jd__pending_on_withdraw(struct jd_service *service,
                             struct jd_connection *connection,
                             const Jd__Message *message)
{
    struct jd_pending_request *waiter =
        jd__connection_find_waiter(connection, message->withdraw->id);
    if (waiter)
        give_up(service, waiter);
}

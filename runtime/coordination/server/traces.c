/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * traces.c - what processes have called, for who asks: the process is told to
 * show a part (ShowTrace), and its answer (TracePart) is passed on. Who asks
 * for a part has read the one before, so that the service holds no more than
 * one for each reader, and however slow a reader is, nobody waits for it.
 */
#include "runtime/coordination/server/service_private.h"

#include <math.h>

#define IDLE_SECONDS 30 /* then another may have a reader's place */
#define MOST_SECONDS 60 /* to show a part, whatever the asker says */
#define MOST_UNREAD (2 * JD_WIRE_TRACE_PART)

/* ---- readers ------------------------------------------------------------ */

static bool waits_for_part(const struct jd_connection *connection)
{
    const struct jd_pending_request *waiter = connection->waiters;
    while (waiter && waiter->kind != JD_WAIT_TRACE)
        waiter = waiter->next_of_connection;
    return waiter;
}

static bool is_idle(const struct jd_service *service,
                    const struct jd_trace_reader *reader)
{
    return !reader->connection ||
           (service->now - reader->asked > IDLE_SECONDS &&
            !waits_for_part(reader->connection));
}

/* Its place, or a free one; NULL: there is none. */
static struct jd_trace_reader *
find_reader(struct jd_service *service, const struct jd_connection *connection)
{
    struct jd_trace_reader *free = NULL;
    for (int i = 0; i < JD_TRACE_READERS; i++) {
        struct jd_trace_reader *reader = &service->trace_readers[i];
        if (reader->connection == connection)
            return reader;
        if (!free && is_idle(service, reader))
            free = reader;
    }
    if (free) {
        free->connection = connection;
        free->number = ++service->num_trace_readers;
    }
    return free;
}

void jd__traces_forget_reader(struct jd_service *service,
                              const struct jd_connection *connection)
{
    for (int i = 0; i < JD_TRACE_READERS; i++)
        if (service->trace_readers[i].connection == connection)
            service->trace_readers[i].connection = NULL;
}

/* ---- requests ----------------------------------------------------------- */

/* With a deadline that is one. */
static struct jd_pending_request *begin_wait(struct jd_service *service,
                                             struct jd_connection *connection,
                                             const Jd__Message *message)
{
    Jd__Message bounded = *message;
    if (bounded.timeout_ms < 0 || bounded.timeout_ms > 1000 * MOST_SECONDS)
        bounded.timeout_ms = 1000 * MOST_SECONDS;
    return jd__pending_begin(service, &service->traces, JD_WAIT_TRACE,
                             connection, &bounded);
}

static void ask_for_part(struct jd_service *service,
                         struct jd_connection *connection,
                         const Jd__Message *message,
                         struct jd_service_process *member)
{
    Jd__ShowTrace show = JD__SHOW_TRACE__INIT;
    struct jd_trace_reader *reader = find_reader(service, connection);
    if (!reader) {
        jd__service_reply(service, connection, message->id,
                          JD_RESOURCE_EXHAUSTED,
                          "%d others read calls of this job now, and no more "
                          "may at once; ask again when one of them has ended",
                          JD_TRACE_READERS);
        return;
    }
    struct jd_pending_request *waiter =
        begin_wait(service, connection, message);
    if (!waiter)
        return;
    reader->asked = service->now;
    waiter->owner = member;
    waiter->show = show.number = ++service->num_trace_shows;
    show.reader = reader->number;
    show.place = message->trace_of->place;
    show.offset = message->trace_of->offset;
    jd__service_send(service, member->connection, JD__MESSAGE__BODY_SHOW_TRACE,
                     &show);
}

/* False where the asker may not ask now: it has been answered. */
static bool may_ask(struct jd_service *service,
                    struct jd_connection *connection, uint64_t id)
{
    size_t unread = service->hooks->backlog(connection->peer);
    if (waits_for_part(connection))
        jd__service_reply(service, connection, id, JD_FAILED_PRECONDITION,
                          "the part of a trace that was asked for before has "
                          "not come yet; one at a time is shown");
    else if (unread > MOST_UNREAD)
        jd__service_reply(service, connection, id, JD_RESOURCE_EXHAUSTED,
                          "%zu bytes were sent that are not read yet; ask "
                          "again when they are",
                          unread);
    else
        return true;
    return false;
}

void jd__traces_on_request(struct jd_service *service,
                           struct jd_connection *connection,
                           const Jd__Message *message)
{
    static const struct jd_processes_shown what = { "what it has called",
                                                    "calls", "jd-trace" };
    struct jd_service_process *member = jd__processes_find_shown(
        service, connection, message->id, message->trace_of->process, &what);
    if (!member)
        return;
    if (!member->shows_traces)
        jd__processes_reply(
            service, connection, message->id, member, JD_UNIMPLEMENTED,
            ": its jd is of an earlier version, which cannot show what it has "
            "called while it runs; JD_TRACE_DIR has it when the job has ended");
    else if (may_ask(service, connection, message->id))
        ask_for_part(service, connection, message, member);
}

/* ---- the answer --------------------------------------------------------- */

static struct jd_pending_request *
find_waiter(const struct jd_service *service,
            const struct jd_service_process *member, uint64_t number)
{
    struct jd_pending_request *waiter = service->traces.first;
    while (waiter && (waiter->owner != member || waiter->show != number))
        waiter = waiter->next;
    return waiter;
}

static void pass_on(struct jd_service *service,
                    const struct jd_pending_request *waiter,
                    Jd__TracePart *part)
{
    Jd__Reply reply = JD__REPLY__INIT;
    reply.trace = part;
    jd__service_answer(service, waiter->connection, waiter->id, &reply);
}

void jd__traces_on_answer(struct jd_service *service,
                          struct jd_connection *connection,
                          const Jd__Message *message)
{
    Jd__TracePart *part = message->trace_part;
    struct jd_service_process *member = connection->member;
    struct jd_pending_request *waiter =
        find_waiter(service, member, part->number);
    if (!waiter) /* it has gone, or its time was up */
        return;
    if (part->status != JD_OK)
        jd__processes_reply(service, waiter->connection, waiter->id, member,
                            (jd_status)part->status, ": %s", part->text);
    else if (part->bytes.len > JD_WIRE_TRACE_PART)
        jd__processes_reply(service, waiter->connection, waiter->id, member,
                            JD_INTERNAL,
                            " has sent a part of %zu bytes of what it has "
                            "called, and %d are the most; its jd is broken",
                            part->bytes.len, JD_WIRE_TRACE_PART);
    else
        pass_on(service, waiter, part);
    jd__pending_end(service, waiter);
}

/* ---- no answer ---------------------------------------------------------- */

void jd__traces_expire(struct jd_service *service,
                       struct jd_pending_request *waiter)
{
    const struct jd_service_process *member = waiter->owner;
    jd__processes_reply(
        service, waiter->connection, waiter->id, member, JD_DEADLINE_EXCEEDED,
        " has not shown what it has called within %.3g s, and was last heard "
        "%.3g s ago; one that is stopped (SIGSTOP, a debugger) cannot: see on "
        "its host what ps -o stat,wchan -p %u says",
        service->now - waiter->since, service->now - member->heard,
        (unsigned)member->pid);
    jd__pending_end(service, waiter);
}

void jd__traces_end(struct jd_service *service,
                    struct jd_service_process *member)
{
    struct jd_pending_request *next = service->traces.first;
    for (struct jd_pending_request *waiter; (waiter = next);) {
        next = waiter->next;
        if (waiter->owner != member)
            continue;
        jd__processes_reply(service, waiter->connection, waiter->id, member,
                            JD_UNAVAILABLE,
                            " was asked for what it has called, and then its "
                            "connection has ended");
        jd__pending_end(service, waiter);
    }
}

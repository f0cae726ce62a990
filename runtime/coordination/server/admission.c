/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * admission.c - who of those that have shown who they are is let in, how all
 * come together, and how all part.
 */
#include "runtime/coordination/net/process_lists.h"
#include "runtime/coordination/server/service_private.h"

#include <stdlib.h>
#include <string.h>

#define CLOSING_SECONDS 1.0 /* process 0 waits so long for the others' ends */

/* ---- the admitted ------------------------------------------------------- */

static void refuse_duplicate(struct jd_service *service,
                             struct jd_connection *connection,
                             const struct jd_service_process *member)
{
    static const char *const states[] = {
        [JD_PROCESS_STATE_ABSENT] = "has not come",
        [JD_PROCESS_STATE_CONNECTED] = "is there",
        [JD_PROCESS_STATE_LEAVING] = "is leaving",
        [JD_PROCESS_STATE_LEFT] = "has left",
        [JD_PROCESS_STATE_FAILED] = "has failed",
    };
    jd__greet_refuse(service, connection, JD_ALREADY_EXISTS,
                     "it says that it is process %d, but process %d (%s, pid "
                     "%u on %s) %s already; each process needs an index of "
                     "its own (JD_PROCESS_ID), and a job of several attempts "
                     "a new service",
                     member->index, member->index, member->program,
                     (unsigned)member->pid, jd__processes_host(service, member),
                     states[member->state]);
}

static void say_admitted(struct jd_service *service,
                         struct jd_connection *connection,
                         const Jd__Hello *hello)
{
    Jd__Admitted body = JD__ADMITTED__INIT;
    body.incarnation = service->incarnation;
    body.host = service->host;
    body.pid = service->pid;
    body.program = service->program;
    body.shows_traces = true;
    body.names_sites = true;
    jd__service_connection_set_state(service, connection, JD_CONNECTION_KNOWN);
    connection->role = hello->role;
    jd__service_send(service, connection, JD__MESSAGE__BODY_ADMITTED, &body);
}

/* One that lost its connection goes on where it was. */
static void replace_connection(struct jd_service *service,
                               struct jd_connection *connection,
                               struct jd_service_process *member)
{
    struct jd_connection *old = member->connection;
    jd__processes_set_connection(service, member, connection);
    member->heard = service->now;
    connection->member = member;
    connection->is_back = member->num_answered;
    if (old) {
        old->member = NULL;
        jd__service_connection_end(service, old);
    }
}

static void admit_process(struct jd_service *service,
                          struct jd_connection *connection,
                          const Jd__Hello *hello)
{
    struct jd_service_process *member = &service->members[hello->process];
    bool is_known = member->incarnation == hello->incarnation;
    bool is_same = is_known && jd__processes_is_alive(member);
    if (hello->is_back && !is_known &&
        member->state == JD_PROCESS_STATE_ABSENT) {
        jd__greet_refuse(service, connection, JD_ABORTED,
                         "it was connected to another start of this service, "
                         "which is gone; it should end");
        return;
    }
    if (!is_same && member->state != JD_PROCESS_STATE_ABSENT) {
        refuse_duplicate(service, connection, member);
        return;
    }
    if (!is_same) {
        member->num_answered = 0;
        memset(member->answered, 0, sizeof member->answered);
        jd__processes_fill(service, member, hello);
    }
    replace_connection(service, connection, member);
    say_admitted(service, connection, hello);
    jd__preemption_sync_tell(service, member);
}

/* Observers may still look. */
static bool comes_too_late(const struct jd_service *service,
                           const Jd__Hello *hello)
{
    return hello->role != JD__ROLE__OBSERVER &&
           (service->has_failed || service->is_failing);
}

void jd__admission_admit(struct jd_service *service,
                         struct jd_connection *connection,
                         const Jd__Hello *hello)
{
    if (comes_too_late(service, hello))
        jd__greet_refuse(
            service, connection, JD_ABORTED, "the job has failed: %s",
            service->failure_text ? service->failure_text : "just now");
    else if (hello->role == JD__ROLE__PROCESS)
        admit_process(service, connection, hello);
    else
        say_admitted(service, connection, hello);
}

/* ---- all join ----------------------------------------------------------- */

static bool is_absent(const struct jd_service_process *member, const void *arg)
{
    (void)arg;
    return !member->has_joined;
}

void jd__admission_describe_absent(FILE *out, const struct jd_service *service)
{
    jd__processes_describe(out, service, is_absent, NULL);
}

/* For each process the number of its host, in the order of their first
 * processes: they came in any, and the runs of this one are few. */
static void number_hosts(const struct jd_service *service, uint32_t *hosts,
                         uint32_t *places)
{
    uint32_t count = 0;
    for (int i = 0; i < service->count; i++) {
        uint32_t *place = &places[service->members[i].host];
        if (!*place)
            *place = ++count;
        hosts[i] = *place - 1;
    }
}

/* The host runs, malloc'ed; NULL without memory. */
static uint32_t *make_host_runs(const struct jd_service *service, size_t *ret_n)
{
    size_t count = (size_t)service->count;
    uint32_t *hosts = malloc(count * sizeof *hosts);
    uint32_t *places = calloc(count, sizeof *places);
    uint32_t *runs = malloc(3 * count * sizeof *runs);
    bool has_memory = hosts && places && runs;
    if (has_memory) {
        number_hosts(service, hosts, places);
        *ret_n = jd__process_lists_pack_hosts(hosts, count, runs);
    } else {
        free(runs);
    }
    free(hosts);
    free(places);
    return has_memory ? runs : NULL;
}

static void complete_job(struct jd_service *service)
{
    Jd__Reply reply = JD__REPLY__INIT;
    uint32_t *hosts = make_host_runs(service, &reply.n_hosts);
    service->is_complete = true;
    reply.hosts = hosts;
    while (hosts && service->joining.first) {
        struct jd_pending_request *waiter = service->joining.first;
        jd__service_answer(service, waiter->connection, waiter->id, &reply);
        jd__pending_end(service, waiter);
    }
    jd__pending_end_all(service, &service->joining, JD_RESOURCE_EXHAUSTED,
                        "the service has no memory left");
    free(hosts);
}

void jd__admission_on_join(struct jd_service *service,
                           struct jd_connection *connection,
                           const Jd__Message *message)
{
    struct jd_service_process *member = connection->member;
    if (service->is_complete) {
        jd__service_reply(service, connection, message->id, JD_OK, "%s", "");
        return;
    }
    if (service->has_failed) {
        jd__service_reply(service, connection, message->id, JD_ABORTED, "%s",
                          service->failure_text);
        return;
    }
    if (!jd__pending_begin(service, &service->joining, JD_WAIT_JOIN, connection,
                           message))
        return;
    service->num_joined += !member->has_joined;
    jd__processes_set(service, member, &member->has_joined, true);
    if (service->num_joined == service->count)
        complete_job(service);
}

void jd__admission_unjoin(struct jd_service *service,
                          struct jd_service_process *member)
{
    if (service->is_complete || !member->has_joined)
        return;
    jd__processes_set(service, member, &member->has_joined, false);
    service->num_joined--;
}

/* ---- all part ----------------------------------------------------------- */

static bool is_staying(const struct jd_service_process *member, const void *arg)
{
    (void)arg;
    return member->state != JD_PROCESS_STATE_LEAVING &&
           member->state != JD_PROCESS_STATE_LEFT;
}

void jd__admission_describe_staying(FILE *out, const struct jd_service *service)
{
    jd__processes_describe(out, service, is_staying, NULL);
}

static void let_go(struct jd_service *service,
                   struct jd_pending_request *waiter)
{
    jd__processes_leave(service, waiter->connection->member);
    jd__service_reply(service, waiter->connection, waiter->id, JD_OK, "%s", "");
    jd__pending_end(service, waiter);
}

/* All but process 0, which is the service's own: it goes last. */
static void let_others_go(struct jd_service *service)
{
    struct jd_pending_request *next;
    service->is_closing = true;
    service->closing_at = service->now + CLOSING_SECONDS;
    for (struct jd_pending_request *w = service->leaving.first; w; w = next) {
        next = w->next;
        if (w->connection->member->index != 0)
            let_go(service, w);
    }
}

void jd__admission_check_leaving(struct jd_service *service)
{
    if (!service->leaving.count || service->is_failing)
        return;
    if (!service->is_closing && !service->tally.staying)
        let_others_go(service);
    if (service->is_closing &&
        (!jd__service_is_used(service) || service->now >= service->closing_at))
        while (service->leaving.first)
            let_go(service, service->leaving.first);
}

static void answer_leave(struct jd_service *service,
                         struct jd_connection *connection,
                         const Jd__Message *message)
{
    bool is_late = service->has_failed && !message->leave->at_once;
    jd__service_reply(service, connection, message->id,
                      is_late ? JD_ABORTED : JD_OK, "%s",
                      service->failure_text ? service->failure_text : "");
}

/* One that has failed, and of whom the others have not heard yet, waits until
 * they have: it may be process 0, with which the service goes. */
void jd__admission_on_leave(struct jd_service *service,
                            struct jd_connection *connection,
                            const Jd__Message *message)
{
    struct jd_service_process *member = connection->member;
    service->somebody_went = true;
    if (message->leave->at_once || service->has_failed ||
        member->state == JD_PROCESS_STATE_LEFT) {
        jd__processes_leave(service, member);
        answer_leave(service, connection, message);
    } else if (!jd__pending_begin(service, &service->leaving, JD_WAIT_LEAVE,
                                  connection, message)) {
        return;
    } else if (jd__processes_is_alive(member)) {
        jd__processes_set_state(service, member, JD_PROCESS_STATE_LEAVING);
        jd__blocked_on_leaving(service, member);
    }
    jd__processes_check_live(service);
    jd__barriers_abort(service, member);
    jd__preemption_sync_check(service);
    jd__admission_check_leaving(service);
}

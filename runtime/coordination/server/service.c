/* SPDX-License-Identifier: BSD-3-Clause */
/* service.c - connections, and which request goes where. */
#include "base/log.h"
#include "runtime/coordination/server/service_private.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ---- sending ------------------------------------------------------------ */

void jd__service_send(struct jd_service *service,
                      struct jd_connection *connection,
                      Jd__Message__BodyCase body, void *body_message)
{
    Jd__Message message = JD__MESSAGE__INIT;
    message.body_case = body;
    message.reply = body_message; /* a union of pointers */
    if (connection && connection->state != JD_CONNECTION_ENDED)
        service->hooks->send(connection->peer, &message);
}

/* Asking again for these would do them twice, or wait in the next barrier. */
static bool is_once(Jd__Message__BodyCase body)
{
    return body == JD__MESSAGE__BODY_SET || body == JD__MESSAGE__BODY_DELETE ||
           body == JD__MESSAGE__BODY_INCREMENT ||
           body == JD__MESSAGE__BODY_ARRIVE || body == JD__MESSAGE__BODY_CANCEL;
}

/* The reply is to such a request: the one that is being handled, or one that
 * waited. */
static bool answers_once(const struct jd_service *service,
                         const struct jd_connection *connection, uint64_t id)
{
    const Jd__Message *handled = service->handled;
    if (handled && service->handled_of == connection && handled->id == id)
        return is_once(handled->body_case);
    const struct jd_pending_request *waiter =
        jd__connection_find_waiter(connection, id);
    return waiter && waiter->kind == JD_WAIT_BARRIER;
}

static void remember_reply(struct jd_service_process *member, uint64_t id,
                           const Jd__Reply *reply)
{
    struct jd_answered *kept =
        &member->answered[member->num_answered++ % JD_ANSWERS_KEPT];
    kept->id = id;
    kept->status = reply->status;
    kept->number = reply->number;
}

void jd__service_answer(struct jd_service *service,
                        struct jd_connection *connection, uint64_t id,
                        Jd__Reply *reply)
{
    Jd__Message message = JD__MESSAGE__INIT;
    message.id = id;
    message.body_case = JD__MESSAGE__BODY_REPLY;
    message.reply = reply;
    if (id && connection->member && answers_once(service, connection, id))
        remember_reply(connection->member, id, reply);
    if (id && connection->state != JD_CONNECTION_ENDED)
        service->hooks->send(connection->peer, &message);
}

void jd__service_reply(struct jd_service *service,
                       struct jd_connection *connection, uint64_t id,
                       jd_status status, const char *format, ...)
{
    Jd__Reply reply = JD__REPLY__INIT;
    char *text = NULL;
    va_list args;
    va_start(args, format);
    if (vasprintf(&text, format, args) < 0)
        text = NULL;
    va_end(args);
    reply.status = (int32_t)status;
    reply.text = text ? text : reply.text;
    jd__service_answer(service, connection, id, &reply);
    free(text);
}

/* ---- lists of connections ----------------------------------------------- */

static void list_append(struct jd_connection_list *list,
                        struct jd_connection *connection)
{
    connection->next = NULL;
    connection->previous = list->last;
    *(list->last ? &list->last->next : &list->first) = connection;
    list->last = connection;
    list->count++;
}

static void list_remove(struct jd_connection_list *list,
                        struct jd_connection *connection)
{
    struct jd_connection *next = connection->next,
                         *previous = connection->previous;
    *(previous ? &previous->next : &list->first) = next;
    *(next ? &next->previous : &list->last) = previous;
    list->count--;
}

static struct jd_connection_list *
list_of(struct jd_service *service, const struct jd_connection *connection)
{
    if (connection->is_own)
        return &service->known;
    switch (connection->state) {
    case JD_CONNECTION_STRANGER:
        return &service->strangers;
    case JD_CONNECTION_QUEUED:
        return &service->queued;
    case JD_CONNECTION_VOUCHING:
        return &service->vouching;
    case JD_CONNECTION_ENDED:
        return connection->was_known ? &service->known : &service->refused;
    case JD_CONNECTION_KNOWN:
        break;
    }
    return &service->known;
}

static void leave_list(struct jd_service *service,
                       struct jd_connection *connection)
{
    if (service->saying.next_helper == connection)
        service->saying.next_helper = connection->next;
    list_remove(list_of(service, connection), connection);
}

void jd__service_connection_set_state(struct jd_service *service,
                                      struct jd_connection *connection,
                                      enum jd_connection_state state)
{
    leave_list(service, connection);
    connection->state = state;
    connection->was_known |= state == JD_CONNECTION_KNOWN;
    list_append(list_of(service, connection), connection);
}

void jd__service_own(struct jd_service *service,
                     struct jd_connection *connection)
{
    leave_list(service, connection);
    connection->is_own = true;
    list_append(list_of(service, connection), connection);
}

/* ---- the life of a connection ------------------------------------------- */

static struct jd_connection *create_connection(struct jd_service *service,
                                               void *peer, const char *from)
{
    struct jd_connection *connection = calloc(1, sizeof *connection);
    if (!connection)
        return NULL;
    connection->peer = peer;
    connection->accepted_at = service->now;
    snprintf(connection->from, sizeof connection->from, "%s", from);
    return connection;
}

struct jd_connection *jd__service_accept(struct jd_service *service, void *peer,
                                         const char *from, double now)
{
    Jd__Challenge challenge = JD__CHALLENGE__INIT;
    service->now = now;
    struct jd_connection *connection = create_connection(service, peer, from);
    if (!connection)
        return NULL;
    list_append(&service->strangers, connection);
    jd__auth_random(connection->nonce, sizeof connection->nonce);
    challenge.protocol = JD_WIRE_PROTOCOL;
    challenge.nonce =
        jd__wire_bytes(connection->nonce, sizeof connection->nonce);
    challenge.takes_munge = service->auth.way == JD_AUTH_MUNGE ||
                            service->observer_auth.way == JD_AUTH_MUNGE;
    jd__service_send(service, connection, JD__MESSAGE__BODY_CHALLENGE,
                     &challenge);
    jd__strangers_make_room(service, connection);
    return connection;
}

struct jd_connection *jd__service_accept_alone(struct jd_service *service,
                                               void *peer)
{
    struct jd_connection *connection = create_connection(service, peer, "here");
    if (!connection)
        return NULL;
    connection->state = JD_CONNECTION_KNOWN;
    connection->was_known = true;
    list_append(&service->known, connection);
    struct jd_service_process *member = &service->members[0];
    connection->member = member;
    jd__processes_set_connection(service, member, connection);
    jd__processes_set_state(service, member, JD_PROCESS_STATE_CONNECTED);
    jd__processes_set(service, member, &member->has_joined, true);
    service->is_complete = true;
    return connection;
}

static void end_waits(struct jd_service *service,
                      struct jd_connection *connection)
{
    while (connection->waiters)
        jd__pending_end(service, connection->waiters);
}

void jd__service_connection_end(struct jd_service *service,
                                struct jd_connection *connection)
{
    if (connection->state == JD_CONNECTION_ENDED)
        return;
    end_waits(service, connection);
    jd__service_connection_set_state(service, connection, JD_CONNECTION_ENDED);
    service->hooks->end(connection->peer);
}

void jd__service_connection_destroy(struct jd_service *service,
                                    struct jd_connection *connection)
{
    end_waits(service, connection);
    jd__traces_forget_reader(service, connection);
    leave_list(service, connection);
    if (connection->member && connection->member->connection == connection) {
        jd__blocked_forget(service, connection->member);
        jd__processes_set_connection(service, connection->member, NULL);
    }
    if (connection->hello)
        jd__message__free_unpacked(connection->hello, NULL);
    free(connection);
}

static void lose_member(struct jd_service *service,
                        struct jd_service_process *member, int error,
                        const char *why)
{
    char text[JD_WIRE_END_TEXT];
    if (!service->is_complete && member->state == JD_PROCESS_STATE_CONNECTED) {
        /* It may be started again. */
        jd__processes_set_state(service, member, JD_PROCESS_STATE_ABSENT);
        jd__admission_unjoin(service, member);
    } else if (jd__processes_is_alive(member) &&
               !jd__wire_may_come_back(error)) {
        jd__failures_add(service, member, "%s",
                         jd__wire_describe_end(error, why, text));
    }
}

void jd__service_lost(struct jd_service *service,
                      struct jd_connection *connection, int error,
                      const char *why, double now)
{
    service->now = now;
    struct jd_service_process *member = connection->member;
    bool was_its = member && member->connection == connection;
    bool was_ended = connection->state == JD_CONNECTION_ENDED;
    if (connection->state == JD_CONNECTION_STRANGER)
        jd__log(JD_LOG_INFO,
                "coordination service: %s went away without having said who "
                "it is%s%s",
                connection->from, why ? ": " : "", why ? why : "");
    jd__service_connection_destroy(service, connection);
    if (was_its && !was_ended)
        lose_member(service, member, error, why);
    if (was_its) {
        jd__stacks_end(service, member);
        jd__traces_end(service, member);
    }
    jd__admission_check_leaving(service);
}

/* ---- requests ----------------------------------------------------------- */

static void on_nothing(struct jd_service *service,
                       struct jd_connection *connection,
                       const Jd__Message *message)
{
    if (connection->member)
        jd__failures_add(service, connection->member,
                         "it broke the protocol (it sent \"%s\")",
                         jd__wire_body_name(message));
    jd__service_connection_end(service, connection);
}

static jd_request_f *handler_of(Jd__Message__BodyCase body)
{
    static jd_request_f *const handlers[] = {
        [JD__MESSAGE__BODY_HEARTBEAT] = jd__processes_on_heartbeat,
        [JD__MESSAGE__BODY_JOIN] = jd__admission_on_join,
        [JD__MESSAGE__BODY_LEAVE] = jd__admission_on_leave,
        [JD__MESSAGE__BODY_SET] = jd__kv_on_set,
        [JD__MESSAGE__BODY_GET] = jd__kv_on_get,
        [JD__MESSAGE__BODY_LIST] = jd__kv_on_list,
        [JD__MESSAGE__BODY_DELETE] = jd__kv_on_delete,
        [JD__MESSAGE__BODY_INCREMENT] = jd__kv_on_increment,
        [JD__MESSAGE__BODY_ARRIVE] = jd__barriers_on_arrive,
        [JD__MESSAGE__BODY_CANCEL] = jd__barriers_on_cancel,
        [JD__MESSAGE__BODY_LIVE] = jd__processes_on_live,
        [JD__MESSAGE__BODY_REPORT] = jd__failures_on_report,
        [JD__MESSAGE__BODY_PREEMPTED] = jd__preemption_sync_on_preempted,
        [JD__MESSAGE__BODY_STEP] = jd__preemption_sync_on_step,
        [JD__MESSAGE__BODY_ACKNOWLEDGE] = jd__preemption_sync_on_acknowledge,
        [JD__MESSAGE__BODY_ARMED] = jd__processes_on_armed,
        [JD__MESSAGE__BODY_INQUIRY] = jd__processes_on_inquiry,
        [JD__MESSAGE__BODY_WITHDRAW] = jd__pending_on_withdraw,
        [JD__MESSAGE__BODY_BLOCKED] = jd__blocked_on_message,
        [JD__MESSAGE__BODY_SENT] = jd__blocked_on_sent,
        [JD__MESSAGE__BODY_STACK_OF] = jd__stacks_on_request,
        [JD__MESSAGE__BODY_STACK] = jd__stacks_on_answer,
        [JD__MESSAGE__BODY_STACK_SHOWN] = jd__stacks_on_shown,
        [JD__MESSAGE__BODY_TRACE_OF] = jd__traces_on_request,
        [JD__MESSAGE__BODY_TRACE_PART] = jd__traces_on_answer,
        [JD__MESSAGE__BODY_SITE_NAMED] = jd__sites_on_named,
    };
    unsigned number = (unsigned)body;
    return number < sizeof handlers / sizeof *handlers && handlers[number]
               ? handlers[number]
               : on_nothing;
}

/* Those that only processes make. */
static bool needs_member(Jd__Message__BodyCase body)
{
    switch (body) {
    case JD__MESSAGE__BODY_JOIN:
    case JD__MESSAGE__BODY_LEAVE:
    case JD__MESSAGE__BODY_ARRIVE:
    case JD__MESSAGE__BODY_LIVE:
    case JD__MESSAGE__BODY_REPORT:
    case JD__MESSAGE__BODY_PREEMPTED:
    case JD__MESSAGE__BODY_STEP:
    case JD__MESSAGE__BODY_ACKNOWLEDGE:
    case JD__MESSAGE__BODY_ARMED:
    case JD__MESSAGE__BODY_BLOCKED:
    case JD__MESSAGE__BODY_SENT:
    case JD__MESSAGE__BODY_STACK:
    case JD__MESSAGE__BODY_STACK_SHOWN:
    case JD__MESSAGE__BODY_TRACE_PART:
    case JD__MESSAGE__BODY_SITE_NAMED:
        return true;
    default:
        return false;
    }
}

/* An observer changes nothing. */
static bool is_forbidden(const struct jd_connection *connection,
                         Jd__Message__BodyCase body)
{
    return (needs_member(body) && !connection->member) ||
           (connection->role == JD__ROLE__OBSERVER &&
            body != JD__MESSAGE__BODY_INQUIRY &&
            body != JD__MESSAGE__BODY_STACK_OF &&
            body != JD__MESSAGE__BODY_TRACE_OF &&
            body != JD__MESSAGE__BODY_HEARTBEAT);
}

/* True where the request was answered on the connection that was lost. */
static bool answer_again(struct jd_service *service,
                         struct jd_connection *connection,
                         const Jd__Message *message)
{
    if (!connection->is_back || !is_once(message->body_case) || !message->id)
        return false;
    for (int i = 0; i < JD_ANSWERS_KEPT; i++) {
        struct jd_answered kept = connection->member->answered[i];
        Jd__Reply reply = JD__REPLY__INIT;
        if (kept.id != message->id)
            continue;
        reply.status = kept.status;
        reply.number = kept.number;
        reply.text = (char *)"(said again after the connection was lost)";
        jd__service_answer(service, connection, message->id, &reply);
        return true;
    }
    return false;
}

static void handle_message(struct jd_service *service,
                           struct jd_connection *connection,
                           const Jd__Message *message)
{
    if (connection->member)
        connection->member->heard = service->now;
    if (answer_again(service, connection, message))
        return;
    service->handled = message;
    service->handled_of = connection;
    if (is_forbidden(connection, message->body_case))
        jd__service_reply(service, connection, message->id,
                          JD_PERMISSION_DENIED,
                          "the service does not take \"%s\" from this "
                          "connection, which is no process of the job",
                          jd__wire_body_name(message));
    else
        handler_of(message->body_case)(service, connection, message);
    service->handled = NULL;
}

void jd__service_receive(struct jd_service *service,
                         struct jd_connection *connection,
                         const Jd__Message *message, double now)
{
    service->now = now;
    switch (connection->state) {
    case JD_CONNECTION_STRANGER:
        jd__greet_on_hello(service, connection, message);
        break;
    case JD_CONNECTION_KNOWN:
        handle_message(service, connection, message);
        break;
    case JD_CONNECTION_QUEUED:
    case JD_CONNECTION_VOUCHING:
        jd__greet_refuse(service, connection, JD_INVALID_ARGUMENT,
                         "it went on (\"%s\") before it was let in",
                         jd__wire_body_name(message));
        break;
    case JD_CONNECTION_ENDED:
        break;
    }
}

/* ---- time --------------------------------------------------------------- */

double jd__service_tick(struct jd_service *service, double now)
{
    service->now = now;
    double next = jd__strangers_end_slow(service);
    jd__greet_ask_munge(service);
    next = fmin(next, jd__pending_expire(service));
    next = fmin(next, jd__blocked_tick(service));
    next = fmin(next, jd__circles_tick(service));
    next = fmin(next, jd__stragglers_tick(service));
    next = fmin(next, jd__failures_tick(service));
    jd__admission_check_leaving(service);
    if (service->is_closing && service->leaving.count && !service->is_failing)
        next = fmin(next, service->closing_at);
    return next;
}

bool jd__service_is_used(const struct jd_service *service)
{
    return service->tally.connected > (service->members[0].connection != NULL);
}

bool jd__service_has_armed(const struct jd_service *service)
{
    return service->tally.armed > 0;
}

/* ---- life --------------------------------------------------------------- */

static bool copy_spec(struct jd_service *service,
                      const struct jd_service_spec *spec)
{
    service->hooks = spec->hooks;
    service->auth = *spec->auth;
    service->observer_auth =
        spec->observer_auth ? *spec->observer_auth : *spec->auth;
    service->attempt = spec->attempt;
    service->count = spec->count;
    service->heartbeat_timeout = spec->heartbeat_timeout;
    service->max_message = spec->max_message;
    service->max_store = spec->max_store;
    service->speakers = spec->speakers;
    service->notice = spec->notice;
    service->pid = spec->pid;
    service->job = strdup(spec->job);
    service->host = strdup(spec->host);
    service->program = strdup(spec->program);
    service->members = calloc((size_t)spec->count, sizeof *service->members);
    service->hosts = calloc((size_t)spec->count, sizeof *service->hosts);
    return service->job && service->host && service->program &&
           service->members && service->hosts;
}

jd_status jd__service_create(const struct jd_service_spec *spec,
                             struct jd_service **ret_service)
{
    size_t bytes = sizeof(struct jd_service) +
                   (size_t)spec->count * sizeof(struct jd_service_process);
    struct jd_service *service = calloc(1, sizeof *service);
    if (!service)
        return jd__fail_no_memory("the coordination service", bytes);
    if (!copy_spec(service, spec) ||
        jd__store_create(&service->store) != JD_OK ||
        jd__store_have_owners(service->store, (size_t)spec->count + 1) !=
            JD_OK) {
        jd__service_destroy(service);
        return jd__fail_no_memory("the coordination service", bytes);
    }
    jd__auth_random(&service->incarnation, sizeof service->incarnation);
    for (int i = 0; i < spec->count; i++)
        service->members[i].index = i;
    service->tally = jd__processes_count(service);
    *ret_service = service;
    return JD_OK;
}

static void destroy_connections(struct jd_service *service,
                                struct jd_connection_list *list)
{
    while (list->first)
        jd__service_connection_destroy(service, list->first);
}

void jd__service_destroy(struct jd_service *service)
{
    if (!service)
        return;
    jd__auth_wipe(&service->auth, sizeof service->auth);
    jd__auth_wipe(&service->observer_auth, sizeof service->observer_auth);
    destroy_connections(service, &service->strangers);
    destroy_connections(service, &service->queued);
    destroy_connections(service, &service->vouching);
    destroy_connections(service, &service->refused);
    destroy_connections(service, &service->known);
    jd__kv_finish(service);
    jd__barriers_finish(service);
    jd__failures_finish(service);
    jd__processes_hosts_finish(service);
    for (int i = 0; service->members && i < service->count; i++) {
        jd__blocked_forget(service, &service->members[i]);
        free(service->members[i].failure);
        free(service->members[i].call);
        free(service->members[i].queues);
    }
    free(service->queues_answer.ranges);
    jd__store_destroy(service->store);
    free(service->heap.items);
    free(service->members);
    free(service->hosts);
    free(service->job);
    free(service->host);
    free(service->program);
    free(service);
}

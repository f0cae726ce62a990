/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * greet.c - how a connection shows the service who it is, and the service the
 * connection: Challenge, Hello, Welcome (agent_greet.c is the other side).
 */
#include "base/log.h"
#include "runtime/coordination/server/service_private.h"

#include <stdarg.h>
#include <string.h>

/* ---- the refused -------------------------------------------------------- */

void jd__greet_refuse(struct jd_service *service,
                      struct jd_connection *connection, jd_status status,
                      const char *format, ...)
{
    Jd__Refusal refusal = JD__REFUSAL__INIT;
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    refusal.status = (int32_t)status;
    refusal.text = text;
    jd__log(JD_LOG_INFO, "coordination service: %s is not let in: %s",
            connection->from, text);
    jd__service_send(service, connection, JD__MESSAGE__BODY_REFUSAL, &refusal);
    jd__service_connection_end(service, connection);
}

static void refuse_job(struct jd_service *service,
                       struct jd_connection *connection, const Jd__Hello *hello)
{
    if (strcmp(hello->job, service->job) != 0)
        jd__greet_refuse(service, connection, JD_PERMISSION_DENIED,
                         "it belongs to another job (\"%.80s\"; this one is "
                         "\"%.80s\"); two jobs need two ports",
                         hello->job, service->job);
    else
        jd__greet_refuse(service, connection, JD_ABORTED,
                         "it belongs to attempt %u of the job, and this is "
                         "attempt %u; it should end",
                         (unsigned)hello->attempt, (unsigned)service->attempt);
}

/* ---- the Hello ---------------------------------------------------------- */

static const struct jd_auth *auth_for(const struct jd_service *service,
                                      const Jd__Hello *hello)
{
    return hello->role == JD__ROLE__OBSERVER ? &service->observer_auth
                                             : &service->auth;
}

/* What does not depend on who is there; false where it is refused. */
static bool check_job(struct jd_service *service,
                      struct jd_connection *connection, const Jd__Hello *hello)
{
    bool is_process = hello->role == JD__ROLE__PROCESS;
    if (hello->role != JD__ROLE__OBSERVER &&
        (strcmp(hello->job, service->job) != 0 ||
         hello->attempt != service->attempt))
        refuse_job(service, connection, hello);
    else if (is_process && hello->count != (uint32_t)service->count)
        jd__greet_refuse(service, connection, JD_INVALID_ARGUMENT,
                         "it believes that the job has %u processes, but it "
                         "has %d",
                         (unsigned)hello->count, service->count);
    else if (hello->process >= (uint32_t)service->count)
        jd__greet_refuse(service, connection, JD_OUT_OF_RANGE,
                         "it says that it is process %u, but the processes "
                         "are 0 to %d",
                         (unsigned)hello->process, service->count - 1);
    else
        return true;
    return false;
}

/* ---- the Welcome -------------------------------------------------------- */

static ProtobufCBinaryData challenge_of(const struct jd_connection *connection)
{
    return jd__wire_bytes(connection->nonce, sizeof connection->nonce);
}

/* All but its mac and credential. */
static void fill_welcome(const struct jd_service *service,
                         const struct jd_connection *connection,
                         const Jd__Hello *hello, Jd__Welcome *welcome)
{
    jd__welcome__init(welcome);
    if (auth_for(service, hello)->way == JD_AUTH_MUNGE)
        welcome->public_key = jd__wire_bytes(connection->public_key,
                                             sizeof connection->public_key);
}

/* Both sides have shown who they are. Only now is anything said of the job,
 * and what is said has a MAC where there is a key. */
static void take_in(struct jd_service *service,
                    struct jd_connection *connection, const Jd__Hello *hello,
                    const char *credential)
{
    const struct jd_auth *auth = auth_for(service, hello);
    Jd__Welcome body;
    uint8_t mac[JD_AUTH_MAC];
    fill_welcome(service, connection, hello, &body);
    jd__auth_welcome_mac(auth, challenge_of(connection), hello->nonce, &body,
                         mac);
    body.mac = jd__wire_bytes(mac, sizeof mac);
    body.credential = (char *)credential;
    jd__service_send(service, connection, JD__MESSAGE__BODY_WELCOME, &body);
    service->hooks->welcome(
        connection->peer, auth->way == JD_AUTH_OPEN ? NULL : &connection->keys);
    jd__auth_wipe(&connection->keys, sizeof connection->keys);
    if (check_job(service, connection, hello))
        jd__admission_admit(service, connection, hello);
}

/* ---- who shows what ----------------------------------------------------- */

static void refuse_secret(struct jd_service *service,
                          struct jd_connection *connection,
                          const Jd__Hello *hello)
{
    const struct jd_auth *auth = auth_for(service, hello);
    if (hello->role == JD__ROLE__OBSERVER && strcmp(auth->source, "MPI") == 0)
        jd__greet_refuse(service, connection, JD_UNAUTHENTICATED,
                         "only the job's own processes know its secret; "
                         "start the job with JD_SECRET_FILE set, and "
                         "jd-info with the same");
    else
        jd__greet_refuse(service, connection, JD_UNAUTHENTICATED,
                         "it does not know the job's secret (here it is from "
                         "%s); set the same everywhere",
                         auth->source[0] ? auth->source : "nowhere");
}

/* A root user may look at anybody's job. */
static enum jd_munge_user user_for(const Jd__Hello *hello)
{
    return hello->role == JD__ROLE__OBSERVER ? JD_MUNGE_ROOT : JD_MUNGE_OWN;
}

/* munge vouches for each side to the other: it is asked about the Hello's
 * credential, and for the Welcome's. */
static bool begin_question(struct jd_service *service,
                           struct jd_connection *connection,
                           const Jd__Hello *hello)
{
    const struct jd_auth *auth = auth_for(service, hello);
    uint8_t hello_mac[JD_AUTH_MAC], welcome_mac[JD_AUTH_MAC];
    Jd__Welcome welcome;
    fill_welcome(service, connection, hello, &welcome);
    jd__auth_hello_mac(auth, challenge_of(connection), hello, hello_mac);
    jd__auth_welcome_mac(auth, challenge_of(connection), hello->nonce, &welcome,
                         welcome_mac);
    struct jd_munge_spec spec = {
        .credential = hello->credential,
        .payload = hello_mac,
        .size = sizeof hello_mac,
        .answer = welcome_mac,
        .answer_size = sizeof welcome_mac,
        .user = user_for(hello),
    };
    return service->hooks->vouch(connection->peer, &spec);
}

static void ask_munge(struct jd_service *service,
                      struct jd_connection *connection)
{
    const Jd__Hello *hello = connection->hello->hello;
    struct jd_auth_exchange exchange;
    jd__auth_exchange_begin(&exchange);
    memcpy(connection->public_key, exchange.public_key,
           sizeof connection->public_key);
    bool is_agreed = jd__auth_agree(auth_for(service, hello), &exchange,
                                    hello->public_key, challenge_of(connection),
                                    hello->nonce, &connection->keys);
    connection->accepted_at = service->now;
    jd__service_connection_set_state(service, connection,
                                     JD_CONNECTION_VOUCHING);
    if (!is_agreed)
        jd__greet_refuse(service, connection, JD_INVALID_ARGUMENT,
                         "its public key of %zu bytes is none",
                         hello->public_key.len);
    else if (!begin_question(service, connection, hello))
        jd__greet_refuse(service, connection, JD_RESOURCE_EXHAUSTED,
                         "munge cannot be asked: no memory or thread");
}

void jd__greet_ask_munge(struct jd_service *service)
{
    while (service->queued.first &&
           service->vouching.count < JD_SERVICE_QUESTIONS)
        ask_munge(service, service->queued.first);
}

/* Each question is a thread: only so many at once. */
static void queue_for_munge(struct jd_service *service,
                            struct jd_connection *connection,
                            const Jd__Message *message)
{
    const Jd__Hello *hello = message->hello;
    if (!hello->credential[0]) {
        jd__greet_refuse(service, connection, JD_UNAUTHENTICATED,
                         "it brings no munge credential, which this job asks "
                         "for; set JD_SECRET_FILE where there is no munge");
        return;
    }
    connection->hello = jd__wire_copy(message);
    if (!connection->hello) {
        jd__greet_refuse(service, connection, JD_RESOURCE_EXHAUSTED,
                         "munge cannot be asked: no memory");
        return;
    }
    if (connection->is_own) { /* in no list of strangers, so in no queue */
        ask_munge(service, connection);
        return;
    }
    jd__service_connection_set_state(service, connection, JD_CONNECTION_QUEUED);
    jd__greet_ask_munge(service);
}

static void check_secret(struct jd_service *service,
                         struct jd_connection *connection,
                         const Jd__Hello *hello)
{
    static const ProtobufCBinaryData none = { 0, NULL };
    const struct jd_auth *auth = auth_for(service, hello);
    enum jd_peer_owner owner = JD_OWNER_OURS;
    if (auth->way == JD_AUTH_OPEN)
        owner = service->hooks->owner(connection->peer);
    connection->is_anybody = owner == JD_OWNER_ANYBODY;
    if (!jd__auth_hello_is_right(auth, challenge_of(connection), hello)) {
        refuse_secret(service, connection, hello);
    } else if (owner == JD_OWNER_OTHER) {
        jd__greet_refuse(service, connection, JD_UNAUTHENTICATED,
                         "it belongs to another user of this host; let its "
                         "user start all processes, or set JD_SECRET_FILE, "
                         "the same for all");
    } else {
        jd__auth_agree(auth, NULL, none, challenge_of(connection), hello->nonce,
                       &connection->keys);
        take_in(service, connection, hello, "");
    }
}

void jd__greet_on_hello(struct jd_service *service,
                        struct jd_connection *connection,
                        const Jd__Message *message)
{
    const Jd__Hello *hello = message->hello;
    if (message->body_case != JD__MESSAGE__BODY_HELLO)
        jd__greet_refuse(service, connection, JD_INVALID_ARGUMENT,
                         "it began with \"%s\", not with \"hello\"",
                         jd__wire_body_name(message));
    else if (hello->protocol != JD_WIRE_PROTOCOL)
        jd__greet_refuse(service, connection, JD_UNIMPLEMENTED,
                         "it speaks protocol %u, this service %d; all "
                         "processes need the same version of jd",
                         (unsigned)hello->protocol, JD_WIRE_PROTOCOL);
    else if (hello->nonce.len != JD_AUTH_NONCE)
        jd__greet_refuse(service, connection, JD_INVALID_ARGUMENT,
                         "its nonce has %zu bytes, not %d", hello->nonce.len,
                         JD_AUTH_NONCE);
    else if (auth_for(service, hello)->way == JD_AUTH_MUNGE)
        queue_for_munge(service, connection, message);
    else
        check_secret(service, connection, hello);
}

void jd__service_vouched(struct jd_service *service,
                         struct jd_connection *connection, jd_status status,
                         const char *text, double now)
{
    service->now = now;
    if (connection->state != JD_CONNECTION_VOUCHING)
        return;
    if (status != JD_OK)
        jd__greet_refuse(service, connection, status, "%s", text);
    else
        take_in(service, connection, connection->hello->hello, text);
}

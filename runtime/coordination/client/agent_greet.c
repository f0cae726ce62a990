/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * agent_greet.c - how an agent is let in on a connection: Challenge, Hello,
 * Welcome, Admitted.
 *
 * Nobody is believed before he has shown that he is the job's service: by the
 * secret, by munge, or, where nobody has said a secret, by being of our own
 * user on this host. Who cannot show it is passed over like a port where
 * nobody listens, whatever he says, and tried again until the deadline.
 */
#include "base/log.h"
#include "runtime/coordination/client/agent_private.h"
#include "runtime/coordination/net/listen.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MUNGE_SECONDS 4 /* less than the service waits for a Hello */

static ProtobufCBinaryData bytes_of(const uint8_t bytes[JD_AUTH_NONCE])
{
    return jd__wire_bytes(bytes, JD_AUTH_NONCE);
}

/* ---- who cannot be believed --------------------------------------------- */

/* Once, so that nobody waits for the deadline to learn it. */
static void warn_once(struct jd_agent *agent, const char *what)
{
    if (agent->has_warned || agent->spec.is_search ||
        agent->state != JD_AGENT_MEETING)
        return;
    agent->has_warned = true;
    jd__log(JD_LOG_WARNING,
            "process %d is not let in at %s: %s; who answers there has not "
            "shown that it is the job's service, so it is tried again until "
            "the deadline (JD_INITIALIZATION_TIMEOUT)",
            agent->spec.process, agent->trying, what);
}

/* The address is noted with this, and the next one is tried. */
__attribute__((format(printf, 2, 3))) static void
pass_over(struct jd_agent *agent, const char *format, ...)
{
    char text[640];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (agent->spec.fd >= 0) /* the service of this very process */
        jd__agent_be_refused(agent, JD_INTERNAL, text);
    else
        jd__agent_give_up_address(agent, text);
}

/* The service may have room or time for us the next time, as where strangers
 * flood it. */
static bool may_come_again(const struct jd_agent *agent, jd_status status)
{
    return agent->spec.fd < 0 &&
           (status == JD_RESOURCE_EXHAUSTED || status == JD_DEADLINE_EXCEEDED);
}

/* The same service may be known by more than one address, or be elsewhere. */
static bool may_be_elsewhere(const struct jd_agent *agent, jd_status status)
{
    return agent->spec.is_search && agent->state == JD_AGENT_MEETING &&
           status == JD_PERMISSION_DENIED;
}

static void on_refusal(struct jd_agent *agent, const Jd__Refusal *refusal)
{
    jd_status status = (jd_status)refusal->status;
    /* Who only looks is harmed by nobody's no, and need not wait. */
    bool is_known = agent->greeting.is_known || agent->spec.fd >= 0 ||
                    agent->spec.role == JD__ROLE__OBSERVER;
    if (may_come_again(agent, status) || may_be_elsewhere(agent, status)) {
        jd__agent_give_up_address(agent, refusal->text);
    } else if (is_known) {
        jd__agent_be_refused(agent, status, refusal->text);
    } else {
        warn_once(agent, refusal->text);
        pass_over(agent, "it refuses: %.500s", refusal->text);
    }
}

/* ---- while munge is asked ----------------------------------------------- */

static void forget_held(struct jd_greeting *greeting)
{
    for (int i = 0; i < greeting->num_held; i++)
        jd__message__free_unpacked(greeting->held[i], NULL);
    greeting->num_held = 0;
}

/* Handling one may end the connection, and the greeting with it; or let us
 * in. */
static void handle_held(struct jd_agent *agent)
{
    Jd__Message *held[JD_AGENT_HELD];
    int count = agent->greeting.num_held;
    struct jd_link *link = agent->link;
    memcpy(held, agent->greeting.held, sizeof held);
    agent->greeting.num_held = 0;
    for (int i = 0; i < count; i++) {
        if (agent->link != link || agent->state == JD_AGENT_DEAD)
            jd__message__free_unpacked(held[i], NULL);
        else if (agent->state == JD_AGENT_READY)
            jd__agent_on_message(agent, held[i]);
        else
            jd__agent_greet(agent, held[i]);
    }
}

/* ---- the Hello ---------------------------------------------------------- */

static void fill_hello(struct jd_agent *agent, Jd__Hello *hello)
{
    struct jd_greeting *greeting = &agent->greeting;
    jd__hello__init(hello);
    hello->protocol = JD_WIRE_PROTOCOL;
    hello->role = agent->spec.role;
    hello->job = (char *)agent->spec.job;
    hello->attempt = agent->spec.attempt;
    hello->process = (uint32_t)agent->spec.process;
    hello->count = (uint32_t)agent->spec.count;
    hello->incarnation = agent->incarnation;
    hello->host = (char *)agent->spec.host;
    hello->boot_id = (char *)agent->spec.boot_id;
    hello->program = (char *)agent->spec.program;
    hello->pid = agent->spec.pid;
    hello->shows_traces = true;
    hello->is_back = agent->state == JD_AGENT_BACKING;
    hello->nonce = bytes_of(greeting->nonce);
    if (agent->auth.way == JD_AUTH_MUNGE)
        hello->public_key =
            jd__wire_bytes(greeting->exchange.public_key,
                           sizeof greeting->exchange.public_key);
}

static void send_hello(struct jd_agent *agent, const char *credential)
{
    Jd__Message message = JD__MESSAGE__INIT;
    Jd__Hello hello;
    uint8_t mac[JD_AUTH_MAC];
    fill_hello(agent, &hello);
    jd__auth_hello_mac(&agent->auth, bytes_of(agent->greeting.challenge),
                       &hello, mac);
    hello.mac = jd__wire_bytes(mac, sizeof mac);
    hello.credential = (char *)credential;
    message.body_case = JD__MESSAGE__BODY_HELLO;
    message.hello = &hello;
    jd__link_send(agent->link, &message);
}

/* A root user may look at anybody's job. */
static enum jd_munge_user user_for(const struct jd_agent *agent)
{
    if (agent->spec.role != JD__ROLE__OBSERVER)
        return JD_MUNGE_OWN;
    return geteuid() == 0 ? JD_MUNGE_ANY : JD_MUNGE_ROOT;
}

static void ask_munge(struct jd_agent *agent, const struct jd_munge_spec *spec,
                      jd_munge_done_f done)
{
    struct jd_munge_spec question = *spec;
    question.timeout = agent->spec.munge_timeout > 0 ? agent->spec.munge_timeout
                                                     : MUNGE_SECONDS;
    question.user = user_for(agent);
    agent->greeting.question =
        jd__munge_ask(agent->spec.loop, &question, done, agent);
    if (!agent->greeting.question)
        jd__agent_be_refused(agent, JD_RESOURCE_EXHAUSTED, jd_error_message());
}

/* This process's own munge does not help: it would not elsewhere, either, but
 * one that has much to do may have time for us later. */
static void on_credential(void *arg, jd_status status, const char *text)
{
    struct jd_agent *agent = arg;
    agent->greeting.question = NULL;
    if (may_come_again(agent, status)) {
        jd__agent_give_up_address(agent, text);
        return;
    }
    if (status != JD_OK) {
        jd__agent_be_refused(agent, status, text);
        return;
    }
    send_hello(agent, text);
    handle_held(agent);
}

static void ask_for_credential(struct jd_agent *agent)
{
    Jd__Hello hello;
    uint8_t mac[JD_AUTH_MAC];
    jd__auth_exchange_begin(&agent->greeting.exchange);
    fill_hello(agent, &hello);
    jd__auth_hello_mac(&agent->auth, bytes_of(agent->greeting.challenge),
                       &hello, mac);
    struct jd_munge_spec spec = { .answer = mac, .answer_size = sizeof mac };
    ask_munge(agent, &spec, on_credential);
}

/* ---- the Challenge ------------------------------------------------------ */

/* Where nobody has said a secret: on this host it must be of our own user,
 * and then it is known; elsewhere nothing is. False where it is passed over. */
static bool look_at_user(struct jd_agent *agent)
{
    uid_t user = 0;
    enum jd_peer_place place = jd__port_owner_peer_user(agent->fd, &user);
    bool is_observer = agent->spec.role == JD__ROLE__OBSERVER;
    bool is_ours = user == geteuid() || (is_observer && geteuid() == 0);
    agent->greeting.is_known = place == JD_PEER_HERE && is_ours;
    if (place == JD_PEER_HIDDEN)
        pass_over(agent, "whose it is cannot be seen on this host (/proc/net "
                         "does not show it), so it is not believed; set "
                         "JD_SECRET_FILE, the same for all processes");
    else if (place == JD_PEER_HERE && !is_ours)
        pass_over(agent,
                  "it is served by user %u of this host, and this process is "
                  "user %u's, so it is not believed; set "
                  "JD_COORDINATOR_ADDRESS to another port, or JD_SECRET_FILE, "
                  "the same for all processes",
                  (unsigned)user, (unsigned)geteuid());
    return place == JD_PEER_AWAY || agent->greeting.is_known;
}

static void on_challenge(struct jd_agent *agent, const Jd__Challenge *challenge)
{
    struct jd_greeting *greeting = &agent->greeting;
    if (challenge->protocol != JD_WIRE_PROTOCOL) {
        pass_over(agent,
                  "the service speaks protocol %u, this process %d; all "
                  "processes need the same version of jd",
                  (unsigned)challenge->protocol, JD_WIRE_PROTOCOL);
        return;
    }
    if (challenge->nonce.len != sizeof greeting->challenge ||
        greeting->was_challenged) {
        pass_over(agent, "what answers there is no service of jd");
        return;
    }
    if (agent->auth.way == JD_AUTH_OPEN && !look_at_user(agent))
        return;
    memcpy(greeting->challenge, challenge->nonce.data,
           sizeof greeting->challenge);
    greeting->was_challenged = true;
    jd__auth_random(greeting->nonce, sizeof greeting->nonce);
    if (agent->auth.way == JD_AUTH_MUNGE)
        ask_for_credential(agent);
    else
        send_hello(agent, "");
}

/* ---- the Welcome -------------------------------------------------------- */

/* What it says from here on is the service's own word. */
static void begin_to_believe(struct jd_agent *agent)
{
    agent->greeting.is_welcome = true;
    agent->greeting.is_known |= agent->auth.way != JD_AUTH_OPEN;
}

static void on_vouched(void *arg, jd_status status, const char *text)
{
    struct jd_agent *agent = arg;
    agent->greeting.question = NULL;
    if (status != JD_OK) {
        pass_over(agent, "it says that we are welcome, but %.500s", text);
        return;
    }
    const char *closed = agent->greeting.closed;
    struct jd_link *link = agent->link;
    begin_to_believe(agent);
    handle_held(agent);
    if (!closed || agent->link != link || agent->state == JD_AGENT_DEAD)
        return;
    if (agent->state == JD_AGENT_READY)
        jd__agent_die(agent, "%s", closed);
    else
        jd__agent_give_up_address(agent, closed);
}

/* The keys are there before munge has answered: what comes with the Welcome is
 * read, and held. */
static void ask_about(struct jd_agent *agent, const Jd__Welcome *welcome)
{
    struct jd_munge_spec spec = { .credential = welcome->credential,
                                  .payload = welcome->mac.data,
                                  .size = welcome->mac.len };
    if (welcome->credential[0])
        ask_munge(agent, &spec, on_vouched);
    else
        pass_over(agent, "what answers there shows no munge credential, which "
                         "a Slurm job's service has; set JD_SECRET_FILE, the "
                         "same for all processes, where its host has no munge");
}

/* False where the other side's public key is none. */
static bool seal_link(struct jd_agent *agent, const Jd__Welcome *welcome)
{
    struct jd_greeting *greeting = &agent->greeting;
    struct jd_auth_keys keys;
    if (agent->auth.way == JD_AUTH_OPEN)
        return true;
    if (!jd__auth_agree(&agent->auth, &greeting->exchange, welcome->public_key,
                        bytes_of(greeting->challenge),
                        bytes_of(greeting->nonce), &keys))
        return false;
    jd__link_seal(agent->link, keys.to_service, keys.to_agent);
    jd__auth_wipe(&keys, sizeof keys);
    return true;
}

static void on_welcome(struct jd_agent *agent, const Jd__Welcome *welcome)
{
    struct jd_greeting *greeting = &agent->greeting;
    bool is_right =
        greeting->was_challenged && !greeting->is_welcome &&
        jd__auth_welcome_is_right(&agent->auth, bytes_of(greeting->challenge),
                                  bytes_of(greeting->nonce), welcome);
    if (!is_right || !seal_link(agent, welcome))
        pass_over(agent, "what answers there does not know the job's secret");
    else if (agent->auth.way == JD_AUTH_MUNGE)
        ask_about(agent, welcome);
    else
        begin_to_believe(agent);
}

/* ---- let in ------------------------------------------------------------- */

static void on_admitted(struct jd_agent *agent, const Jd__Admitted *admitted)
{
    if (!agent->greeting.is_welcome) {
        pass_over(agent, "what answers there does not know the job's secret");
        return;
    }
    event_del(agent->meet_timer);
    jd__link_set_limit(agent->link, agent->spec.max_message);
    pthread_mutex_lock(&agent->lock);
    snprintf(agent->place.host, sizeof agent->place.host, "%s", admitted->host);
    snprintf(agent->place.program, sizeof agent->place.program, "%s",
             admitted->program);
    agent->place.pid = admitted->pid;
    agent->place.incarnation = admitted->incarnation;
    agent->place.shows_traces = admitted->shows_traces;
    agent->place.names_sites = admitted->names_sites;
    pthread_mutex_unlock(&agent->lock);
    jd__agent_heartbeat_start(agent);
    jd__agent_be_ready(agent);
}

static void greet_service(struct jd_agent *agent, const Jd__Message *message)
{
    switch (message->body_case) {
    case JD__MESSAGE__BODY_CHALLENGE:
        on_challenge(agent, message->challenge);
        break;
    case JD__MESSAGE__BODY_WELCOME:
        on_welcome(agent, message->welcome);
        break;
    case JD__MESSAGE__BODY_ADMITTED:
        on_admitted(agent, message->admitted);
        break;
    case JD__MESSAGE__BODY_REFUSAL:
        on_refusal(agent, message->refusal);
        break;
    default:
        pass_over(agent, "what answers there is no service of jd");
    }
}

void jd__agent_greet(struct jd_agent *agent, Jd__Message *message)
{
    struct jd_greeting *greeting = &agent->greeting;
    if (greeting->question && greeting->num_held < JD_AGENT_HELD) {
        greeting->held[greeting->num_held++] = message;
        return;
    }
    if (greeting->question)
        pass_over(agent, "it goes on before it has shown who it is");
    else
        greet_service(agent, message);
    jd__message__free_unpacked(message, NULL);
}

void jd__agent_forget_greeting(struct jd_agent *agent)
{
    struct jd_greeting *greeting = &agent->greeting;
    jd__munge_cancel(greeting->question);
    forget_held(greeting);
    jd__auth_wipe(greeting, sizeof *greeting);
}

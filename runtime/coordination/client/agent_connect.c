/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * agent_connect.c - how an agent comes to a connection that is let in: each
 * address in turn, each with a short deadline, again and again until the
 * caller's deadline. What is said on it is in agent_greet.c.
 */
#include "base/clock.h"
#include "base/log.h"
#include "runtime/coordination/client/agent_private.h"

#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CONNECT_SECONDS 2 /* for one address */
#define WELCOME_SECONDS 6 /* for the service to let us in */
#define MAX_PAUSE_MS 1000 /* between two rounds over all addresses */
#define COME_AT_ONCE 512  /* processes; the others come one after the other */
#define COME_PER_SECOND 20000.0

static void try_next(struct jd_agent *agent);

double jd__agent_turn(int number)
{
    return number < COME_AT_ONCE ? 0
                                 : (number - COME_AT_ONCE) / COME_PER_SECOND;
}

/* ---- what went wrong ---------------------------------------------------- */

/* Appends to what is said where the deadline passes: "10.0.0.1:99: connection
 * refused". */
static void note_failure(struct jd_agent *agent, const char *address,
                         const char *what)
{
    char *text = NULL;
    pthread_mutex_lock(&agent->lock);
    if (asprintf(&text, "%s%s%s: %s", agent->noted ? agent->noted : "",
                 agent->noted ? "; " : "", address, what) >= 0) {
        free(agent->noted);
        agent->noted = text;
    }
    agent->trying[0] = '\0';
    pthread_mutex_unlock(&agent->lock);
}

/* All were tried: what came of them stands until the next round is over. */
static void end_round(struct jd_agent *agent)
{
    pthread_mutex_lock(&agent->lock);
    if (agent->noted) {
        free(agent->why);
        agent->why = agent->noted;
        agent->noted = NULL;
    }
    pthread_mutex_unlock(&agent->lock);
}

static void current_address(const struct jd_agent *agent,
                            char text[JD_ENDPOINT_TEXT])
{
    if (agent->spec.fd >= 0 || agent->next_endpoint == 0)
        snprintf(text, JD_ENDPOINT_TEXT, "this process");
    else
        jd__addresses_format(&agent->endpoints.items[agent->next_endpoint - 1],
                             text);
}

static void drop_link(struct jd_agent *agent)
{
    jd__agent_forget_greeting(agent);
    pthread_mutex_lock(&agent->lock);
    struct jd_link *link = agent->link;
    agent->link = NULL;
    pthread_mutex_unlock(&agent->lock);
    jd__link_destroy(link);
}

static void begin_address(struct jd_agent *agent)
{
    pthread_mutex_lock(&agent->lock);
    current_address(agent, agent->trying);
    pthread_mutex_unlock(&agent->lock);
}

/* This address does not do: the next one. */
void jd__agent_give_up_address(struct jd_agent *agent, const char *what)
{
    char address[JD_ENDPOINT_TEXT];
    current_address(agent, address);
    note_failure(agent, address, what);
    event_del(agent->meet_timer);
    drop_link(agent);
    try_next(agent);
}

void jd__agent_be_refused(struct jd_agent *agent, jd_status status,
                          const char *text)
{
    event_del(agent->meet_timer);
    drop_link(agent);
    if (agent->state == JD_AGENT_BACKING)
        jd__agent_die(agent, "it does not let us back in: %s", text);
    jd__agent_set_state(agent, JD_AGENT_DEAD, status, strdup(text));
}

static void on_link_message(void *arg, Jd__Message *message)
{
    struct jd_agent *agent = arg;
    if (agent->state == JD_AGENT_READY) {
        jd__agent_on_message(agent, message);
        return;
    }
    if (agent->state != JD_AGENT_DEAD)
        jd__agent_greet(agent, message);
    else
        jd__message__free_unpacked(message, NULL);
}

/* Before we are let in: what the address is noted with. */
static const char *describe_close(int error, const char *why)
{
    static const char closed[] = "it closed the connection, as the job's "
                                 "service does where strangers flood it";
    bool is_close = error == 0 || error == ECONNRESET;
    return why ? why : is_close ? closed : strerror(error);
}

static void on_link_closed(void *arg, int error, const char *why)
{
    struct jd_agent *agent = arg;
    char text[JD_WIRE_END_TEXT];
    if (agent->state == JD_AGENT_DEAD) {
        drop_link(agent);
        return;
    }
    if (agent->greeting.question && agent->greeting.num_held) {
        agent->greeting.closed = "it closed the connection";
        return; /* what it said before counts, when munge has answered */
    }
    if (agent->state != JD_AGENT_READY) {
        jd__agent_give_up_address(agent, describe_close(error, why));
        return;
    }
    jd__agent_heartbeat_stop(agent);
    drop_link(agent);
    if (jd__wire_may_come_back(error) && agent->spec.fd < 0) {
        agent->back_since = agent->heard;
        agent->next_endpoint = agent->rounds = 0;
        jd__agent_set_state(agent, JD_AGENT_BACKING, JD_OK, NULL);
        try_next(agent);
    } else {
        jd__agent_die(agent, "%s", jd__wire_describe_end(error, why, text));
    }
}

const struct jd_link_hooks jd__agent_link_hooks = {
    .keeps_messages = true,
    .waits_for_reader = true,
    .on_message = on_link_message,
    .on_closed = on_link_closed,
};

/* ---- connecting --------------------------------------------------------- */

static void on_meet_timeout(evutil_socket_t fd, short what, void *arg)
{
    static const char silence[] =
        "connected, but nothing of jd answered in time";
    struct jd_agent *agent = arg;
    (void)fd, (void)what;
    if (!agent->spec.is_search)
        jd__log(JD_LOG_INFO, "process %d: %s: %s (%d s); it is tried again",
                agent->spec.process, agent->trying, silence, WELCOME_SECONDS);
    jd__agent_give_up_address(agent, silence);
}

/* The socket is connected, and the agent's from here on. */
static void begin_meeting(struct jd_agent *agent, int fd)
{
    static const struct timeval end = { WELCOME_SECONDS, 0 };
    agent->fd = fd;
    struct jd_link *link = jd__link_create(
        agent->pool, fd, JD_WIRE_STRANGER_MAX, &jd__agent_link_hooks, agent);
    pthread_mutex_lock(&agent->lock);
    agent->link = link;
    pthread_mutex_unlock(&agent->lock);
    if (!link || !jd__link_start(link))
        jd__agent_give_up_address(agent, strerror(ENOMEM));
    else
        event_add(agent->meet_timer, &end);
}

static void on_connected(evutil_socket_t fd, short what, void *arg)
{
    static const int on = 1;
    struct jd_agent *agent = arg;
    int error = what & EV_WRITE ? 0 : ETIMEDOUT; /* or both, of a late look */
    socklen_t length = sizeof error;
    event_free(agent->connect_event);
    agent->connect_event = NULL;
    agent->connecting_fd = -1;
    if (!error)
        getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length);
    if (error) {
        close(fd);
        jd__agent_give_up_address(agent, strerror(error));
        return;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    begin_meeting(agent, fd);
}

/* Returns 0, or the errno. */
static int start_connecting(struct jd_agent *agent,
                            const struct jd_endpoint *endpoint)
{
    static const struct timeval end = { CONNECT_SECONDS, 0 };
    struct sockaddr_storage address;
    socklen_t length = jd__addresses_sockaddr(endpoint, &address);
    int fd = socket(address.ss_family,
                    SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return errno;
    if (connect(fd, (struct sockaddr *)&address, length) != 0 &&
        errno != EINPROGRESS) {
        int error = errno;
        close(fd);
        return error;
    }
    agent->connect_event = event_new(jd__loop_base(agent->spec.loop), fd,
                                     EV_WRITE, on_connected, agent);
    if (agent->connect_event && event_add(agent->connect_event, &end) == 0) {
        agent->connecting_fd = fd;
        return 0;
    }
    if (agent->connect_event)
        event_free(agent->connect_event);
    agent->connect_event = NULL;
    close(fd);
    return ENOMEM;
}

static void try_after(struct jd_agent *agent, double seconds)
{
    double whole = floor(seconds);
    struct timeval wait = { (time_t)whole,
                            (suseconds_t)(1e6 * (seconds - whole)) };
    event_add(agent->retry_timer, &wait);
}

/* All were tried: again after a pause, which grows. */
static void pause_connecting(struct jd_agent *agent)
{
    end_round(agent);
    if (agent->spec.is_search && agent->state == JD_AGENT_MEETING) {
        jd__agent_set_state(agent, JD_AGENT_DEAD, JD_NOT_FOUND, NULL);
        return;
    }
    int pause = agent->rounds < 7 ? 10 << agent->rounds : MAX_PAUSE_MS;
    agent->rounds++;
    agent->next_endpoint = 0;
    try_after(agent, 1e-3 * pause);
}

static bool is_too_late_to_come_back(const struct jd_agent *agent)
{
    double timeout = agent->spec.heartbeat_timeout;
    return agent->state == JD_AGENT_BACKING && timeout >= 0 &&
           jd__clock_read(agent->spec.clock) - agent->back_since > timeout;
}

static void try_next(struct jd_agent *agent)
{
    if (agent->state == JD_AGENT_DEAD)
        return;
    if (is_too_late_to_come_back(agent)) {
        jd__agent_die(agent,
                      "it cannot be reached any more (JD_HEARTBEAT_TIMEOUT is "
                      "%.3g s)",
                      agent->spec.heartbeat_timeout);
        return;
    }
    while (agent->next_endpoint < agent->endpoints.count) {
        const struct jd_endpoint *endpoint =
            &agent->endpoints.items[agent->next_endpoint++];
        char address[JD_ENDPOINT_TEXT];
        begin_address(agent);
        int error = start_connecting(agent, endpoint);
        if (!error)
            return;
        jd__addresses_format(endpoint, address);
        note_failure(agent, address, strerror(error));
    }
    pause_connecting(agent);
}

static void on_retry(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    try_next(arg);
}

/* On the connection that it was given. */
static void begin_own_meeting(struct jd_agent *agent)
{
    int fd = agent->connecting_fd;
    agent->connecting_fd = -1;
    begin_address(agent);
    begin_meeting(agent, fd);
}

void jd__agent_connect(struct jd_agent *agent)
{
    struct event_base *base = jd__loop_base(agent->spec.loop);
    agent->retry_timer = event_new(base, -1, 0, on_retry, agent);
    agent->meet_timer = event_new(base, -1, 0, on_meet_timeout, agent);
    if (!agent->retry_timer || !agent->meet_timer ||
        !jd__agent_heartbeat_open(agent))
        jd__agent_set_state(agent, JD_AGENT_DEAD, JD_RESOURCE_EXHAUSTED,
                            strdup("no memory for the agent's timers"));
    else if (agent->connecting_fd >= 0)
        begin_own_meeting(agent);
    else if (agent->spec.turn > 0)
        try_after(agent, agent->spec.turn);
    else
        try_next(agent);
}

void jd__agent_close(struct jd_agent *agent)
{
    jd__agent_heartbeat_close(agent);
    drop_link(agent);
    if (agent->connect_event)
        event_free(agent->connect_event);
    if (agent->connecting_fd >= 0)
        close(agent->connecting_fd);
    if (agent->retry_timer)
        event_free(agent->retry_timer);
    if (agent->meet_timer)
        event_free(agent->meet_timer);
    agent->connect_event = agent->retry_timer = agent->meet_timer = NULL;
    agent->connecting_fd = -1;
}

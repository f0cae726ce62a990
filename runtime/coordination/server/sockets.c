/* SPDX-License-Identifier: BSD-3-Clause */
/* sockets.c - the service's sockets and its clock. */
#include "runtime/coordination/server/sockets.h"
#include "base/clock.h"
#include "base/log.h"
#include "runtime/coordination/auth/munge.h"
#include "runtime/coordination/net/link.h"

#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ACCEPTS_PER_TURN 16    /* then those who came are heard */
#define MUNGE_SECONDS 4.0      /* less than a stranger has to come in */
#define ACCEPT_PAUSE_SECONDS 1 /* where there is no descriptor left */

struct jd_server {
    struct jd_loop *loop;
    struct jd_link_pool *pool;
    struct jd_service *service;
    size_t max_message;
    struct event *accept_events[JD_MAX_LISTENERS];
    struct event *timer;
    double now;      /* the service's clock, as it saw it last */
    double timer_at; /* INFINITY: not set */
    struct jd_listeners listeners;
    struct socket_peer *peers;
    bool is_short;  /* of descriptors, and has said so */
    bool is_paused; /* nothing is accepted until the timer */
};

/* One connection. */
struct socket_peer {
    struct jd_server *server;
    int fd; /* the link's */
    struct jd_link *link;
    struct jd_connection *connection;
    struct jd_munge_question *question; /* munge is asked; NULL: it is not */
    struct socket_peer *next, *previous;
};

/* ---- the clock ---------------------------------------------------------- */

static double look_at_clock(struct jd_server *server)
{
    return server->now = jd__clock_now();
}

/* Once for all messages of a read: to look at the clock is a sixtieth of what a
 * set takes. It never goes back, though others have looked at it meanwhile. */
static double look_at_reading(struct jd_server *server)
{
    return server->now = fmax(server->now, jd__link_reading_at(server->pool));
}

static void set_timer(struct jd_server *server, double at)
{
    if (at >= server->timer_at)
        return;
    double wait = fmax(at - look_at_clock(server), 0);
    struct timeval tv = { (time_t)wait,
                          (suseconds_t)(1e6 * (wait - floor(wait))) };
    server->timer_at = at;
    event_add(server->timer, &tv);
}

static void tick_service(struct jd_server *server)
{
    double next = jd__service_tick(server->service, look_at_clock(server));
    set_timer(server, next);
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct jd_server *server = arg;
    (void)fd, (void)what;
    server->timer_at = INFINITY;
    for (int i = 0; server->is_paused && i < server->listeners.count; i++)
        event_add(server->accept_events[i], NULL);
    server->is_paused = false;
    tick_service(server);
}

/* ---- connections -------------------------------------------------------- */

static void forget_peer(struct socket_peer *peer)
{
    struct jd_server *server = peer->server;
    *(peer->previous ? &peer->previous->next : &server->peers) = peer->next;
    if (peer->next)
        peer->next->previous = peer->previous;
    free(peer);
}

/* Those that are many, and are answered at once. */
static bool is_quick(const Jd__Message *message)
{
    switch (message->body_case) {
    case JD__MESSAGE__BODY_HEARTBEAT:
    case JD__MESSAGE__BODY_SET:
    case JD__MESSAGE__BODY_GET:
    case JD__MESSAGE__BODY_LIST:
    case JD__MESSAGE__BODY_DELETE:
    case JD__MESSAGE__BODY_INCREMENT:
        return message->timeout_ms <= 0;
    default:
        return false;
    }
}

/* The time of the reading may be before it was sent. */
static bool asks_for_clock(const Jd__Message *message)
{
    return message->body_case == JD__MESSAGE__BODY_HEARTBEAT &&
           message->heartbeat->clock_ns;
}

/*
 * A message may have set an earlier deadline than the timer's: the machine is
 * asked after all but those that cannot.
 */
static void on_message(void *arg, Jd__Message *message)
{
    struct socket_peer *peer = arg;
    struct jd_server *server = peer->server;
    bool may_wait = !is_quick(message);
    double now = may_wait || asks_for_clock(message) ? look_at_clock(server)
                                                     : look_at_reading(server);
    jd__service_receive(server->service, peer->connection, message, now);
    if (may_wait)
        tick_service(server);
}

static void on_closed(void *arg, int error, const char *why)
{
    struct socket_peer *peer = arg;
    struct jd_server *server = peer->server;
    jd__munge_cancel(peer->question);
    jd__link_destroy(peer->link);
    peer->link = NULL; /* nothing can be sent while the service hears of it */
    if (peer->connection)
        jd__service_lost(server->service, peer->connection, error, why,
                         look_at_clock(server));
    forget_peer(peer);
    tick_service(server);
}

static const struct jd_link_hooks link_hooks = {
    .on_message = on_message,
    .on_closed = on_closed,
};

static void describe_address(const struct sockaddr_storage *address,
                             char text[64])
{
    char host[INET6_ADDRSTRLEN] = "";
    if (address->ss_family == AF_INET) {
        const struct sockaddr_in *in = (const void *)address;
        inet_ntop(AF_INET, &in->sin_addr, host, sizeof host);
        snprintf(text, 64, "%s:%d", host, ntohs(in->sin_port));
    } else if (address->ss_family == AF_INET6) {
        const struct sockaddr_in6 *in6 = (const void *)address;
        inet_ntop(AF_INET6, &in6->sin6_addr, host, sizeof host);
        snprintf(text, 64, "[%s]:%d", host, ntohs(in6->sin6_port));
    } else {
        snprintf(text, 64, "this process");
    }
}

/* Takes the socket over. */
static struct socket_peer *add_peer(struct jd_server *server, int fd,
                                    const char *from)
{
    struct socket_peer *peer = calloc(1, sizeof *peer);
    if (!peer) {
        close(fd);
        return NULL;
    }
    peer->server = server;
    peer->fd = fd;
    peer->next = server->peers;
    if (server->peers)
        server->peers->previous = peer;
    server->peers = peer;
    peer->link = jd__link_create(server->pool, fd, JD_WIRE_STRANGER_MAX,
                                 &link_hooks, peer);
    if (peer->link)
        peer->connection = jd__service_accept(server->service, peer, from,
                                              look_at_clock(server));
    if (peer->connection && jd__link_start(peer->link))
        return peer;
    on_closed(peer, ENOMEM, NULL);
    return NULL;
}

/* Of a listener: on Linux, what it accepts has them too. */
static void set_socket_options(int fd)
{
    static const int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
}

/* Nothing can be accepted: those who wait are looked at again in a while. */
static void pause_accepting(struct jd_server *server, int error)
{
    if (!server->is_short)
        jd__log(JD_LOG_WARNING,
                "coordination service: a connection cannot be accepted: %s; "
                "it is tried again every second (ulimit -n)",
                strerror(error));
    server->is_short = server->is_paused = true;
    for (int i = 0; i < server->listeners.count; i++)
        event_del(server->accept_events[i]);
    set_timer(server, look_at_clock(server) + ACCEPT_PAUSE_SECONDS);
}

static bool is_shortage(int error)
{
    return error == EMFILE || error == ENFILE || error == ENOBUFS ||
           error == ENOMEM;
}

static void on_acceptable(evutil_socket_t listener, short what, void *arg)
{
    struct jd_server *server = arg;
    (void)what;
    for (int i = 0; i < ACCEPTS_PER_TURN; i++) {
        struct sockaddr_storage address = { .ss_family = AF_UNSPEC };
        socklen_t length = sizeof address;
        char from[64];
        int fd = accept4(listener, (struct sockaddr *)&address, &length,
                         SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0 && is_shortage(errno)) {
            int error = errno;
            if (jd__strangers_shed(server->service, look_at_clock(server)))
                continue;
            pause_accepting(server, error);
        }
        if (fd < 0)
            break;
        describe_address(&address, from);
        add_peer(server, fd, from);
    }
    tick_service(server);
}

int jd__sockets_connect(struct jd_server *server)
{
    int fds[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0,
                   fds) != 0)
        return -1;
    struct socket_peer *peer = add_peer(server, fds[0], "this process");
    if (peer) {
        jd__service_own(server->service, peer->connection);
        return fds[1];
    }
    close(fds[1]);
    return -1;
}

/* ---- what the state machine asks for ------------------------------------ */

static void hook_send(void *peer, const Jd__Message *message)
{
    struct jd_link *link = ((struct socket_peer *)peer)->link;
    if (link)
        jd__link_send(link, message);
}

static void hook_welcome(void *arg, const struct jd_auth_keys *keys)
{
    struct socket_peer *peer = arg;
    if (!peer->link)
        return;
    jd__link_set_limit(peer->link, peer->server->max_message);
    if (keys)
        jd__link_seal(peer->link, keys->to_agent, keys->to_service);
}

static void hook_end(void *arg)
{
    struct socket_peer *peer = arg;
    if (peer->link)
        jd__link_end(peer->link);
}

static void hook_drop(void *arg)
{
    struct socket_peer *peer = arg;
    jd__munge_cancel(peer->question);
    jd__link_destroy(peer->link);
    forget_peer(peer);
}

static void on_vouched(void *arg, jd_status status, const char *text)
{
    struct socket_peer *peer = arg;
    struct jd_server *server = peer->server;
    peer->question = NULL;
    jd__service_vouched(server->service, peer->connection, status, text,
                        look_at_clock(server));
    tick_service(server);
}

static bool hook_vouch(void *arg, const struct jd_munge_spec *spec)
{
    struct socket_peer *peer = arg;
    struct jd_munge_spec question = *spec;
    question.timeout = MUNGE_SECONDS;
    peer->question =
        jd__munge_ask(peer->server->loop, &question, on_vouched, peer);
    return peer->question != NULL;
}

static size_t hook_backlog(void *peer)
{
    struct jd_link *link = ((struct socket_peer *)peer)->link;
    return link ? jd__link_backlog(link) : 0;
}

/* Root may look at everything on its host. */
static enum jd_peer_owner hook_owner(void *arg)
{
    const struct socket_peer *peer = arg;
    uid_t user = 0;
    enum jd_peer_place place = jd__port_owner_peer_user(peer->fd, &user);
    if (place == JD_PEER_AWAY)
        return JD_OWNER_ANYBODY;
    return place == JD_PEER_HERE && (user == geteuid() || user == 0)
               ? JD_OWNER_OURS
               : JD_OWNER_OTHER;
}

static const struct jd_service_hooks service_hooks = {
    .send = hook_send,
    .welcome = hook_welcome,
    .end = hook_end,
    .drop = hook_drop,
    .vouch = hook_vouch,
    .backlog = hook_backlog,
    .owner = hook_owner,
};

bool jd__sockets_has_armed(const struct jd_server *server)
{
    return jd__service_has_armed(server->service);
}

/* ---- life --------------------------------------------------------------- */

static jd_status open_server(struct jd_server *server)
{
    struct event_base *base = jd__loop_base(server->loop);
    jd_status status = jd__link_pool_create(server->loop, &server->pool);
    if (status != JD_OK)
        return status;
    server->timer = event_new(base, -1, 0, on_timer, server);
    bool is_ready = server->timer != NULL;
    for (int i = 0; is_ready && i < server->listeners.count; i++) {
        set_socket_options(server->listeners.fds[i]);
        server->accept_events[i] =
            event_new(base, server->listeners.fds[i], EV_READ | EV_PERSIST,
                      on_acceptable, server);
        is_ready = server->accept_events[i] &&
                   event_add(server->accept_events[i], NULL) == 0;
    }
    return is_ready
               ? JD_OK
               : jd__fail_no_memory("the coordination service", sizeof *server);
}

jd_status jd__sockets_create(const struct jd_server_spec *spec,
                             struct jd_server **ret_server)
{
    struct jd_service_spec service = spec->service;
    struct jd_listeners listeners = spec->listeners;
    struct jd_server *server = calloc(1, sizeof *server);
    if (!server) {
        jd__listen_close(&listeners);
        return jd__fail_no_memory("the coordination service", sizeof *server);
    }
    server->loop = spec->loop;
    server->listeners = listeners;
    server->max_message = service.max_message;
    server->timer_at = INFINITY;
    service.hooks = &service_hooks;
    jd_status status = jd__service_create(&service, &server->service);
    if (status == JD_OK)
        status = open_server(server);
    if (status == JD_OK)
        *ret_server = server;
    else
        jd__sockets_destroy(server);
    return status;
}

static void stop_listening(void *arg)
{
    struct jd_server *server = arg;
    for (int i = 0; i < server->listeners.count; i++)
        if (server->accept_events[i])
            event_free(server->accept_events[i]);
    jd__listen_close(&server->listeners);
}

void jd__sockets_stop_listening(struct jd_server *server)
{
    jd__loop_run(server->loop, stop_listening, server);
}

static void close_all(void *arg)
{
    struct jd_server *server = arg;
    struct socket_peer *next;
    stop_listening(server);
    if (server->timer)
        event_free(server->timer);
    for (struct socket_peer *peer = server->peers; peer; peer = next) {
        next = peer->next;
        jd__munge_cancel(peer->question);
        jd__link_destroy(peer->link);
        free(peer);
    }
    jd__service_destroy(server->service);
    jd__link_pool_destroy(server->pool);
    free(server);
}

void jd__sockets_destroy(struct jd_server *server)
{
    if (server)
        jd__loop_run(server->loop, close_all, server);
}

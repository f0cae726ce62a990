/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * agent.h - a real coordination service on loopback with agents in this same
 * process, each with a background thread of its own; and bare sockets that
 * speak to them. One source of a program includes it.
 */
#ifndef TESTS_UNIT_AGENT_H
#define TESTS_UNIT_AGENT_H

#include "base/clock.h"
#include "runtime/coordination/client/agent.h"
#include "runtime/coordination/client/agent_private.h"
#include "runtime/coordination/client/call.h"
#include "runtime/coordination/server/sockets.h"
#include "tests/unit/threads.h"
#include "tests/unit/unit.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MAX_MESSAGE = 65536 };

static const struct jd_auth secret_auth = { .way = JD_AUTH_SECRET,
                                            .key = "secret",
                                            .source = "JD_SECRET" };
static const struct jd_auth open_auth = { .way = JD_AUTH_OPEN };

/* ---- the service -------------------------------------------------------- */

static struct {
    struct jd_loop *loop;
    struct jd_server *server;
    int port;
} home;

static inline struct jd_server_spec make_server_spec(int count,
                                                     const struct jd_auth *auth)
{
    return (struct jd_server_spec){
        .service = { .auth = auth,
                     .job = "job",
                     .attempt = 2,
                     .count = count,
                     .heartbeat_timeout = 60,
                     .max_message = MAX_MESSAGE,
                     .host = "h0",
                     .program = "train",
                     .pid = 77 },
    };
}

static inline void create_service(struct jd_server_spec *spec)
{
    UNIT_OK(jd__loop_create("jd-service", &home.loop));
    spec->loop = home.loop;
    UNIT_OK(jd__sockets_create(spec, &home.server));
}

static inline void start_service_at(int count, const struct jd_auth *auth,
                                    int port)
{
    struct jd_listen listen = { .port = port,
                                .loopback = true,
                                .variable = "the test" };
    struct jd_server_spec spec = make_server_spec(count, auth);
    UNIT_OK(jd__auth_start());
    UNIT_OK(jd__listen_open(&listen, &spec.listeners));
    home.port = spec.listeners.port;
    create_service(&spec);
    UNIT_OK(jd__loop_start(home.loop));
}

/* One that listens nowhere; returns the socket of its own process. */
static inline int start_service_within(int count, const struct jd_auth *auth)
{
    struct jd_server_spec spec = make_server_spec(count, auth);
    UNIT_OK(jd__auth_start());
    create_service(&spec);
    int fd = jd__sockets_connect(home.server);
    ck_assert_int_ge(fd, 0);
    UNIT_OK(jd__loop_start(home.loop));
    return fd;
}

static inline void start_service(int count, const struct jd_auth *auth)
{
    start_service_at(count, auth, 0);
}

static inline void stop_service(void)
{
    jd__sockets_destroy(home.server);
    jd__loop_destroy(home.loop);
    home.server = NULL;
    home.loop = NULL;
}

/* ---- agents ------------------------------------------------------------- */

struct process {
    struct jd_loop *loop;
    struct jd_agent *agent;
    struct jd_endpoints endpoints;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int num_lost, num_pushed; /* under the lock, as the rest */
    char why[320], text[640]; /* of the loss, of a Failure */
};

static inline void on_lost(void *arg, const char *why)
{
    struct process *p = arg;
    pthread_mutex_lock(&p->lock);
    p->num_lost++;
    snprintf(p->why, sizeof p->why, "%s", why);
    pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->lock);
}

static inline void on_push(void *arg, const Jd__Message *message)
{
    struct process *p = arg;
    pthread_mutex_lock(&p->lock);
    p->num_pushed++;
    if (message->body_case == JD__MESSAGE__BODY_FAILURE)
        snprintf(p->text, sizeof p->text, "%s", message->failure->text);
    pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->lock);
}

static inline void add_endpoint(struct process *p, int port)
{
    struct jd_endpoint *e = &p->endpoints.items[p->endpoints.count++];
    *e = (struct jd_endpoint){ .family = AF_INET,
                               .port = (uint16_t)port,
                               .bytes = { 127, 0, 0, 1 } };
}

/* What open_agent() begins with; a test may change it. */
static inline struct jd_agent_spec make_spec(int i, int count)
{
    return (struct jd_agent_spec){
        .auth = &secret_auth,
        .job = "job",
        .attempt = 2,
        .process = i,
        .count = count,
        .host = "h0",
        .boot_id = "b0",
        .program = "train",
        .pid = 100 + (uint32_t)i,
        .fd = -1,
        .heartbeat_timeout = 60,
        .notice = -1,
        .max_message = MAX_MESSAGE,
        .on_push = on_push,
        .on_lost = on_lost,
    };
}

static inline void open_agent(struct process *p, struct jd_agent_spec *spec)
{
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->changed, NULL);
    if (!p->endpoints.count)
        add_endpoint(p, home.port);
    UNIT_OK(jd__loop_create("jd-process", &p->loop));
    spec->loop = p->loop;
    spec->endpoints = &p->endpoints;
    spec->arg = p;
    UNIT_OK(jd__agent_create(spec, &p->agent));
    UNIT_OK(jd__loop_start(p->loop));
}

static inline jd_status meet_for(struct process *p, double seconds)
{
    return jd__agent_meet(p->agent, jd__clock_now() + seconds);
}

static inline void close_agent(struct process *p)
{
    jd__agent_destroy(p->agent);
    jd__loop_destroy(p->loop);
    pthread_mutex_destroy(&p->lock);
    pthread_cond_destroy(&p->changed);
    memset(p, 0, sizeof *p);
}

/* Process i of count comes in. */
static inline void enter(struct process *p, int i, int count)
{
    struct jd_agent_spec spec = make_spec(i, count);
    open_agent(p, &spec);
    UNIT_OK(meet_for(p, 30));
}

static inline void await_lost(struct process *p)
{
    pthread_mutex_lock(&p->lock);
    while (!p->num_lost)
        pthread_cond_wait(&p->changed, &p->lock);
    pthread_mutex_unlock(&p->lock);
}

static inline void await_pushed(struct process *p)
{
    pthread_mutex_lock(&p->lock);
    while (!p->num_pushed)
        pthread_cond_wait(&p->changed, &p->lock);
    pthread_mutex_unlock(&p->lock);
}

/* ---- calls -------------------------------------------------------------- */

/* seconds as in struct jd_call; grace 0: the usual. */
static inline jd_status call_service(struct process *p, struct jd_call *call,
                                     Jd__Message__BodyCase body, void *message)
{
    jd__call_init(call, body, message);
    call->request.timeout_ms =
        call->timeout < 0 ? -1 : (int64_t)(1000 * call->timeout);
    return jd__agent_call(p->agent, call);
}

static inline jd_status add_to(struct process *p, const char *key, int64_t by,
                               int64_t *ret_sum)
{
    Jd__Increment body = JD__INCREMENT__INIT;
    struct jd_call call = { .operation = "increment" };
    body.key = jd__wire_text(key);
    body.by = by;
    jd_status status =
        call_service(p, &call, JD__MESSAGE__BODY_INCREMENT, &body);
    if (status == JD_OK)
        *ret_sum = call.reply->number;
    jd__call_finish(&call);
    return status;
}

static inline int64_t sum_of(struct process *p, const char *key)
{
    int64_t sum = -1;
    UNIT_OK(add_to(p, key, 0, &sum));
    return sum;
}

static inline jd_status join_all(struct process *p, double timeout)
{
    Jd__Join body = JD__JOIN__INIT;
    struct jd_call call = { .operation = "join",
                            .timeout = timeout,
                            .variable = "the test" };
    jd_status status = call_service(p, &call, JD__MESSAGE__BODY_JOIN, &body);
    jd__call_finish(&call);
    return status;
}

static inline jd_status get_key(struct process *p, const char *key,
                                double timeout, double grace)
{
    Jd__Get body = JD__GET__INIT;
    ProtobufCBinaryData name = jd__wire_text(key);
    struct jd_call call = { .operation = "get",
                            .timeout = timeout,
                            .grace = grace,
                            .variable = "the test" };
    body.keys = &name;
    body.n_keys = 1;
    jd_status status = call_service(p, &call, JD__MESSAGE__BODY_GET, &body);
    jd__call_finish(&call);
    return status;
}

/* ---- the loop of the service stands still ------------------------------- */

struct stop {
    sem_t is_still, go_on;
};

static inline void stand_still(void *arg)
{
    struct stop *stop = arg;
    sem_post(&stop->is_still);
    while (sem_wait(&stop->go_on) != 0)
        ;
}

static inline void stop_loop(struct jd_loop *loop, struct stop *stop)
{
    sem_init(&stop->is_still, 0, 0);
    sem_init(&stop->go_on, 0, 0);
    ck_assert(jd__loop_call(loop, stand_still, stop));
    while (sem_wait(&stop->is_still) != 0)
        ;
}

static inline void let_go_on(struct stop *stop)
{
    sem_post(&stop->go_on);
}

/* ---- bare sockets ------------------------------------------------------- */

static inline int connect_to(int port)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_port = htons((uint16_t)port) };
    inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&address, sizeof address),
                     0);
    return fd;
}

/* Has a port of its own. */
static inline int bind_bare(int *ret_port)
{
    static const int yes = 1;
    struct sockaddr_in address = { .sin_family = AF_INET };
    socklen_t length = sizeof address;
    inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, length), 0);
    getsockname(fd, (struct sockaddr *)&address, &length);
    *ret_port = ntohs(address.sin_port);
    return fd;
}

static inline int listen_bare(int *ret_port)
{
    int fd = bind_bare(ret_port);
    ck_assert_int_eq(listen(fd, 8), 0);
    return fd;
}

/* Where nobody listens. The socket stays, so that no other process gets the
 * port; a service of the test's may be started there all the same. */
static inline int unused_port(void)
{
    int port;
    bind_bare(&port);
    return port;
}

static inline void send_bare(int fd, const Jd__Message *message)
{
    struct jd_bytes bytes = { .data = NULL };
    ck_assert(jd__wire_append(&bytes, message));
    ck_assert_int_eq(send(fd, bytes.data, bytes.end, MSG_NOSIGNAL),
                     (ssize_t)bytes.end);
    jd__wire_bytes_finish(&bytes);
}

static inline void read_all(int fd, void *data, size_t size)
{
    for (size_t got = 0; got < size;) {
        ssize_t more = read(fd, (char *)data + got, size - got);
        ck_assert_int_gt(more, 0);
        got += (size_t)more;
    }
}

/* The next frame; the caller frees it. */
static inline Jd__Message *receive_bare(int fd)
{
    uint8_t bytes[8192];
    struct jd_wire_frame frame;
    read_all(fd, bytes, JD_WIRE_HEADER);
    jd__wire_next(bytes, JD_WIRE_HEADER, sizeof bytes, NULL, &frame);
    ck_assert_uint_le(frame.bytes, sizeof bytes);
    read_all(fd, bytes + JD_WIRE_HEADER, frame.bytes - JD_WIRE_HEADER);
    ck_assert_int_eq(
        jd__wire_next(bytes, frame.bytes, sizeof bytes, NULL, &frame),
        JD_WIRE_MESSAGE);
    return frame.message;
}

/* Reads away what comes until the other side closes. */
static inline void expect_closed(int fd)
{
    char bytes[4096];
    while (read(fd, bytes, sizeof bytes) > 0)
        ;
    close(fd);
}

/* A bare client that says this Hello after the Challenge. */
static inline int say_hello_bare(Jd__Hello *hello, const struct jd_auth *auth)
{
    static const uint8_t nonce[JD_AUTH_NONCE];
    uint8_t mac[JD_AUTH_MAC];
    Jd__Message message = JD__MESSAGE__INIT;
    int fd = connect_to(home.port);
    Jd__Message *challenge = receive_bare(fd);
    hello->nonce = jd__wire_bytes(nonce, sizeof nonce);
    jd__auth_hello_mac(auth, challenge->challenge->nonce, hello, mac);
    hello->mac = jd__wire_bytes(mac, sizeof mac);
    message.body_case = JD__MESSAGE__BODY_HELLO;
    message.hello = hello;
    send_bare(fd, &message);
    jd__message__free_unpacked(challenge, NULL);
    return fd;
}

static inline Jd__Hello make_hello(int i, int count)
{
    Jd__Hello hello = JD__HELLO__INIT;
    hello.protocol = JD_WIRE_PROTOCOL;
    hello.job = (char *)"job";
    hello.attempt = 2;
    hello.process = (uint32_t)i;
    hello.count = (uint32_t)count;
    hello.host = (char *)"h0";
    hello.program = (char *)"bare";
    hello.pid = 55;
    return hello;
}

/* ---- what is left ------------------------------------------------------- */

static inline int count_entries(const char *path)
{
    int count = 0;
    DIR *directory = opendir(path);
    while (readdir(directory))
        count++;
    closedir(directory);
    return count;
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * client.c - one process that sends the same request again and again
 * and waits for replies, which all have one size: the same code for each
 * server, so that its own share of the time is the same.
 */
#include "base/clock.h"
#include "bench/service/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum { BUFFER = 1 << 16 };

static bool fail(const struct bench_client *client, const char *what)
{
    return bench_complain("the client of the %s server: %s: %s", client->name,
                          what, strerror(errno));
}

/* ---- sockets ------------------------------------------------------------ */

void bench_set_blocking(int fd, bool blocking)
{
    struct timeval limit = { (time_t)BENCH_DEADLINE, 0 };
    int flags = fcntl(fd, F_GETFL);
    fcntl(fd, F_SETFL, blocking ? flags & ~O_NONBLOCK : flags | O_NONBLOCK);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

int bench_connect(const struct bench_server *server)
{
    struct sockaddr_in address = { .sin_family = AF_INET };
    int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    address.sin_port = htons((uint16_t)server->port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0 ||
        connect(fd, (struct sockaddr *)&address, sizeof address) != 0) {
        bench_complain("the %s server: connecting to port %d: %s", server->name,
                       server->port, strerror(errno));
        if (fd >= 0)
            close(fd);
        return -1;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    bench_set_blocking(fd, true);
    return fd;
}

/* ---- one request -------------------------------------------------------- */

static uint8_t *next_request(struct bench_client *client)
{
    if (client->has_id) {
        bench_frame_set_id(client->request.data, client->next_id);
        if (++client->next_id == BENCH_LAST_ID)
            client->next_id = BENCH_FIRST_ID;
    }
    return client->request.data;
}

static bool is_sealed(const struct bench_client *client, int i)
{
    return client->seals[i] && client->seals[i]->is_on;
}

/* Of the connection i, for which there may be a MAC behind it. */
static uint8_t *next_sealed(struct bench_client *client, int i)
{
    uint8_t *data = next_request(client);
    if (is_sealed(client, i))
        jd__seal_batch(client->seals[i], data,
                       jd__bytes_size(&client->request));
    return data;
}

static size_t sealed_size(const struct bench_client *client, int i)
{
    return jd__bytes_size(&client->request) +
           (is_sealed(client, i) ? JD_SEAL_SIZE : 0);
}

static bool send_all(struct bench_client *client, int fd, const uint8_t *data,
                     size_t size)
{
    for (size_t sent = 0; sent < size;) {
        ssize_t step = send(fd, data + sent, size - sent, MSG_NOSIGNAL);
        if (step <= 0)
            return fail(client, "sending");
        sent += (size_t)step;
    }
    return true;
}

/* At most so many bytes; 0 where it fails. */
static size_t receive_some(struct bench_client *client, uint8_t *at,
                           size_t size)
{
    ssize_t got = recv(client->fds[0], at, size, 0);
    if (got > 0)
        return (size_t)got;
    errno = got ? errno : ECONNRESET;
    return fail(client, "waiting for a reply");
}

static bool receive_all(struct bench_client *client, size_t size)
{
    static uint8_t buffer[BUFFER];
    while (size) {
        size_t step = size < sizeof buffer ? size : sizeof buffer;
        size_t got = receive_some(client, buffer, step);
        if (!got)
            return false;
        size -= got;
    }
    return true;
}

/* The reply to one request, which is complete when nothing more comes for a
 * tenth of a second. */
static bool receive_sample(struct bench_client *client, struct jd_bytes *reply)
{
    struct pollfd wait = { .fd = client->fds[0], .events = POLLIN };
    for (;;) {
        int limit = jd__bytes_size(reply) ? 100 : (int)(1e3 * BENCH_DEADLINE);
        if (poll(&wait, 1, limit) != 1)
            return jd__bytes_size(reply) || fail(client, "the first reply");
        uint8_t *at = jd__wire_bytes_reserve(reply, BUFFER);
        ssize_t got = at ? recv(client->fds[0], at, BUFFER, MSG_DONTWAIT) : -1;
        if (got <= 0)
            return fail(client, "the first reply");
        reply->end += (size_t)got;
    }
}

/* "+OK" and "*10000" of Redis, or a Reply whose status is JD_OK. */
static bool is_good(const struct bench_client *client,
                    const struct jd_bytes *reply)
{
    struct jd_wire_frame frame;
    const uint8_t *data = reply->data + reply->begin;
    if (!client->has_id)
        return *data != '-';
    if (jd__wire_next(data, jd__bytes_size(reply), UINT32_MAX, NULL, &frame) !=
        JD_WIRE_MESSAGE)
        return false;
    bool is_ok = frame.message->body_case == JD__MESSAGE__BODY_REPLY &&
                 frame.message->reply->status == JD_OK;
    jd__message__free_unpacked(frame.message, NULL);
    return is_ok;
}

bool bench_client_prepare(struct bench_client *client)
{
    struct jd_bytes reply = { .data = NULL };
    client->next_id = BENCH_FIRST_ID;
    bool is_well =
        jd__wire_bytes_reserve(&client->request, JD_SEAL_SIZE) &&
        send_all(client, client->fds[0], next_sealed(client, 0),
                 sealed_size(client, 0)) &&
        receive_sample(client, &reply) &&
        (is_good(client, &reply) ||
         bench_complain("the %s server does not take the request: %.*s",
                        client->name, (int)jd__bytes_size(&reply),
                        (const char *)reply.data + reply.begin));
    client->reply_size = jd__bytes_size(&reply);
    jd__wire_bytes_finish(&reply);
    return is_well;
}

/* ---- one connection ----------------------------------------------------- */

/* As many requests, with one MAC behind all; returns their bytes. */
static size_t fill(struct bench_client *client, uint8_t *all, int in_flight)
{
    size_t size = jd__bytes_size(&client->request);
    for (int i = 0; i < in_flight; i++) {
        memcpy(all + (size_t)i * size, next_request(client), size);
        if (is_sealed(client, 0) && i < in_flight - 1)
            jd__seal_join(all + (size_t)i * size);
    }
    if (!is_sealed(client, 0))
        return (size_t)in_flight * size;
    jd__seal_batch(client->seals[0], all, (size_t)in_flight * size);
    return (size_t)in_flight * size + JD_SEAL_SIZE;
}

/* Of the replies in the buffer those that are whole; their bytes. Which have a
 * MAC behind them their lengths say. */
static size_t count_replies(const uint8_t *buffer, size_t size, int *ret_count)
{
    size_t at = 0;
    *ret_count = 0;
    while (size - at >= JD_WIRE_HEADER) {
        bool is_joined;
        size_t length = jd__seal_length(buffer + at, &is_joined);
        length += is_joined ? 0 : JD_SEAL_SIZE;
        if (size - at < length)
            break;
        at += length;
        (*ret_count)++;
    }
    return at;
}

/* Small ones. */
static bool receive_batches(struct bench_client *client, int replies)
{
    static uint8_t buffer[BUFFER];
    size_t has = 0;
    while (replies > 0) {
        int count;
        size_t got = receive_some(client, buffer + has, BUFFER - has);
        if (!got)
            return false;
        has += got;
        size_t used = count_replies(buffer, has, &count);
        memmove(buffer, buffer + used, has - used);
        has -= used;
        replies -= count;
    }
    return true;
}

static bool receive_replies(struct bench_client *client, int replies)
{
    return replies > 1 && is_sealed(client, 0)
               ? receive_batches(client, replies)
               : receive_all(client, (size_t)replies * client->reply_size);
}

double bench_client_blocking(struct bench_client *client, int in_flight,
                             double seconds)
{
    uint8_t *all = malloc((size_t)in_flight * sealed_size(client, 0));
    double begin = jd__clock_now(), now = begin;
    long requests = 0;
    bool is_well = all != NULL;
    while (is_well && now - begin < seconds) {
        size_t size = fill(client, all, in_flight);
        is_well = send_all(client, client->fds[0], all, size) &&
                  receive_replies(client, in_flight);
        requests += in_flight;
        now = jd__clock_now();
    }
    free(all);
    return is_well ? (now - begin) / (double)requests : -1;
}

/* ---- many connections --------------------------------------------------- */

static bool watch(struct bench_client *client)
{
    client->epoll = epoll_create1(EPOLL_CLOEXEC);
    for (int i = 0; i < client->count; i++) {
        struct epoll_event event = { .events = EPOLLIN,
                                     .data.u32 = (unsigned)i };
        if (epoll_ctl(client->epoll, EPOLL_CTL_ADD, client->fds[i], &event) !=
            0)
            return fail(client, "epoll");
    }
    return true;
}

static bool send_one(struct bench_client *client, int i)
{
    return send_all(client, client->fds[i], next_sealed(client, i),
                    sealed_size(client, i));
}

/* The requests on all connections that are answered are made again, until the
 * time is up; then what is under way is awaited. */
static long keep_asking(struct bench_client *client, double end)
{
    struct epoll_event events[BENCH_CONNECTIONS];
    size_t missing[BENCH_CONNECTIONS] = { 0 };
    uint8_t buffer[4096];
    long replies = 0;
    int under_way = 0;
    for (int i = 0; i < client->count; i++, under_way++) {
        missing[i] = client->reply_size;
        if (!send_one(client, i))
            return -1;
    }
    while (under_way) {
        int ready = epoll_wait(client->epoll, events, BENCH_CONNECTIONS,
                               (int)(1e3 * BENCH_DEADLINE));
        bool is_over = jd__clock_now() >= end;
        if (ready <= 0)
            return fail(client, "waiting for replies") - 1;
        for (int i = 0; i < ready; i++) {
            unsigned at = events[i].data.u32;
            ssize_t got = recv(client->fds[at], buffer, missing[at], 0);
            if (got <= 0)
                return fail(client, "waiting for a reply") - 1;
            if ((missing[at] -= (size_t)got))
                continue;
            replies++;
            missing[at] = client->reply_size;
            if (is_over)
                under_way--;
            else if (!send_one(client, (int)at))
                return -1;
        }
    }
    return replies;
}

double bench_client_many(struct bench_client *client, double seconds)
{
    if (client->epoll <= 0 && !watch(client))
        return -1;
    double begin = jd__clock_now();
    long replies = keep_asking(client, begin + seconds);
    return replies > 0 ? (jd__clock_now() - begin) / (double)replies : -1;
}

void bench_client_finish(struct bench_client *client)
{
    if (client->epoll > 0)
        close(client->epoll);
    client->epoll = 0;
    jd__wire_bytes_finish(&client->request);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * echo.c - what a server of jd's frames could reach at best: a plain
 * libevent loop that looks at the length of each frame and answers it at once
 * with a fixed one of the size that jd's answer has: a Challenge to whoever
 * comes, then a Welcome, then Replies. One read, one write.
 */
#include "bench/service/parts.h"

#include <event2/event.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BUFFER = 1 << 16, BACKLOG = 4096 };

struct echo {
    struct event_base *base;
    struct jd_bytes challenge, admitted, reply;
};

struct connection {
    struct echo *echo;
    struct event *event;
    bool is_known;
    size_t skip;       /* bytes of the frame that has begun */
    size_t has_header; /* of the next one */
    uint8_t header[JD_WIRE_HEADER];
};

static void close_connection(struct connection *connection, int fd)
{
    event_free(connection->event);
    free(connection);
    close(fd);
}

/* How many frames end in the data. */
static int count_frames(struct connection *connection, const uint8_t *data,
                        size_t size)
{
    int frames = 0;
    for (size_t at = 0; at < size;) {
        if (connection->has_header < JD_WIRE_HEADER) {
            connection->header[connection->has_header++] = data[at++];
            if (connection->has_header < JD_WIRE_HEADER)
                continue;
            const uint8_t *header = connection->header;
            connection->skip = (size_t)header[0] | (size_t)header[1] << 8 |
                               (size_t)header[2] << 16 |
                               (size_t)header[3] << 24;
        }
        size_t step = size - at;
        step = step < connection->skip ? step : connection->skip;
        at += step;
        connection->skip -= step;
        if (connection->skip == 0) {
            connection->has_header = 0;
            frames++;
        }
    }
    return frames;
}

static bool answer(struct connection *connection, int fd, int frames)
{
    static uint8_t out[BUFFER];
    size_t size = 0;
    for (int i = 0; i < frames; i++) {
        const struct jd_bytes *frame = connection->is_known
                                           ? &connection->echo->reply
                                           : &connection->echo->admitted;
        connection->is_known = true;
        if (size + jd__bytes_size(frame) > sizeof out)
            return false;
        memcpy(out + size, frame->data, jd__bytes_size(frame));
        size += jd__bytes_size(frame);
    }
    return size == 0 || send(fd, out, size, MSG_NOSIGNAL) == (ssize_t)size;
}

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
    static uint8_t in[BUFFER];
    struct connection *connection = arg;
    (void)what;
    ssize_t got = recv(fd, in, sizeof in, 0);
    if (got <= 0 ||
        !answer(connection, fd, count_frames(connection, in, (size_t)got)))
        close_connection(connection, fd);
}

static void accept_one(struct echo *echo, int fd)
{
    int on = 1;
    const struct jd_bytes *challenge = &echo->challenge;
    struct connection *connection = calloc(1, sizeof *connection);
    if (!connection) {
        close(fd);
        return;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    connection->echo = echo;
    connection->event = event_new(echo->base, fd, EV_READ | EV_PERSIST,
                                  on_readable, connection);
    event_add(connection->event, NULL);
    if (send(fd, challenge->data, jd__bytes_size(challenge), MSG_NOSIGNAL) < 0)
        close_connection(connection, fd);
}

static void on_connection(evutil_socket_t listener, short what, void *arg)
{
    (void)what;
    for (int fd; (fd = accept4(listener, NULL, NULL,
                               SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0;)
        accept_one(arg, fd);
}

static int listen_on_loopback(int *ret_port)
{
    struct sockaddr_in address = { .sin_family = AF_INET };
    socklen_t length = sizeof address;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, length) != 0 ||
        listen(fd, BACKLOG) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &length) != 0)
        return -1;
    *ret_port = ntohs(address.sin_port);
    return fd;
}

static int serve(int report_fd, void *arg)
{
    struct echo echo = { .base = event_base_new() };
    int port, listener = listen_on_loopback(&port);
    (void)arg;
    if (listener < 0 || !echo.base || !bench_frame_challenge(&echo.challenge) ||
        !bench_frame_admitted(&echo.admitted) ||
        !bench_frame_reply(&echo.reply))
        return 1;
    struct event *event = event_new(echo.base, listener, EV_READ | EV_PERSIST,
                                    on_connection, &echo);
    if (!event || event_add(event, NULL) != 0 ||
        write(report_fd, &port, sizeof port) != (ssize_t)sizeof port)
        return 1;
    return event_base_dispatch(echo.base);
}

bool bench_echo_start(struct bench_server *server)
{
    *server = (struct bench_server){ .name = "echo", .pipe = -1 };
    return bench_server_fork(server, serve, NULL);
}

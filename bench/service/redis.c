/* SPDX-License-Identifier: BSD-3-Clause */
/* redis.c - a redis-server of our own: on loopback, without a file. */
#include "base/clock.h"
#include "bench/service/parts.h"

#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define START_SECONDS 10.0

/* A port that is free just now; Redis cannot choose one itself. */
static int find_port(void)
{
    struct sockaddr_in address = { .sin_family = AF_INET };
    socklen_t length = sizeof address;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, length) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &length) != 0)
        address.sin_port = 0;
    if (fd >= 0)
        close(fd);
    return ntohs(address.sin_port);
}

/* Reads what it says until it is ready. */
static bool await_ready(int fd, double deadline)
{
    char text[8192];
    size_t size = 0;
    while (size < sizeof text - 1) {
        struct pollfd wait = { .fd = fd, .events = POLLIN };
        double left = deadline - jd__clock_now();
        if (left <= 0 || poll(&wait, 1, (int)(1e3 * left) + 1) != 1)
            return false;
        ssize_t got = read(fd, text + size, sizeof text - 1 - size);
        if (got <= 0)
            return false;
        size += (size_t)got;
        text[size] = '\0';
        if (strstr(text, "Ready to accept connections"))
            return true;
    }
    return false;
}

/* It has ended, or is now made to; true where there was no such program. A
 * child's pipe is closed before its exit code is there. */
static bool is_missing(struct bench_server *server, double deadline)
{
    struct bench_program program = { server->pid, server->pipe, -1 };
    int status = bench_program_end(&program, deadline);
    server->pid = 0;
    server->pipe = -1;
    return status >= 0 && WIFEXITED(status) &&
           WEXITSTATUS(status) == BENCH_NO_PROGRAM;
}

bool bench_redis_start(struct bench_server *server)
{
    char port[16];
    const char *command[] = { "redis-server",
                              "--port",
                              port,
                              "--bind",
                              "127.0.0.1",
                              "--save",
                              "",
                              "--appendonly",
                              "no",
                              "--maxclients",
                              "20000",
                              "--daemonize",
                              "no",
                              "--tcp-backlog",
                              "4096",
                              "--dir",
                              "/",
                              NULL };
    struct bench_program program;
    *server = (struct bench_server){ .name = "redis", .pipe = -1 };
    server->port = find_port();
    snprintf(port, sizeof port, "%d", server->port);
    bench_pin_beside_server();
    bool has_started = bench_program_start(command, SIGKILL, &program);
    bench_pin_client(true);
    if (!has_started)
        return false;
    server->pid = program.pid;
    server->pipe = program.out;
    close(program.err);
    double deadline = jd__clock_now() + START_SECONDS;
    if (await_ready(program.out, deadline) || is_missing(server, deadline))
        return true;
    return bench_complain("redis-server did not start on port %s within %g s",
                          port, START_SECONDS);
}

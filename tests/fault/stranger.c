/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stranger.c - connections to a port of this host that do not belong there,
 * until standard input ends; then it says how many there were.
 *
 *     stranger PORT hold     as many as it may have, which say nothing, and
 *                            others for those that are closed
 *     stranger PORT flood    one after the other, as fast as it can
 *     stranger PORT babble   the same with half a frame
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 3000, OWN_FILES = 16, A_TURN = 64 };

static int sockets[MOST], room;
static long num_connections;
static struct sockaddr_in address = { .sin_family = AF_INET };

/* Without TIME_WAIT: there are only so many ports. */
static void drop(int *socket)
{
    static const struct linger at_once = { 1, 0 };
    if (*socket < 0)
        return;
    setsockopt(*socket, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close(*socket);
    *socket = -1;
}

static void come(int *own)
{
    *own = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (*own < 0)
        return;
    if (connect(*own, (struct sockaddr *)&address, sizeof address) == 0 ||
        errno == EINPROGRESS)
        num_connections++;
    else
        drop(own);
}

/* What it was sent does not matter. */
static bool is_closed(int socket)
{
    char bytes[256];
    ssize_t got = recv(socket, bytes, sizeof bytes, MSG_DONTWAIT);
    return got == 0 || (got < 0 && errno != EAGAIN && errno != ENOTCONN);
}

static void hold(int i)
{
    if (sockets[i] >= 0 && is_closed(sockets[i]))
        drop(&sockets[i]);
    if (sockets[i] < 0)
        come(&sockets[i]);
}

static void flood(int i)
{
    drop(&sockets[i]);
    come(&sockets[i]);
}

static void babble(int i)
{
    static const char half[] = { 0, 0, 1, 0, 'h', 'a', 'l', 'f' };
    int last = (i + room - A_TURN) % room;
    flood(i);
    if (sockets[last] >= 0)
        send(sockets[last], half, sizeof half, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* Standard input has ended; and a moment has passed, so that it does not take
 * a core for itself. */
static bool is_over(void)
{
    struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
    char byte;
    return poll(&input, 1, 2) > 0 && read(STDIN_FILENO, &byte, 1) <= 0;
}

static void begin(int port)
{
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    room = limit.rlim_cur < MOST + OWN_FILES ? (int)limit.rlim_cur - OWN_FILES
                                             : MOST;
    memset(sockets, -1, sizeof sockets);
    address.sin_port = htons((uint16_t)port);
    inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: stranger PORT hold|flood|babble\n");
        return 2;
    }
    void (*attack)(int) = *argv[2] == 'h'   ? hold
                          : *argv[2] == 'f' ? flood
                                            : babble;
    begin(atoi(argv[1]));
    for (int i = 0; i % A_TURN || !is_over(); i = (i + 1) % room)
        attack(i);
    printf("%ld connections\n", num_connections);
    return 0;
}

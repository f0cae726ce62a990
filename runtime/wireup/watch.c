/* SPDX-License-Identifier: BSD-3-Clause */
/* watch.c - the end of a connection is the end of the server. */
#include "runtime/wireup/watch.h"
#include "runtime/coordination/client/client.h"
#include "runtime/coordination/session/session_private.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define HOST_SIZE 256

static struct {
    struct jd_session *session; /* NULL: nothing is watched */
    pid_t owner;
    int fd;
    pid_t server; /* 0: the kernel does not say */
    char host[HOST_SIZE];
    struct event *event; /* the loop's own */
} watch;

/* The loop's thread. */
static void stop_looking(void *unused)
{
    (void)unused;
    if (watch.event)
        event_free(watch.event);
    watch.event = NULL;
}

static void print_end(char *text, size_t size)
{
    char pid[32] = "";
    if (watch.server > 0)
        snprintf(pid, sizeof pid, ", pid %d", (int)watch.server);
    snprintf(text, size,
             "MPI's server of host %s (jd-pmix-server%s) was killed or has "
             "crashed, and the host's processes cannot go on without it",
             watch.host, pid);
}

/* The server says nothing, so that what can be read is the end. */
static void on_readable(evutil_socket_t fd, short what, void *unused)
{
    char byte, text[HOST_SIZE + 160];
    (void)what, (void)unused;
    ssize_t n = recv(fd, &byte, 1, MSG_DONTWAIT);
    if (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)))
        return;
    stop_looking(NULL);
    print_end(text, sizeof text);
    jd__session_give_up(watch.session, JD_UNAVAILABLE, text);
}

static void start_looking(void *unused)
{
    struct jd_loop *loop = jd__client_loop(jd__session_client(watch.session));
    (void)unused;
    watch.event = event_new(jd__loop_base(loop), watch.fd, EV_READ | EV_PERSIST,
                            on_readable, NULL);
    if (watch.event)
        event_add(watch.event, NULL);
}

/* Who listens at the other end. */
static pid_t find_server(int fd)
{
    struct ucred who;
    socklen_t size = sizeof who;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 ? who.pid
                                                                     : 0;
}

jd_status jd__watch_start(struct jd_session *session, int fd, const char *host)
{
    watch.session = session;
    watch.owner = getpid();
    watch.fd = fd;
    watch.server = find_server(fd);
    snprintf(watch.host, sizeof watch.host, "%s", host);
    if (jd__loop_run(jd__client_loop(jd__session_client(session)),
                     start_looking, NULL))
        return JD_OK;
    watch.session = NULL;
    return jd__fail_no_memory("jd_initialize", sizeof watch);
}

void jd__watch_stop(void)
{
    if (!watch.session || watch.owner != getpid())
        return;
    jd__loop_run(jd__client_loop(jd__session_client(watch.session)),
                 stop_looking, NULL);
    watch.session = NULL;
}

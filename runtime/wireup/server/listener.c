/* SPDX-License-Identifier: BSD-3-Clause */
/* listener.c - who may come in. */
#include "runtime/wireup/server/listener.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

static bool may_enter(int fd, struct ucred *ret_who)
{
    socklen_t size = sizeof *ret_who;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, ret_who, &size) == 0 &&
           (ret_who->uid == geteuid() || ret_who->uid == 0);
}

static void on_accept(evutil_socket_t listen_fd, short what, void *arg)
{
    const struct listener_spec *spec = arg;
    struct ucred who;
    (void)what;
    int fd = accept4(listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0)
        return;
    if (may_enter(fd, &who))
        spec->on_visitor(spec->arg, fd, &who);
    else
        close(fd);
}

static jd_status fail_socket(const char *call, const char *path)
{
    return jd_fail(JD_RESOURCE_EXHAUSTED,
                   "the socket %s cannot be made: %s failed: %s", path, call,
                   strerror(errno));
}

static jd_status listen_at(int fd, const char *path)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    memcpy(address.sun_path, path, strlen(path) + 1);
    if (bind(fd, (struct sockaddr *)&address, sizeof address) != 0)
        return fail_socket("bind", path);
    return listen(fd, SOMAXCONN) == 0 ? JD_OK : fail_socket("listen", path);
}

static jd_status watch_socket(const struct listener_spec *spec, int fd)
{
    struct listener_spec *kept = malloc(sizeof *kept);
    if (!kept)
        return jd__fail_no_memory(spec->path, sizeof *kept);
    *kept = *spec;
    struct event *event = event_new(jd__loop_base(spec->loop), fd,
                                    EV_READ | EV_PERSIST, on_accept, kept);
    if (event && event_add(event, NULL) == 0)
        return JD_OK;
    if (event)
        event_free(event);
    free(kept);
    return fail_socket("event_add", spec->path);
}

jd_status listener_open(const struct listener_spec *spec)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return fail_socket("socket", spec->path);
    jd_status status = listen_at(fd, spec->path);
    if (status == JD_OK)
        status = watch_socket(spec, fd);
    if (status != JD_OK)
        close(fd);
    return status;
}

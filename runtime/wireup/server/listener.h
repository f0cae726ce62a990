/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * listener.h - a Unix socket at which this user's processes come to the server,
 * and nobody else's.
 *
 *     listener_open(&spec);       on_visitor(arg, fd, &who) for each, on the
 * loop
 *
 * It is there until the program ends.
 */
#ifndef RUNTIME_WIREUP_SERVER_LISTENER_H
#define RUNTIME_WIREUP_SERVER_LISTENER_H

#include "runtime/coordination/net/loop.h"

#include <sys/socket.h>

struct listener_spec {
    struct jd_loop *loop;
    const char *path; /* fits into a sockaddr_un */
    /* On the loop. The descriptor does not block, is closed at exec, and is
     * the function's. who is of this user, or root. */
    void (*on_visitor)(void *arg, int fd, const struct ucred *who);
    void *arg;
};

/* Before the loop starts. Returns JD_OK; RESOURCE_EXHAUSTED naming the call
 * that failed. */
jd_status listener_open(const struct listener_spec *spec);

#endif

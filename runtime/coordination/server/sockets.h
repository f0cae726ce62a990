/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sockets.h - the coordination service with its sockets, on the loop of
 * process 0: it accepts connections, hands their messages to the state machine
 * (service.h) and keeps its clock.
 *
 *     struct jd_server *server;
 *     jd__sockets_create(&spec, &server);         before the loop starts
 *     fd = jd__sockets_connect(server);           process 0's own agent
 *     jd__sockets_destroy(server);                from any thread but the
 * loop's
 */
#ifndef RUNTIME_COORDINATION_SERVER_SOCKETS_H
#define RUNTIME_COORDINATION_SERVER_SOCKETS_H

#include "runtime/coordination/net/listen.h"
#include "runtime/coordination/net/loop.h"
#include "runtime/coordination/server/service.h"

struct jd_server;

struct jd_server_spec {
    struct jd_loop *loop;
    struct jd_listeners listeners;  /* the server's own from now on */
    struct jd_service_spec service; /* hooks are the server's */
};

/* Returns JD_OK; RESOURCE_EXHAUSTED. The listeners are closed on failure. */
jd_status jd__sockets_create(const struct jd_server_spec *spec,
                             struct jd_server **ret_server);

/* A connection within this process: one end is the server's, the other is
 * returned (non-blocking, close-on-exec); -1 where there is none. */
int jd__sockets_connect(struct jd_server *server);

/* True while other processes that live and have a callback for failures are
 * connected. On the loop's thread. */
bool jd__sockets_has_armed(const struct jd_server *server);

/* Nobody new is let in, and the ports are free for another server; those who
 * are connected stay. */
void jd__sockets_stop_listening(struct jd_server *server);

/* Closes everything at once. NULL is nothing. */
void jd__sockets_destroy(struct jd_server *server);

#endif

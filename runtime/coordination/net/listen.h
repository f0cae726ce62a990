/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * listen.h - sockets that listen, and room for the connections they bring.
 *
 *     struct jd_listen listen = { .port = 1234, .variable = "JD_..." };
 *     status = jd__listen_open(&listen, &listeners);
 *     ... listeners.port, listeners.fds ...
 *     jd__listen_close(&listeners);
 *
 * Threads: any.
 */
#ifndef RUNTIME_COORDINATION_NET_LISTEN_H
#define RUNTIME_COORDINATION_NET_LISTEN_H

#include "base/status.h"
#include "runtime/coordination/net/addresses.h"

#include <stdbool.h>
#include <stddef.h>

/* What to listen on. */
struct jd_listen {
    const char *bind;     /* "host:port" to bind, or NULL: all interfaces */
    int port;             /* where bind is NULL; 0: the kernel chooses */
    bool loopback;        /* where bind is NULL: loopback alone */
    const char *variable; /* what chose it, for sentences, never NULL:
                             "JD_COORDINATOR_ADDRESS" */
    double timeout;       /* for looking up bind */
};

enum { JD_MAX_LISTENERS = 4 };

struct jd_listeners {
    int count;
    int fds[JD_MAX_LISTENERS]; /* listening, non-blocking, close-on-exec */
    int port;
};

/*
 * Listens: on [::] for both families, on 0.0.0.0 where IPv6 is off; on
 * 127.0.0.1 and ::1 where loopback alone; or on those addresses of bind that
 * this host has. All have one port.
 * Returns: JD_OK; ALREADY_EXISTS where the port is in use, naming it, its
 *   owner (program, pid, user) where /proc shows it, and the variable;
 *   NOT_FOUND where the address is none of this host; PERMISSION_DENIED
 *   (ports below 1024); RESOURCE_EXHAUSTED; as jd__resolve_address.
 */
jd_status jd__listen_open(const struct jd_listen *listen,
                          struct jd_listeners *ret_listeners);
/* Closes what is open; one that is closed or all zero is allowed. */
void jd__listen_close(struct jd_listeners *listeners);

/*
 * Who has the port of this endpoint, as far as /proc shows: "python3 (pid 77,
 * user 1000)"; without a pid where that process is hidden.
 */
void jd__port_owner_print(FILE *out, const struct jd_endpoint *endpoint);

/* Where the other end of a connected socket is. */
enum jd_peer_place {
    JD_PEER_AWAY,   /* on another host */
    JD_PEER_HERE,   /* on this one, and its user is known */
    JD_PEER_HIDDEN, /* on this one, but /proc does not show whose it is */
};

/* The user of the other end where that is on this host: the one who made that
 * socket. Both ends are open: one that has been closed is hidden. */
enum jd_peer_place jd__port_owner_peer_user(int fd, uid_t *ret_user);

/*
 * Raises the soft RLIMIT_NOFILE to the hard one, at most to as many files as a
 * forked child closes (child.h): a hard one of a billion would make programs
 * slow that close all they might have. A forked child has the one from before,
 * for what it may exec; system(), popen() and posix_spawn() run no code of ours
 * in theirs, which keep this one. No failure: where it cannot be raised, it is
 * as it was.
 */
void jd__file_limit_raise(void);

/*
 * Raises the soft RLIMIT_NOFILE to the hard one where needed more files than
 * are open now could not be opened otherwise. Returns JD_OK;
 * RESOURCE_EXHAUSTED naming both limits, what is needed and for what ("2000
 * processes").
 */
jd_status jd__file_limit_allow(size_t needed, const char *what);

#endif

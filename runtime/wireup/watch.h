/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * watch.h - this process's eye on MPI's server of its host. The server sees by
 * a connection how long the process lives; the same connection's end says here
 * that the server has been killed or has crashed, without which MPI would end
 * this process a second later, or abort it, with no word of why.
 *
 *     status = jd__watch_start(session, fd, host);
 *     ... the server goes: all processes hear of it, and this one ends ...
 *     jd__watch_stop();
 *
 * Threads: one; what is watched is looked at by the session's loop.
 */
#ifndef RUNTIME_WIREUP_WATCH_H
#define RUNTIME_WIREUP_WATCH_H

#include "runtime/coordination/session/session.h"

/* One at a time. fd, a connected Unix socket, stays the caller's, and open.
 * Returns: JD_OK; RESOURCE_EXHAUSTED. */
jd_status jd__watch_start(struct jd_session *session, int fd, const char *host);

/* Before the session is destroyed; nothing where there is no watch, or
 * in a forked child. */
void jd__watch_stop(void);

#endif

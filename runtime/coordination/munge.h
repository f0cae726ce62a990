/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * munge.h - credentials of munged, which Slurm runs on every host. libmunge
 * blocks, so each call runs it on a thread of its own and has a deadline;
 * where munged does not answer in time that thread is left behind (it ends
 * when munged answers, or libmunge gives up).
 *
 *     jd__munge_encode(mac, sizeof mac, 5, &credential);       at the agent
 *
 *     connection->question = jd__munge_decode(loop, credential, mac,
 *         sizeof mac, 5, on_munge, connection);                at the service
 *     ... on_munge(connection, status, text) comes, or, where the connection
 *     ... ends before it: jd__munge_cancel(connection->question);
 *
 * Built without libmunge, jd__munge_is_there() is false and the others fail
 * with UNIMPLEMENTED.
 */
#ifndef RUNTIME_COORDINATION_MUNGE_H
#define RUNTIME_COORDINATION_MUNGE_H

#include "runtime/coordination/loop.h"
#include "runtime/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The library is there and munged answers within the seconds. */
bool jd__munge_is_there(double timeout);

/*
 * A credential over the payload (up to 1 MiB), a malloc'ed text. Blocks at
 * most timeout seconds; not on the loop's thread.
 * Returns: JD_OK; UNAVAILABLE with munge's words; DEADLINE_EXCEEDED;
 *   RESOURCE_EXHAUSTED; UNIMPLEMENTED.
 */
jd_status jd__munge_encode(const void *payload, size_t size, double timeout,
                           char **ret_credential);

/*
 * Has a credential looked at, and calls done on the loop's thread: JD_OK
 * where munge vouches for it, its payload is the expected one and its user is
 * ours or root; else UNAUTHENTICATED, UNAVAILABLE or DEADLINE_EXCEEDED with a
 * sentence. Never blocks. done comes exactly once, never before this returns,
 * unless the question is cancelled; when it comes the question is gone. The
 * loop must live until then. NULL: no memory or thread, or UNIMPLEMENTED; the
 * sentence is in jd_error_message(), and done will not come.
 * Threads: the loop's.
 */
struct jd_munge_question;
typedef void (*jd_munge_done_f)(void *arg, jd_status status, const char *text);
struct jd_munge_question *jd__munge_decode(struct jd_loop *loop,
                                           const char *credential,
                                           const void *payload, size_t size,
                                           double timeout, jd_munge_done_f done,
                                           void *arg);

/* done will not come. NULL is nothing. Threads: the loop's. */
void jd__munge_cancel(struct jd_munge_question *question);

/* Where munged listens, for tests that have one of their own; NULL: where
 * libmunge looks. The text is not copied. Threads: none of the above runs. */
void jd__munge_set_socket(const char *path);

#endif

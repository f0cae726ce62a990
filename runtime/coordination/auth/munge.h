/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * munge.h - credentials of munged, which Slurm runs on every host. libmunge
 * blocks, so each call runs it on a thread of its own and has a deadline;
 * where munged does not answer in time that thread is left behind (it ends
 * when munged answers, or libmunge gives up).
 *
 *     jd__munge_encode("", 0, 5, NULL, &credential);       on another thread
 *
 *     connection->question =
 *         jd__munge_ask(loop, &spec, on_munge, connection);    on the loop
 *     ... on_munge(connection, status, text) comes, or, where the connection
 *     ... ends before it: jd__munge_cancel(connection->question);
 *
 * Built without libmunge, jd__munge_look() finds none and the others fail with
 * UNIMPLEMENTED.
 */
#ifndef RUNTIME_COORDINATION_AUTH_MUNGE_H
#define RUNTIME_COORDINATION_AUTH_MUNGE_H

#include "base/clock.h"
#include "base/status.h"
#include "runtime/coordination/net/loop.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Whether this host has munge: the library is there, and a munged that answers.
 * There is none where no socket is; one that does not answer is an error, since
 * whoever can keep munged busy must not have us do without it.
 * Returns: JD_OK; UNAVAILABLE, DEADLINE_EXCEEDED, RESOURCE_EXHAUSTED as
 *   jd__munge_encode.
 */
jd_status jd__munge_look(double timeout, const struct jd_clock *clock,
                         bool *ret_is_there);

/*
 * A credential over the payload (up to 1 MiB), a malloc'ed text, which
 * anybody's processes may show to munge. Blocks at most timeout seconds of the
 * clock; not on the loop's thread.
 * Returns: JD_OK; UNAVAILABLE with munge's words; DEADLINE_EXCEEDED;
 *   RESOURCE_EXHAUSTED; UNIMPLEMENTED.
 */
jd_status jd__munge_encode(const void *payload, size_t size, double timeout,
                           const struct jd_clock *clock, char **ret_credential);

/* Whose credentials are taken, and who can use the one that is made: a
 * credential is for one user id, and for nobody who gets hold of it else. */
enum jd_munge_user {
    JD_MUNGE_OWN,  /* this process's user */
    JD_MUNGE_ROOT, /* or root; made for anybody */
    JD_MUNGE_ANY,  /* any user on this cluster; made for anybody */
};

/* What munge is asked: about a credential, for one, or both. */
struct jd_munge_spec {
    const char *credential; /* NULL: none is looked at */
    const void *payload;    /* what it must be over */
    size_t size;
    const void *answer; /* one is made over this; NULL: none is */
    size_t answer_size;
    enum jd_munge_user user;
    double timeout; /* seconds */
};

/*
 * Asks, and calls done on the loop's thread: JD_OK with the new credential, or
 * "", where munge vouches for the old one, its payload is the expected one and
 * its user is; else UNAUTHENTICATED, UNAVAILABLE or DEADLINE_EXCEEDED with a
 * sentence. Never blocks. done comes exactly once, never before this returns,
 * unless the question is cancelled; when it comes the question is gone. The
 * loop must live until then. NULL: no memory or thread, or UNIMPLEMENTED; the
 * sentence is in jd_error_message(), and done will not come.
 * Threads: the loop's.
 */
struct jd_munge_question;
typedef void (*jd_munge_done_f)(void *arg, jd_status status, const char *text);
struct jd_munge_question *jd__munge_ask(struct jd_loop *loop,
                                        const struct jd_munge_spec *spec,
                                        jd_munge_done_f done, void *arg);

/* done will not come. NULL is nothing. Threads: the loop's. */
void jd__munge_cancel(struct jd_munge_question *question);

/* Where munged listens, for tests that have one of their own; NULL: where
 * libmunge looks. The text is not copied. Threads: none of the above runs. */
void jd__munge_set_socket(const char *path);

#endif

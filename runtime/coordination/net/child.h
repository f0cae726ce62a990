/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * child.h - sockets that a forked child closes: while it holds copies of them,
 * its parent's death cannot be seen at their other ends, and its parent's port
 * stays taken.
 *
 *     jd__child_note(fd);
 *     ...
 *     jd__child_forget(fd);
 *     close(fd);
 *
 * Programs that exec or posix_spawn do not need it: all are close-on-exec.
 * Threads: any.
 */
#ifndef RUNTIME_COORDINATION_NET_CHILD_H
#define RUNTIME_COORDINATION_NET_CHILD_H

/* Descriptors from here on stay open in children. */
enum { JD_CHILD_FILES = 1 << 16 };

void jd__child_note(int fd);
void jd__child_forget(int fd);

/* Has children close them from now on; once per process is enough. */
void jd__child_watch(void);

/* In the child, between fork() and what follows: closes all. */
void jd__child_close_all(void);

#endif

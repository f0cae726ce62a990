/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * supervisor.h - the server apart from who starts it, and cleaned up after
 * whatever happens to it. Three processes, one inside the other:
 *
 *     the starter's child    ends as soon as the server is ready (exit code
 *                            0) or cannot be (1): the starter waits for it,
 *                            and has no child left in its program's way
 *     the supervisor         in a session of its own; waits for the server,
 *                            and removes what it has left. Where the server was
 *                            killed, it ends the processes that were there
 *     the server             libpmix, the agent, the threads
 */
#ifndef RUNTIME_WIREUP_SERVER_SUPERVISOR_H
#define RUNTIME_WIREUP_SERVER_SUPERVISOR_H

#include "runtime/wireup/server/directory.h"

/* Signals that a launcher sends to whole groups are not for the server, which
 * ends after its processes; and descriptors that were left open are not its. */
void supervisor_detach(void);

/* As ps shows the two: a job under jd-run may have a server that
 * jd_initialize() has started, too. Before supervisor_start. */
void supervisor_name_for_jd_run(void);

/* The server's descriptors. */
struct supervisor {
    int ready; /* to the starter's child */
    int pipe_fd; /* to the supervisor: who is there (struct liveness_note) */
};

/*
 * Returns in the server alone.
 * The other two never return. In the starter's child, when the fork fails, it
 * returns RESOURCE_EXHAUSTED.
 * Threads: there must be no other.
 */
jd_status supervisor_start(const struct directory *directory,
                           const char *nspace,
                           struct supervisor *ret_supervisor);

/* Removes what the job has made on this host. The server does it where it ends
 * by itself, for its supervisor may have been killed, and the supervisor
 * always. */
void supervisor_clean(const struct directory *directory, const char *nspace);

/* The starter's child ends with exit code 0. */
void supervisor_say_ready(const struct supervisor *supervisor);

/* Nothing is read from standard input or written to standard output any more:
 * /dev/null takes their place. */
void supervisor_close_standard(void);

#endif

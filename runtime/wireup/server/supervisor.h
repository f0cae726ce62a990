/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * supervisor.h - the server apart from who starts it, and cleaned up after
 * whatever happens to it. Three processes, one inside the other:
 *
 *     the starter's child    ends as soon as the server is ready (exit code
 *                            0) or cannot be (1): the starter waits for it,
 *                            and has no child left in its program's way
 *     the keeper             in a session of its own; waits for the server,
 *                            and removes what it has left. Where the server was
 *                            killed, it ends the processes that were there
 *     the server             libpmix, the agent, the threads
 */
#ifndef RUNTIME_WIREUP_SERVER_SUPERVISOR_H
#define RUNTIME_WIREUP_SERVER_SUPERVISOR_H

#include "runtime/wireup/server/directory.h"

/* Signals that a launcher sends to whole groups are not for the server, which
 * ends after its processes; and descriptors that were left open are not its. */
void keeper_detach(void);

/* As ps shows the two: a job under jd-run may have a server that
 * jd_initialize() has started, too. Before keeper_start. */
void keeper_name_for_jd_run(void);

/* The server's descriptors. */
struct keeper {
    int ready; /* to the starter's child */
    int roll;  /* to the keeper: who is there (struct life_note) */
};

/*
 * Returns in the server alone.
 * The other two never return. In the starter's child, when the fork fails, it
 * returns RESOURCE_EXHAUSTED.
 * Threads: there must be no other.
 */
jd_status keeper_start(const struct directory *directory, const char *nspace,
                       struct keeper *ret_keeper);

/* Removes what the job has made on this host. The server does it where it ends
 * by itself, for its keeper may have been killed, and the keeper always. */
void keeper_clean(const struct directory *directory, const char *nspace);

/* The starter's child ends with exit code 0. */
void keeper_say_ready(const struct keeper *keeper);

/* Nothing is read from standard input or written to standard output any more:
 * /dev/null takes their place. */
void keeper_close_standard(void);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * proc_peers.h - what one process can see of the others on its host, through
 * /proc alone: for the sentences of waits that lasted too long. No file is
 * written and nobody is disturbed.
 *
 * A process inside jd_initialize() has a thread called "jd-start:N" (its
 * watchdog, in step N), one inside MPI_Finalize "jd-end:N"; that is how the
 * others know that it has come.
 * Threads: any.
 */
#ifndef RUNTIME_PROCESS_PROC_PEERS_H
#define RUNTIME_PROCESS_PROC_PEERS_H

#include "autodetect/cluster.h"
#include "base/env.h"

#include <stdio.h>

/* An operation that all processes of the job come to, in steps. */
struct jd_phases {
    const char *operation;         /* "jd_initialize()" */
    const char *thread_name;       /* of its watchdog, "jd-start:" */
    const char *const *step_names; /* what each step is called; constant */
    int num_steps;
    /* What to try where a step that waits for other hosts too takes long;
     * NULL, or one for each step, which may be NULL. */
    const char *const *step_hints;
};

/*
 * Writes what can be seen on this host of the processes of our job, as
 * sentences: who waits too, who runs without having come to the meeting, who
 * is stopped, who is not there. cluster may be NULL (nothing was detected).
 */
void jd__proc_peers_print(FILE *out, const struct jd_phases *phases,
                          const struct jd_env *env,
                          const struct jd_cluster *cluster);

/* The lowest process index on this host that has come to the meeting, or -1
 * where that cannot be seen. */
int jd__proc_peers_lowest(const struct jd_phases *phases,
                          const struct jd_env *env,
                          const struct jd_cluster *cluster);

#endif

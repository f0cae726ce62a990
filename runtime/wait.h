/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wait.h - the one loop that waits for MPI: with a deadline, a name, and a
 * notice while it lasts.
 *
 *     struct jd_wait wait = { .operation = "jd_psum", .timeout = 1800, ... };
 *     status = jd__wait_for_mpi(&wait, requests, 2);
 *
 * Nobody wakes it when a peer dies: it polls, yields between polls, and ends
 * by its deadline (or by the launcher, which ends the job).
 */
#ifndef RUNTIME_WAIT_H
#define RUNTIME_WAIT_H

#include "runtime/status.h"

#include <mpi.h>
#include <stddef.h>

struct jd_topology;

/* Whom and what a wait is for; only read when the wait is long. */
struct jd_wait {
    const char *operation; /* "jd_psum" */
    const char *detail;    /* " over axis \"data\"", or NULL */
    double timeout;        /* seconds; negative: none */
    double notice;         /* seconds until the first notice; negative: none */
    const char *variable;  /* what changes the deadline */
    const struct jd_topology *topology;
    const int *processes; /* the process at the other end of each request */
    int self;             /* this process's index */
};

/*
 * Tests the requests until all are complete.
 * Returns: JD_OK; DEADLINE_EXCEEDED naming the operation, the processes whose
 *   requests are open and what can be seen of those on this host; INTERNAL when
 * MPI fails. On failure the requests stay open (MPI cannot cancel a collective)
 * and their buffers with MPI: the communicator must not be used again.
 */
jd_status jd__wait_for_mpi(const struct jd_wait *wait, MPI_Request *requests,
                           int count);

#endif

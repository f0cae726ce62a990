/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * exit.h - how a process of the job ends: normally (jd_shutdown, then
 * MPI_Finalize where jd started MPI), after a failure (the whole job, at
 * once), or at a deadline (this process, at once).
 */
#ifndef RUNTIME_PROCESS_EXIT_H
#define RUNTIME_PROCESS_EXIT_H

#include "autodetect/cluster.h"
#include "base/status.h"

/*
 * Installs the exit handler, once per process. In a forked child it does
 * nothing. After exit code 0 it calls shut_down and, where jd__exit_owns_mpi
 * was called and nothing has failed, finalises MPI within shutdown_timeout;
 * where the shutdown fails, the exit code is 117 with the sentence. After
 * another code it tells the others, and does neither. A process that is being
 * ended because a peer has failed stays in it until then.
 */
jd_status jd__exit_install(jd_status (*shut_down)(void));

/* jd has initialised MPI, and will finalise it at exit within the deadline.
 * The cluster, what the launcher said, is kept until then. */
void jd__exit_owns_mpi(struct jd_cluster *cluster, double shutdown_timeout,
                       double notice);

/* Destroys a cluster, unless it is the one that MPI's end will need. */
void jd__exit_release(struct jd_cluster *cluster);

/* What jd_shutdown returns, which this returns too: where it has failed, MPI
 * is not finalised, and a process that exits with it prints the sentence and
 * has exit code 117. */
jd_status jd__exit_note(jd_status status);

/* jd is initialised again: all have met, and what failed before is over. */
void jd__exit_forget(void);

/* Prints the sentence of the shutdown that failed, and ends the process with
 * exit code 117. */
JD_NORETURN void jd__exit_by_failed_shutdown(void);

/* Ends the whole job: MPI_Abort where MPI is up, within 5 s, else this
 * process alone (process_exit.h). */
JD_NORETURN void jd__exit_job(int code);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * exit.h - how a process of the job ends: normally (jd_shutdown, then
 * MPI_Finalize where jd started MPI), after a failure (the whole job, at
 * once), or at a deadline (this process, at once).
 */
#ifndef RUNTIME_EXIT_H
#define RUNTIME_EXIT_H

#include "runtime/options.h"
#include "runtime/status.h"

/*
 * Installs the exit handler, once per process. In a forked child it does
 * nothing. After exit code 0 it shuts jd down and, where jd__exit_owns_mpi
 * was called, finalises MPI within shutdown_timeout; after another code it
 * does neither, so that the launcher sees the failure and ends the others.
 */
jd_status jd__exit_install(void);

/* jd has initialised MPI, and will finalise it at exit within the deadline. */
void jd__exit_owns_mpi(double shutdown_timeout, double notice);

/* Flushes stdout and stderr unless a thread holds them, then _exit(code). */
JD_NORETURN void jd__exit_now(int code);

/* Ends the whole job: MPI_Abort where MPI is up, within 5 s, else as above. */
JD_NORETURN void jd__exit_job(int code);

#endif

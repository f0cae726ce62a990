/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lock.h - how several of jd's threads share MPI: by MPI's own leave where
 * its thread level is MULTIPLE, by one lock where it is SERIALIZED; below that
 * only the thread that initialised MPI may call it.
 *
 *     jd__mpi_lock();
 *     code = MPI_Isend(...);
 *     jd__mpi_unlock();
 *
 * Every MPI call after jd_initialize() is made so. Inside the lock nothing
 * waits: calls there are posts, tests and probes. Who polls uses
 * jd__mpi_try_lock(), which lets those go first who have something to post.
 * The program's own MPI calls take no lock: at SERIALIZED they must not
 * coincide with calls of jd.
 */
#ifndef RUNTIME_MPI_LOCK_H
#define RUNTIME_MPI_LOCK_H

#include "base/status.h"

#include <stdbool.h>

/* Reads MPI's thread level; when a world is made. Until then nothing is
 * locked. */
void jd__mpi_lock_configure(void);

/* Nothing is done where no lock is needed. Not nested. Threads: any that may
 * call MPI. */
void jd__mpi_lock(void);
bool jd__mpi_try_lock(void);
void jd__mpi_unlock(void);

/* Whether MPI's thread level lets this thread call MPI. */
bool jd__mpi_may_call(void);

/* JD_OK; FAILED_PRECONDITION naming operation, the level and the remedy where
 * this thread may not call MPI. */
jd_status jd__mpi_check_thread(const char *operation);

/* Whether it lets several threads call MPI, or MPI is not used. */
bool jd__mpi_serves_threads(void);

/* The same as jd__mpi_check_thread for count threads that are to call MPI in
 * the place of this one, a device each: JD_OK for one, or where MPI is not
 * used. */
jd_status jd__mpi_check_devices(const char *operation, int count);

/*
 * Lets MPI make progress with the program's own messages, where this thread
 * may call MPI and no other is in it: one probe. world is a const struct
 * jd_world; one without MPI is allowed.
 */
void jd__mpi_make_progress(void *world);

#endif

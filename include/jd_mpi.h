/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * jd_mpi.h - where jd and MPI meet: the only public header that includes
 * mpi.h. jd.h does not include this one.
 *
 *     MPI_Init(&argc, &argv);
 *     JD_CHECK(jd_initialize_on(half, NULL, 0));
 *
 *     MPI_Gatherv(..., jd_mpi_comm());
 */
#ifndef JD_MPI_H
#define JD_MPI_H

#include "jd_process.h"

/* Open MPI 4's C++ bindings would need a library of their own. */
#if defined(__cplusplus) && !defined(OMPI_SKIP_MPICXX)
#define OMPI_SKIP_MPICXX 1
#endif
#include <mpi.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * As jd_initialize(), on the program's own communicator: its processes are
 * the world, in its order unless options give process_id. jd duplicates it
 * and never finalises MPI. MPI_THREAD_SINGLE is enough for one local device.
 *
 * Collective: every process of comm, an intra-communicator.
 * Owns: the caller keeps comm and may free it afterwards.
 * Returns: as jd_initialize(); INVALID_ARGUMENT too for MPI_COMM_NULL or an
 *   inter-communicator, FAILED_PRECONDITION where MPI is not initialised or
 *   already finalised, or an explicit num_processes is not comm's size.
 */
JD_API jd_status jd_initialize_on(MPI_Comm comm, const jd_options *options,
                                  size_t size);

/*
 * A communicator of all processes, its ranks the process indices, for what
 * stays MPI's (Alltoallw, probes, files). It is not the one jd works on, so
 * that messages never meet. A world of one process starts MPI at the first
 * call. MPI_COMM_NULL on failure, with the reason in jd_error_message().
 *
 * Threads: any, but the first call of a world of one, which starts MPI, is on
 *   one thread.
 * Owns: jd; valid until jd_shutdown(), never to be freed by the caller. Its
 *   error handler is MPI_ERRORS_RETURN.
 */
JD_API MPI_Comm jd_mpi_comm(void);

/* MPI_Fint; an int where mpi.h is that of MPI's standard ABI, which has none.
 */
#ifdef MPI_ABI
typedef int jd_mpi_fint;
#else
typedef MPI_Fint jd_mpi_fint;
#endif

/*
 * The same as a Fortran handle, of `use mpi`, and of `use mpi_f08` as the
 * MPI_VAL of a type(MPI_Comm); that of MPI_COMM_NULL on failure.
 * Source: MPI_Comm_c2f, MPI_Comm_toint.
 */
JD_API jd_mpi_fint jd_mpi_comm_f(void);

#ifdef __cplusplus
}
#endif

#endif

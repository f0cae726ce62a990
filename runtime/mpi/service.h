/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * service.h - does the launcher serve what this MPI can start from? Asked
 * before MPI_Init, because Open MPI 4.1 aborts inside it where the answer is
 * no, and Open MPI 5 makes every process a silent world of one.
 *
 * Open MPI starts from PMIx: the PMIX_* variables of a server that lives.
 * PMI-1 and PMI-2 count as nothing.
 */
#ifndef RUNTIME_MPI_SERVICE_H
#define RUNTIME_MPI_SERVICE_H

#include "autodetect/cluster.h"
#include "base/env.h"
#include "base/status.h"

/*
 * Returns: JD_OK where MPI can start from what is served;
 *   FAILED_PRECONDITION with what the launcher said, what is missing, and how
 *   to start the program instead. Connects to a server on the loopback
 *   interface at most, and waits 2 s at most.
 */
jd_status jd__mpi_service_check(const struct jd_env *env,
                                const struct jd_cluster *cluster);

/* The file of the MPI library that is linked, or "". Constant. */
const char *jd__mpi_library_path(void);

/* "Open MPI v4.1.4", of the library that is linked. Constant. */
const char *jd__mpi_library_name(void);

/* The library that is linked is Open MPI, of any version. */
bool jd__mpi_is_open_mpi(void);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * service.h - does the launcher serve what this MPI can start from? Asked
 * before MPI_Init, because Open MPI 4.1 aborts inside it where the answer is
 * no, and Open MPI 5 and MPICH make every process a silent world of one. What
 * each MPI starts from is flavour.h's.
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

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * contradiction.h - launchers inside one another, of which the variables do
 * not tell which is the inner one, and an MPI that its launcher does not serve:
 * each would end in N silent worlds of one.
 *
 *     status = jd__contradiction_check(env, cluster);           before MPI_Init
 *     status = jd__contradiction_check_mpi(env, cluster, size); after the
 *                                                               program's own
 *
 * Threads: any.
 */
#ifndef RUNTIME_PROCESS_CONTRADICTION_H
#define RUNTIME_PROCESS_CONTRADICTION_H

#include "autodetect/cluster.h"
#include "base/env.h"
#include "base/status.h"

/*
 * Where the cluster's rival is_outer: `mpirun -n 1` inside a Slurm step of four
 * tasks is a world of one, but four tasks of an srun that was started under
 * `mpirun -n 1` are not, and have the same variables. The task's first process
 * tells: where it had mpirun's variables from its beginning, they came through
 * srun. Where it cannot be looked at, mpirun's PMIx server does: it answers
 * those that it serves.
 * Returns: JD_OK; FAILED_PRECONDITION with both and the remedy.
 */
jd_status jd__contradiction_check(const struct jd_env *env,
                                  const struct jd_cluster *cluster);

/*
 * For a program that has started MPI itself: a launcher that says more where
 * MPI_COMM_WORLD has size processes, which is one. An explicit count stands,
 * whatever it is (is_explicit).
 * Returns as above.
 */
jd_status jd__contradiction_check_mpi(const struct jd_env *env,
                                      const struct jd_cluster *cluster,
                                      int size, bool is_explicit);

#endif

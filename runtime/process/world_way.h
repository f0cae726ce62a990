/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * world_way.h - how an MPI world comes about, from the first way that applies:
 * MPI is initialised already, or the launcher serves what this MPI can use, or
 * jd serves it itself (wireup.h). A world of one process needs no MPI.
 * Threads: any; nothing is kept.
 */
#ifndef RUNTIME_PROCESS_WORLD_WAY_H
#define RUNTIME_PROCESS_WORLD_WAY_H

#include "autodetect/cluster.h"
#include "base/options.h"
#include "base/status.h"

#include <mpi.h>

/* How the world comes about, decided before MPI_Init. */
enum jd_world_way {
    JD_WORLD_ALONE,   /* one process, no MPI */
    JD_WORLD_ADOPTED, /* the program's MPI */
    JD_WORLD_STARTED, /* jd calls MPI_Init_thread */
    JD_WORLD_MET,     /* the same, through a server that jd starts itself */
};

/*
 * Decides. given is the communicator of jd_initialize_on, else MPI_COMM_NULL.
 * Returns JD_OK; FAILED_PRECONDITION where MPI is already finalised, given
 * but not initialised, or where nothing serves the launcher's processes (the
 * sentence has the remedy).
 */
jd_status jd__world_way_decide(const struct jd_env *env,
                               const struct jd_settings *settings,
                               const struct jd_cluster *cluster, MPI_Comm given,
                               enum jd_world_way *ret_way);

#endif

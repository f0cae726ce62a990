/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * world.h - an MPI communicator in process order, from the first way that
 * applies: MPI is initialised already, or the launcher serves what this MPI
 * can use. Which one is decided before MPI_Init. A world of one process
 * needs no MPI.
 *
 * Threads: made and destroyed on one thread; immutable in between.
 */
#ifndef RUNTIME_WORLD_H
#define RUNTIME_WORLD_H

#include "autodetect/cluster.h"
#include "runtime/options.h"
#include "runtime/status.h"

#include <mpi.h>
#include <stdbool.h>

struct jd_world {
    int index; /* this process's index = its rank in comm */
    int count;
    bool has_mpi;       /* false: a world of one that has not started MPI */
    MPI_Comm comm;      /* jd's own, MPI_ERRORS_RETURN */
    MPI_Comm user_comm; /* jd_mpi_comm()'s, MPI_ERRORS_RETURN */
};

/*
 * INTERNAL with the MPI call, MPI's own text and the operation, where code is
 * not MPI_SUCCESS; else JD_OK.
 */
jd_status jd__check_mpi(int code, const char *call, const char *operation);

#endif

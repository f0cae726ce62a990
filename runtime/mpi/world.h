/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * world.h - MPI's start and an MPI communicator in process order. Which way
 * a world is made is decided before (runtime/process/world_way.h). A world of
 * one process needs no MPI.
 *
 * Threads: made and destroyed on one thread; immutable in between.
 */
#ifndef RUNTIME_MPI_WORLD_H
#define RUNTIME_MPI_WORLD_H

#include "base/options.h"
#include "base/status.h"

#include <mpi.h>
#include <stdbool.h>

struct jd_world {
    int index; /* this process's index = its rank in comm */
    int count;
    bool has_mpi;       /* false: a world of one that has not started MPI */
    MPI_Comm comm;      /* jd's own, MPI_ERRORS_RETURN */
    MPI_Comm user_comm; /* jd_mpi_comm()'s, MPI_ERRORS_RETURN */
};

/* Calls MPI_Init_thread with the level that the settings ask for. */
jd_status jd__world_start_mpi(const struct jd_settings *settings,
                              int num_local_devices);

/*
 * Makes a world from base (which stays its owner's), in the order of base's
 * ranks; MPI_COMM_NULL makes a world of one without MPI.
 * Collective over base.
 */
jd_status jd__world_open(MPI_Comm base, struct jd_world *ret_world);

/* Gives the world the order in which this process has the index; where that
 * is the order already, nothing is done. Collective over the world. */
jd_status jd__world_order(struct jd_world *world, bool in_order, int index);

/* Makes jd_mpi_comm()'s communicator. Collective over the world. */
jd_status jd__world_open_user_comm(struct jd_world *world);

/* Frees the communicators, unless MPI is finalised; before that takes messages
 * that nobody took, for a second at most. */
void jd__world_close(struct jd_world *world);

/*
 * INTERNAL with the MPI call, MPI's own text and the operation, where code is
 * not MPI_SUCCESS; else JD_OK.
 */
jd_status jd__mpi_check(int code, const char *call, const char *operation);

/* MPI_Initialized and not MPI_Finalized. */
bool jd__mpi_is_up(void);

/* MPI_Finalized: MPI cannot start any more. */
bool jd__mpi_was_finalized(void);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * flavour.h - what each MPI does its own way: how it asks its launcher for the
 * others, how jd can tell that somebody will answer, and what jd sets for it
 * before MPI_Init. A file per family (flavour_*.c), one table in flavour.c.
 *
 *     const struct jd_mpi_flavour *flavour = jd__mpi_library_flavour();
 *     if (!flavour->is_served(env, missing, sizeof missing)) ...
 *
 * Threads: any; nothing here changes.
 */
#ifndef RUNTIME_MPI_FLAVOUR_H
#define RUNTIME_MPI_FLAVOUR_H

#include "autodetect/cluster.h"
#include "base/env.h"
#include "runtime/mpi/tuning.h"

#include <stdbool.h>
#include <stddef.h>

struct jd_mpi_flavour {
    const char *sign;     /* in MPI_Get_library_version's text: "Open MPI" */
    const char *launcher; /* "mpirun" */
    const char *srun;     /* of `srun --mpi=`: "pmix" */
    enum jd_served_by by;
    /* jd can be its launcher (runtime/wireup). */
    bool is_joined;
    /*
     * Will somebody answer MPI_Init? Where not, what is missing goes into
     * missing, as "no PMIx server serves them (PMIX_RANK is not set)".
     * Connects to a server on the loopback interface at most, and waits 2 s at
     * most. NULL: jd does not know this MPI.
     */
    bool (*is_served)(const struct jd_env *env, char *missing, size_t size);
    /* Appends what it would set, and why; NULL: nothing. */
    void (*plan)(const struct jd_tune_request *request,
                 struct jd_tuning *ret_plan);
    /* Once MPI is up: what MPI_Finalize needs, to end well. NULL: nothing. */
    void (*prepare_finalize)(void);
};

/* By the beginning of the library's text; one that is unknown has an empty
 * sign. Never NULL. */
const struct jd_mpi_flavour *jd__flavour_of(const char *library_name);

extern const struct jd_mpi_flavour jd__flavour_open_mpi;
extern const struct jd_mpi_flavour jd__flavour_mpich;
extern const struct jd_mpi_flavour jd__flavour_cray;
extern const struct jd_mpi_flavour jd__flavour_intel;
extern const struct jd_mpi_flavour jd__flavour_mvapich;

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * initialize.h - the way from the environment to a runtime, and back. Which
 * runtime is in force, and when there is none, is runtime.c's.
 */
#ifndef RUNTIME_PROCESS_INITIALIZE_H
#define RUNTIME_PROCESS_INITIALIZE_H

#include "runtime/process/runtime.h"

struct jd_start {
    const jd_options *options; /* NULL: none */
    size_t options_size;
    MPI_Comm given; /* jd_initialize_on's; MPI_COMM_NULL: none */
};

/*
 * Makes a runtime; what jd_initialize() promises. Collective.
 * Returns as jd_initialize().
 */
jd_status jd__initialize_job(const struct jd_start *start,
                             struct jd_runtime **ret_runtime);

/*
 * Makes the runtime of a world of one process that never called
 * jd_initialize(): no thread, no MPI. FAILED_PRECONDITION where the launcher
 * says that there are more processes; operation begins that sentence.
 */
jd_status jd__initialize_alone(const char *operation,
                               struct jd_runtime **ret_runtime);

void jd__initialize_undo(struct jd_runtime *runtime);

/* Starts MPI for a world of one that has none yet: jd_mpi_comm() needs it. */
jd_status jd__initialize_add_mpi(struct jd_runtime *runtime);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * finalize_openmpi.h - that Open MPI's MPI_Finalize does not crash.
 *
 * Open MPI 4.1 unloads its PMIx component and then ends the thread whose events
 * may still call it: a notice of PMIx that comes just then, as that another
 * process has ended, goes to memory that is not there any more (seen
 * with 4.1.4: one start of 240 on a machine with much to do). So the component
 * stays mapped.
 */
#ifndef RUNTIME_MPI_FINALIZE_OPENMPI_H
#define RUNTIME_MPI_FINALIZE_OPENMPI_H

/* Once MPI_Init has loaded it; again is nothing. Threads: one at a time. */
void jd__finalize_prepare_open_mpi(void);

#endif

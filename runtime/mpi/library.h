/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * library.h - the MPI library that the program runs with, which need not be
 * the one that jd was built with: its name, its file, and whose kin it is.
 * May be asked before MPI_Init. Threads: any.
 */
#ifndef RUNTIME_MPI_LIBRARY_H
#define RUNTIME_MPI_LIBRARY_H

#include "runtime/mpi/flavour.h"

/* Its file, or "". Constant. */
const char *jd__mpi_library_path(void);

/* "Open MPI v4.1.4". Constant. */
const char *jd__mpi_library_name(void);

/* What is its own. Constant. */
const struct jd_mpi_flavour *jd__mpi_library_flavour(void);

#endif

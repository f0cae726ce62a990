/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * played_mpi.h - the test's own MPI_Get_library_version, so that any MPI can be
 * played; no MPI is started.
 *
 *     library_version = "MPICH Version: 4.0.2\n";
 */
#ifndef TESTS_UNIT_PLAYED_MPI_H
#define TESTS_UNIT_PLAYED_MPI_H

#include <mpi.h>
#include <stdio.h>

static const char *library_version; /* NULL: the call fails */

int MPI_Get_library_version(char *version, int *length)
{
    if (!library_version)
        return MPI_ERR_OTHER;
    *length = snprintf(version, MPI_MAX_LIBRARY_VERSION_STRING, "%s",
                       library_version);
    return MPI_SUCCESS;
}

#endif

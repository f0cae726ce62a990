/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * watched_mpi.h - the MPI calls of jd's messages, by way of MPI's profiling
 * interface: the program that includes this once defines what happens around
 * each.
 */
#ifndef TESTS_MPI_WATCHED_MPI_H
#define TESTS_MPI_WATCHED_MPI_H

#include <mpi.h>

static void enter(void);
static int leave(int code); /* returns it */

int MPI_Isend(const void *data, int count, MPI_Datatype type, int to, int tag,
              MPI_Comm comm, MPI_Request *request)
{
    enter();
    return leave(PMPI_Isend(data, count, type, to, tag, comm, request));
}

int MPI_Irecv(void *data, int count, MPI_Datatype type, int from, int tag,
              MPI_Comm comm, MPI_Request *request)
{
    enter();
    return leave(PMPI_Irecv(data, count, type, from, tag, comm, request));
}

int MPI_Testall(int count, MPI_Request requests[], int *done,
                MPI_Status statuses[])
{
    enter();
    return leave(PMPI_Testall(count, requests, done, statuses));
}

int MPI_Testany(int count, MPI_Request requests[], int *index, int *done,
                MPI_Status *status)
{
    enter();
    return leave(PMPI_Testany(count, requests, index, done, status));
}

int MPI_Iprobe(int from, int tag, MPI_Comm comm, int *found, MPI_Status *status)
{
    enter();
    return leave(PMPI_Iprobe(from, tag, comm, found, status));
}

#endif

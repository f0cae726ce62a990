/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * world.c - a plain MPI program: each process says its rank and host, and the
 * sum of all ranks has come to it.
 */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    char host[256] = "";
    int rank, size, sum;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    gethostname(host, sizeof host - 1);
    printf("rank %d of %d on %s, sum %d\n", rank, size, host, sum);
    MPI_Finalize();
    return 0;
}

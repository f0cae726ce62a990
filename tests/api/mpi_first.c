/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mpi_first.c - a program that calls MPI_Init itself.
 * usage: mpi_first world        rank and size of the world
 *        mpi_first jd           jd_initialize() then, and its index and count
 *        mpi_first wait PATH    makes PATH.RANK and waits for a message that
 *                               nobody sends
 *        mpi_first abort        rank 1 calls MPI_Abort with 7, others wait
 */
#include <fcntl.h>
#include <jd.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int meet_jd(void)
{
    if (jd_initialize(NULL, 0) != JD_OK) {
        fprintf(stderr, "%s\n", jd_error_message());
        return 3;
    }
    printf("process %d of %d\n", jd_process_index(), jd_process_count());
    return jd_shutdown() == JD_OK ? 0 : 4;
}

static void wait_for_nobody(void)
{
    int byte;
    MPI_Recv(&byte, 1, MPI_INT, MPI_ANY_SOURCE, 99, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
}

static void mark(const char *path, int rank)
{
    char name[4096];
    snprintf(name, sizeof name, "%s.%d", path, rank);
    close(open(name, O_CREAT | O_WRONLY, 0600));
}

int main(int argc, char **argv)
{
    int rank, size, code = 0;
    const char *what = argc > 1 ? argv[1] : "world";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Barrier(MPI_COMM_WORLD);
    if (strcmp(what, "world") == 0)
        printf("rank %d of %d\n", rank, size);
    if (strcmp(what, "jd") == 0)
        code = meet_jd();
    if (strcmp(what, "abort") == 0 && rank == 1)
        MPI_Abort(MPI_COMM_WORLD, 7);
    if (strcmp(what, "wait") == 0)
        mark(argv[2], rank);
    if (strcmp(what, "wait") == 0 || strcmp(what, "abort") == 0)
        wait_for_nobody();
    MPI_Finalize();
    return code;
}

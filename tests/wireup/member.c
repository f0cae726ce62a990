/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * member.c - one process of a world that jd-pmix-server makes: plain MPI. It
 * holds its connection to the server (TEST_LIFE), says its index
 * (TEST_PROCESS), and checks that the world is the one it was promised.
 *
 *     member MODE      prints "ok RANK SIZE LOCAL" where all is well
 *
 *     plain        initialises, computes, finalises
 *     wait         computes, says "up", and waits to be killed
 *     abort        as wait, but the last rank calls MPI_Abort(7) at the end of
 *                  its stdin
 *     lazy         finalises, says "up", and waits for the end of its stdin
 *     fork         as wait, with a child that keeps all that is open
 *     hold         connects, and never calls MPI_Init; says "up"
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int index_of_this;

static int fail(const char *what)
{
    printf("process %d: %s\n", index_of_this, what);
    fflush(stdout);
    return 1;
}

static int hold_liveness(const char *path)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    uint8_t bytes[4];
    for (int i = 0; i < 4; i++)
        bytes[i] = (uint8_t)((uint32_t)index_of_this >> 8 * i);
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) != 0 ||
        write(fd, bytes, sizeof bytes) != sizeof bytes)
        return fail("cannot connect to the server");
    return 0;
}

/* An all-reduce, a broadcast of 1 MiB from the last, and who shares memory. */
static int compute(int *ret_rank, int *ret_size, int *ret_local)
{
    enum { COUNT = 1 << 18 };
    static int data[COUNT];
    int sum = 0;
    MPI_Comm host;
    MPI_Comm_rank(MPI_COMM_WORLD, ret_rank);
    MPI_Comm_size(MPI_COMM_WORLD, ret_size);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL,
                        &host);
    MPI_Comm_size(host, ret_local);
    MPI_Comm_free(&host);
    MPI_Allreduce(ret_rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (sum != *ret_size * (*ret_size - 1) / 2)
        return fail("the all-reduce gave another sum");
    for (int i = 0; i < COUNT; i++)
        data[i] = *ret_rank == *ret_size - 1 ? i * 7 : 0;
    MPI_Bcast(data, COUNT, MPI_INT, *ret_size - 1, MPI_COMM_WORLD);
    for (int i = 0; i < COUNT; i++)
        if (data[i] != i * 7)
            return fail("the broadcast gave other numbers");
    return 0;
}

static void say(const char *what, int rank, int size, int local)
{
    printf("%s %d %d %d\n", what, rank, size, local);
    fflush(stdout);
}

static int stay(void)
{
    char byte;
    while (read(STDIN_FILENO, &byte, 1) > 0)
        ;
    return 0;
}

static int run(const char *mode)
{
    int rank, size, local, level;
    if (strcmp(mode, "hold") == 0) {
        say("up", index_of_this, 0, 0);
        return stay();
    }
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level);
    if (compute(&rank, &size, &local) != 0)
        return 1;
    if (rank != index_of_this)
        return fail("has another rank");
    if (strcmp(mode, "fork") == 0 && fork() == 0)
        return stay();
    if (strcmp(mode, "plain") != 0 && strcmp(mode, "lazy") != 0) {
        say("up", rank, size, local);
        stay();
        if (strcmp(mode, "abort") == 0 && rank == size - 1)
            MPI_Abort(MPI_COMM_WORLD, 7);
        return 0;
    }
    MPI_Finalize();
    say(strcmp(mode, "lazy") == 0 ? "up" : "ok", rank, size, local);
    return strcmp(mode, "lazy") == 0 ? stay() : 0;
}

int main(int argc, char **argv)
{
    const char *liveness = getenv("TEST_LIFE"),
               *process = getenv("TEST_PROCESS");
    if (argc != 2 || !liveness || !process)
        return 2;
    index_of_this = atoi(process);
    return hold_liveness(liveness) != 0 ? 1 : run(argv[1]);
}

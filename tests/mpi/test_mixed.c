/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_mixed - the program's own messages on jd's communicator, among its
 * collectives: process 0 begins a long send, comes to a collective and waits
 * for the send after it; process 1 receives before it comes to the collective.
 * Nobody but the collective's wait can go on with the send.
 */
#include "jd.h"
#include "jd_mpi.h"

#include "expect.h"

#include <stdbool.h>

enum { BYTES = 8 << 20, LONG = 1 << 17 };

/* A collective that both processes come to, of count elements. */
typedef void collective(jd_shard *me, double *buffer, int count);

static void sum(jd_shard *me, double *buffer, int count)
{
    for (int i = 0; i < count; i++)
        buffer[i] = i;
    EXPECT_OK(jd_psum(me, NULL, buffer, buffer, (size_t)count, JD_F64));
    for (int i = 0; i < count; i++)
        EXPECT(buffer[i] == 2 * i, "[%d] is %g", i, buffer[i]);
}

/* Another wait than that of a meeting: what comes is waited for. */
static void hand_over(jd_shard *me, double *buffer, int count)
{
    if (jd_process_index() == 0)
        EXPECT_OK(jd_recv(me, NULL, 1, buffer, (size_t)count, JD_F64));
    else
        EXPECT_OK(jd_send(me, NULL, 0, buffer, (size_t)count, JD_F64));
}

static void meet(jd_shard *me, double *buffer, int count)
{
    (void)buffer, (void)count;
    EXPECT_OK(jd_barrier(me, NULL));
}

static void mix(jd_shard *me, collective *call, double *buffer, int count)
{
    unsigned char *message = calloc(1, BYTES);
    MPI_Request request;
    if (jd_process_index() == 0) {
        memset(message, count % 251, BYTES);
        MPI_Isend(message, BYTES, MPI_BYTE, 1, 5, jd_mpi_comm(), &request);
        call(me, buffer, count);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(message, BYTES, MPI_BYTE, 0, 5, jd_mpi_comm(),
                 MPI_STATUS_IGNORE);
        for (int i = 0; i < BYTES; i++)
            EXPECT(message[i] == count % 251, "[%d] is %d", i, message[i]);
        call(me, buffer, count);
    }
    free(message);
}

/* With a first call, which is where the members of a comm find each other,
 * and with a later one. */
static void try_collective(collective *call, double *buffer, int count)
{
    jd_mesh *mesh;
    EXPECT_OK(
        jd_mesh_create(&mesh, 1, (int[]){ 2 }, (const char *[]){ "x" }, NULL));
    for (int round = 0; round < 2; round++)
        mix(jd_mesh_shard(mesh), call, buffer, count);
    jd_mesh_destroy(mesh);
}

int main(void)
{
    void *shared;
    double *private = malloc(LONG * sizeof *private);
    JD_CHECK(jd_initialize());
    const jd_device *device = jd_local_devices(NULL)[0];
    EXPECT_OK(jd_device_alloc(device, LONG * sizeof(double), &shared));
    EXPECT(private, "no memory");
    for (int i = 0; i < 2; i++) {
        double *buffer = i ? shared : private;
        try_collective(sum, buffer, 1);
        try_collective(sum, buffer, LONG);
        try_collective(hand_over, buffer, 1);
        try_collective(hand_over, buffer, LONG);
        try_collective(meet, buffer, 0);
    }
    EXPECT_OK(jd_device_free(shared));
    free(private);
    JD_CHECK(jd_shutdown());
    return 0;
}

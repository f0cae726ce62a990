/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_members - four devices of one process or two: sentences name members,
 * not processes alone. "late": the last member of two processes does not come
 * to a collective; where the two share no memory, each waits for those of its
 * own, and the lowest of each for the other process.
 */
#include "jd.h"
#include "jd_mpi.h"

#include "expect.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#define OVER " over axis \"data\""
#define ALIKE                                                                  \
    "; all members must make the same calls in the same order, with the same " \
    "count and type"

static atomic_int num_done, num_late;

static jd_status differ(jd_shard *me, void *arg)
{
    double in[5] = { 0 }, out[5];
    int self = jd_axis_index(me, "data");
    int last = jd_process_count() - 1;
    const jd_route routes[] = { { 0, 1 }, { 1, 2 + (self == 3) } };
    (void)arg;
    expect_sentence(jd_psum(me, "data", in, out, 4 + (self == 1), JD_F64),
                    JD_INVALID_ARGUMENT,
                    "jd_psum" OVER ": process 0 (member 1) calls jd_psum of 5 "
                    "x F64, process 0 (member 0) calls jd_psum of 4 x "
                    "F64" ALIKE);
    expect_sentence(jd_ppermute(me, "data", in, out, 4, JD_F64, routes, 2),
                    JD_INVALID_ARGUMENT,
                    "jd_ppermute" OVER ": process %d (member 3) calls "
                    "jd_ppermute of 4 x F64, process 0 (member 0) calls "
                    "jd_ppermute of 4 x F64; their routes differ: process %d "
                    "(member 3) has 1 -> 3, process 0 (member 0) has 1 -> "
                    "2" ALIKE,
                    last, last);
    EXPECT_OK(jd_psum(me, "data", in, out, 4, JD_F64));
    return JD_OK;
}

/* The first whose time is up ends the wait of all: others may hear only that,
 * or say what another member of their process has.
 */
static jd_status wait_for_the_last(jd_shard *me, void *arg)
{
    double in = 1, out;
    char text[64];
    (void)arg;
    EXPECT_OK(jd_psum(me, "data", &in, &out, 1, JD_F64));
    if (jd_axis_index(me, "data") == 3) {
        while (!atomic_load(&num_done))
            sched_yield();
        return JD_OK;
    }
    jd_status status = jd_psum(me, "data", &in, &out, 1, JD_F64);
    atomic_fetch_add(&num_done, 1);
    if (status == JD_ABORTED)
        return JD_OK;
    snprintf(text, sizeof text, "jd_psum" OVER ": process %d (member %d",
             jd_process_index(), 2 * jd_process_index());
    text[strlen(text) - 1] = '\0'; /* this member, or the one beside it */
    EXPECT_STATUS(status, JD_DEADLINE_EXCEEDED, text);
    EXPECT_STATUS(status, JD_DEADLINE_EXCEEDED, ") has waited ");
    EXPECT_STATUS(status, JD_DEADLINE_EXCEEDED, " s for process 1");
    EXPECT_STATUS(status, JD_DEADLINE_EXCEEDED,
                  "; member 3 has not come; the deadline was ");
    atomic_fetch_add(&num_late, 1);
    return JD_OK;
}

int main(int argc, char **argv)
{
    bool is_late = argc > 1 && strcmp(argv[1], "late") == 0;
    const char *name = "data";
    int size = -1;
    jd_mesh *mesh;
    EXPECT_OK(jd_initialize());
    EXPECT_OK(jd_mesh_create(&mesh, 1, &size, &name, NULL));
    EXPECT_OK(jd_shard_map(mesh, is_late ? wait_for_the_last : differ, NULL));
    int late = atomic_load(&num_late);
    MPI_Allreduce(MPI_IN_PLACE, &late, 1, MPI_INT, MPI_SUM, jd_mpi_comm());
    EXPECT(!is_late || late > 0, "nobody came to a deadline");
    jd_mesh_destroy(mesh);
    EXPECT_OK(jd_shutdown());
    return 0;
}

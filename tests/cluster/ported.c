/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ported [missing] - what an MPI program does with its rank, on a mesh of one
 * axis: a ring by process index, and a gather whose entries are by process. Its
 * launcher deals processes to hosts by turns, and both are right all the same.
 * "missing": on a mesh of several axes an index is no process; the last process
 * does not come to a sum, and each of the others prints its deadline.
 */
#include <jd.h>
#include <jd_mpi.h>

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static int self, count;

static void count_by_process(jd_shard *me)
{
    int from_left = -1, all[64];
    JD_CHECK(jd_group_begin(me));
    JD_CHECK(jd_send(me, NULL, (self + 1) % count, &self, 1, JD_S32));
    JD_CHECK(
        jd_recv(me, NULL, (self + count - 1) % count, &from_left, 1, JD_S32));
    JD_CHECK(jd_group_end(me));
    JD_CHECK(jd_all_gather(me, NULL, &self, all, 1, JD_S32));
    printf("process %d is index %d, its left %d, gathered", self,
           jd_axis_index(me, "p"), from_left);
    for (int i = 0; i < count; i++)
        printf(" %d", all[i]);
    putchar('\n');
}

/* The last one waits for the others by MPI, and they for their deadline. */
static void miss_one(jd_shard *me)
{
    double one = 1, sum;
    char nothing = 0;
    JD_CHECK(jd_barrier(me, NULL));
    for (int i = 0; i < count - 1 && self == count - 1; i++)
        MPI_Recv(&nothing, 1, MPI_CHAR, i, 0, jd_mpi_comm(), MPI_STATUS_IGNORE);
    if (self == count - 1)
        return;
    jd_status status = jd_psum(me, NULL, &one, &sum, 1, JD_F64);
    printf("process %d: %s: %s\n", self, jd_status_name(status),
           jd_error_message());
    MPI_Send(&nothing, 1, MPI_CHAR, count - 1, 0, jd_mpi_comm());
}

int main(int argc, char **argv)
{
    jd_mesh *mesh;
    bool misses = argc > 1 && strcmp(argv[1], "missing") == 0;
    JD_CHECK(jd_initialize());
    self = jd_process_index();
    count = jd_process_count();
    JD_CHECK(jd_mesh_create(&mesh, misses ? 2 : 1, (int[]){ -1, 1 },
                            (const char *[]){ "p", "q" }, NULL));
    if (misses)
        miss_one(jd_mesh_shard(mesh));
    else
        count_by_process(jd_mesh_shard(mesh));
    fflush(stdout);
    MPI_Barrier(jd_mpi_comm());
    jd_mesh_destroy(mesh);
    return jd_shutdown();
}

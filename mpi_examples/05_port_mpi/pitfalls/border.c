/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * border.c - the halo at the wall of a domain.
 *
 * Objective: a receive from MPI_PROC_NULL leaves its buffer alone, and MPI
 * codes keep the boundary value there. jd_ppermute() gives zeros to who is at
 * the end of no route, as jax.lax.ppermute does; jd_ppermute_keep() leaves
 * what was there.
 *
 * Steps:
 *   1. Each member has a point, and halos that hold the wall's value.
 *   2. Everybody's point goes to the right, by both calls.
 */
#include <jd.h>

#include <stdio.h>

enum { MOST = 1024, WALL = 20 };

int main(void)
{
    static jd_route up[MOST];
    jd_mesh *mesh;
    JD_CHECK(jd_initialize());
    if (jd_device_count() > MOST || jd_local_device_count() != 1)
        jd_abort(1, "border: one device in each process, and at most 1024");
    JD_CHECK(
        jd_mesh_create(&mesh, 1, (int[]){ -1 }, (const char *[]){ "p" }, NULL));
    jd_shard *me = jd_mesh_shard(mesh);

    int n = jd_axis_size(me, "p");
    double point = jd_axis_index(me, "p") + 1, zeros = WALL, kept = WALL;
    for (int i = 0; i + 1 < n; i++)
        up[i] = (jd_route){ i, i + 1 };
    JD_CHECK(jd_ppermute(me, "p", &point, &zeros, 1, JD_F64, up, n - 1));
    JD_CHECK(jd_ppermute_keep(me, "p", &point, &kept, 1, JD_F64, up, n - 1));
    if (jd_process_index() == 0)
        printf("at the wall: jd_ppermute %g, jd_ppermute_keep %g\n", zeros,
               kept);
    if (jd_process_index() == 1)
        printf("inside: jd_ppermute %g, jd_ppermute_keep %g\n", zeros, kept);

    jd_mesh_destroy(mesh);
    return jd_shutdown();
}

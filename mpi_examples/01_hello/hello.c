/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hello.c - the smallest whole program of jd.
 *
 * Objective: start the same program several times with any launcher, and
 * have the processes agree on one number.
 *
 * Steps:
 *   1. jd_initialize() with no arguments finds out launcher, process index
 *      and process count, and joins the job.
 *   2. A mesh puts all devices of the job along one axis, "data".
 *   3. Each device gives its position plus one; jd_psum() adds them.
 *   4. Process 0 prints; everybody leaves.
 */
#include <jd.h>
#include <stdio.h>

int main(void)
{
    JD_CHECK(jd_initialize());

    jd_mesh *mesh;
    const int shape[] = { -1 };
    const char *const axes[] = { "data" };
    JD_CHECK(jd_mesh_create(&mesh, 1, shape, axes, NULL));
    jd_shard *me = jd_mesh_shard(mesh);

    double mine = jd_axis_index(me, "data") + 1, sum;
    JD_CHECK(jd_psum(me, "data", &mine, &sum, 1, JD_F64));
    JD_CHECK(jd_sync_global_devices("summed"));
    if (jd_process_index() == 0)
        printf("%d devices in %d processes: %g\n", jd_device_count(),
               jd_process_count(), sum);

    jd_mesh_destroy(mesh);
    return jd_shutdown();
}

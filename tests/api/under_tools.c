/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * under_tools.c - a user's small program, for debuggers and the like: a mesh
 * and a sum. Process 0 prints the sum; whoever has taken more than a GiB of
 * memory for it says so and has exit code 3.
 */
#include <jd.h>
#include <stdio.h>
#include <stdlib.h>

#define MOST_KIB (1L << 20)

/* The tool's own memory is in it. */
static long peak_kib(void)
{
    char line[256];
    long kib = 0;
    FILE *status = fopen("/proc/self/status", "r");
    if (!status)
        return 0;
    while (kib == 0 && fgets(line, sizeof line, status))
        if (sscanf(line, "VmHWM: %ld", &kib) != 1)
            kib = 0;
    fclose(status);
    return kib;
}

int main(void)
{
    enum { COUNT = 100000 };
    jd_mesh *mesh;
    JD_CHECK(jd_initialize());
    JD_CHECK(
        jd_mesh_create(&mesh, 1, (int[]){ -1 }, (const char *[]){ "p" }, NULL));
    jd_shard *me = jd_mesh_shard(mesh);
    double *values = calloc(COUNT, sizeof *values);
    if (!values)
        return 2;
    values[COUNT - 1] = jd_axis_index(me, "p") + 1;
    JD_CHECK(jd_psum(me, "p", values, values, COUNT, JD_F64));
    JD_CHECK(jd_sync_global_devices("summed"));
    if (jd_process_index() == 0)
        printf("the sum is %g\n", values[COUNT - 1]);
    free(values);
    jd_mesh_destroy(mesh);
    jd_status status = jd_shutdown();
    long kib = peak_kib();
    if (kib > MOST_KIB)
        fprintf(stderr, "%ld KiB of memory, of %ld\n", kib, MOST_KIB);
    return kib > MOST_KIB ? 3 : (int)status;
}

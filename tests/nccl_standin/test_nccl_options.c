/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_nccl_options [RANK:]NAME=VALUE... - options of NCCL on a mesh, each on
 * all processes or in process RANK alone, on the stand-ins: a sum on that mesh,
 * and one on a mesh of the same devices without any. What fails is printed.
 */
#include "jd.h"

#include "data_mesh.h"
#include "tests/mpi/expect.h"

#include <stdlib.h>
#include <string.h>

static void set_option(jd_mesh *mesh, char *text)
{
    char *rank = strchr(text, ':'), *value = strchr(text, '=');
    EXPECT(value, "%s is not NAME=VALUE", text);
    *value++ = '\0';
    if (rank && atoi(text) != jd_process_index())
        return;
    EXPECT_OK(jd_mesh_set_nccl(mesh, rank ? rank + 1 : text, atoi(value)));
}

static void sum(jd_mesh *mesh)
{
    double in = 1 + jd_process_index(), out = 0;
    int n = jd_process_count();
    jd_status status =
        jd_psum(jd_mesh_shard(mesh), "data", &in, &out, 1, JD_F64);
    if (status != JD_OK)
        printf("process %d: %s: %s\n", jd_process_index(),
               jd_status_name(status), jd_error_message());
    EXPECT(status != JD_OK || out == n * (n + 1) / 2, "the sum is %g", out);
}

int main(int argc, char **argv)
{
    JD_CHECK(jd_initialize());
    jd_mesh *mesh = make_mesh(), *other = make_mesh();
    for (int i = 1; i < argc; i++)
        set_option(mesh, argv[i]);
    sum(mesh);
    sum(other);
    sum(mesh);
    JD_CHECK(jd_sync_global_devices("summed"));
    jd_mesh_destroy(mesh);
    jd_mesh_destroy(other);
    return jd_shutdown();
}

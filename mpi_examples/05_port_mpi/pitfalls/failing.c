/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * failing.c - who says what went wrong.
 *
 * Objective: MPI's default ends the job in the library at the first error. On
 * jd_mpi_comm() MPI calls return their errors, and jd's calls a status: both
 * have to be looked at. The program's own functions that jd calls say why they
 * fail with jd_fail_with().
 *
 * Steps:
 *   1. An MPI call that is wrong, on jd_mpi_comm().
 *   2. An array whose blocks cannot be read.
 */
#include <jd.h>
#include <jd_mpi.h>

#include <stdio.h>

/* A file that ends too early, say. */
static jd_status read_block(const jd_range *index, void *block, void *arg)
{
    (void)block;
    (void)arg;
    return jd_fail_with(JD_DATA_LOSS, "rows %lld on are damaged",
                        (long long)index[0].begin);
}

int main(void)
{
    jd_mesh *mesh;
    jd_sharding *rows;
    jd_array *table;
    JD_CHECK(jd_initialize());

    char nothing = 0;
    int code =
        MPI_Send(&nothing, 1, MPI_CHAR, jd_process_count(), 0, jd_mpi_comm());
    if (jd_process_index() == 0)
        printf("MPI_Send to nobody: %s\n",
               code == MPI_SUCCESS ? "success" : "an error code");

    JD_CHECK(
        jd_mesh_create(&mesh, 1, (int[]){ -1 }, (const char *[]){ "p" }, NULL));
    JD_CHECK(jd_sharding_create(&rows, mesh, "p"));
    jd_status status = jd_array_from_callback(
        &table, rows, JD_F32, 2, (int64_t[]){ 64, 4 }, read_block, NULL);
    if (jd_process_index() == 0)
        printf("%s: %s\n", jd_status_name(status), jd_error_message());

    jd_sharding_release(rows);
    jd_mesh_destroy(mesh);
    return jd_shutdown();
}

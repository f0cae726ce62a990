/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_absent WHAT - process 1 does something else, and the others sum over all
 * devices. Where it may yet come the job is not ended before the deadline; the
 * notice and the deadline say what it does, and where:
 *
 *     kv      process 1 waits for a key that nobody sets
 *     mpi     it is in MPI
 *     own     in its own code
 *
 * It cannot come, and the job ends at the notice:
 *
 *     array   it is in a call on arrays
 *     axis    its devices sum over another axis, which the others come to next
 *
 * With JD_WAIT_NOTICE=1 and, of the former, a deadline of some seconds; for
 * processes with several devices too.
 */
#include "jd.h"

#include "tests/fault/mismatch/put.h"
#include "tests/mpi/expect.h"

#include <mpi.h>
#include <unistd.h>

static const char *what;

static jd_status sum_over(jd_shard *me, const char *axis)
{
    double one = 1, sum;
    return jd_psum(me, axis, &one, &sum, 1, JD_F64);
}

static void wait_for_key(void)
{
    void *value;
    size_t size;
    JD_CHECK(jd_kv_get("nobody sets it", 0, &value, &size));
}

/* The job's failure ends it. */
static void do_something_else(jd_mesh *mesh)
{
    int nothing = 0;
    if (strcmp(what, "kv") == 0)
        wait_for_key();
    else if (strcmp(what, "mpi") == 0)
        MPI_Recv(&nothing, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else if (strcmp(what, "array") == 0)
        put(mesh);
    else
        for (;;)
            pause();
}

static jd_status sum_over_all(jd_shard *me, void *unused)
{
    (void)unused;
    return sum_over(me, NULL);
}

static jd_status cross(jd_shard *me, void *unused)
{
    (void)unused;
    return sum_over(me, jd_process_index() == 1 ? "a" : NULL);
}

int main(int argc, char **argv)
{
    jd_mesh *mesh;
    what = argc > 1 ? argv[1] : "";
    JD_CHECK(jd_initialize());
    EXPECT_OK(jd_mesh_create(&mesh, 2, (int[]){ 2, -1 },
                             (const char *[]){ "a", "b" }, NULL));
    EXPECT_OK(jd_shard_map(mesh, sum_over_all, NULL));
    if (strcmp(what, "axis") == 0)
        JD_CHECK(jd_shard_map(mesh, cross, NULL));
    if (jd_process_index() == 1)
        do_something_else(mesh);
    JD_CHECK(jd_shard_map(mesh, sum_over_all, NULL));
    EXPECT(0, "process 1 has come");
}

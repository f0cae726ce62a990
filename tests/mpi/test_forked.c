/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_forked - in a forked child each public call is refused, and touches
 * nothing: the parent and the others go on, however the child ends.
 */
#include "jd.h"

#include "expect.h"

#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

static jd_mesh *mesh;
static jd_array *array;
static void *memory;
static const jd_route nowhere;

#define REFUSED(call)                                                          \
    EXPECT_STATUS(call, JD_FAILED_PRECONDITION, "this is a forked child")

static jd_status sum(jd_shard *shard, void *arg)
{
    double in = *(double *)arg, out = -1;
    jd_status status = jd_psum(shard, "x", &in, &out, 1, JD_F64);
    EXPECT(status != JD_OK || out == in * jd_axis_size(shard, "x"), "%g", out);
    return status;
}

static void expect_sum(double in)
{
    EXPECT_OK(jd_shard_map(mesh, sum, &in));
}

static void try_shard(void)
{
    jd_shard *s = jd_mesh_shard(mesh), *group;
    double in = 1e6, out;
    int members[] = { 0 };
    REFUSED(jd_shard_map(mesh, sum, &in));
    if (!s)
        return;
    REFUSED(jd_psum(s, "x", &in, &out, 1, JD_F64));
    REFUSED(jd_all_gather(s, "x", &in, &out, 1, JD_F64));
    REFUSED(jd_psum_scatter(s, "x", &in, &out, 1, JD_F64));
    REFUSED(jd_all_to_all(s, "x", &in, &out, 1, JD_F64));
    REFUSED(jd_ppermute(s, "x", &in, &out, 1, JD_F64, &nowhere, 0));
    REFUSED(jd_pbroadcast(s, "x", 0, &in, &out, 1, JD_F64));
    REFUSED(jd_send(s, "x", 0, &in, 1, JD_F64));
    REFUSED(jd_recv(s, "x", 0, &out, 1, JD_F64));
    REFUSED(jd_group_begin(s));
    REFUSED(jd_barrier(s, "x"));
    REFUSED(jd_shard_synchronize(s));
    REFUSED(jd_shard_groups(&group, s, "x", 1, members, members));
}

static void try_arrays(void)
{
    jd_sharding *sharding;
    double out[64];
    int64_t shape[] = { jd_array_shape(array)[0] };
    const jd_leaf leaf = { out, JD_F64, 1, shape };
    const char *name = "array";
    REFUSED(jd_sharding_create(&sharding, mesh, "x"));
    REFUSED(jd_array_to_host(array, &leaf));
    REFUSED(jd_array_save(".", &name, &array, 1));
    REFUSED(jd_process_allgather_array(array, &leaf));
    jd_array_release(array);
}

static void try_all(void)
{
    const char *name = "x";
    int size = -1, count;
    double in = 1;
    jd_mesh *other;
    void *more;
    EXPECT(!jd_is_initialized(), "it is");
    EXPECT(jd_process_index() == -1 && jd_process_count() == -1, "a process");
    EXPECT(!jd_devices(&count) && count == -1, "%d devices", count);
    REFUSED(jd_mesh_create(&other, 1, &size, &name, NULL));
    REFUSED(jd_device_alloc(NULL, 1, &more));
    REFUSED(jd_device_copy(&in, memory, sizeof in));
    REFUSED(jd_device_free(memory));
    REFUSED(jd_sync_global_devices("child"));
    REFUSED(jd_kv_set("key", "value", 5, 0));
    REFUSED(jd_report_error(JD_INTERNAL, "child"));
    REFUSED(jd_initialize());
    REFUSED(jd_shutdown());
    try_shard();
    try_arrays();
    jd_mesh_destroy(mesh);
}

enum end { BY_EXIT, BY_CHECK, BY_ABORT };

static void child(enum end end)
{
    try_all();
    if (end == BY_CHECK)
        JD_CHECK(jd_sync_global_devices("child"));
    if (end == BY_ABORT)
        jd_abort(3, "a forked child");
    exit(0);
}

static void fork_child(enum end end, int wanted)
{
    int how;
    pid_t pid = fork();
    if (pid == 0)
        child(end);
    EXPECT(waitpid(pid, &how, 0) == pid, "no child");
    EXPECT(WIFEXITED(how) && WEXITSTATUS(how) == wanted, "%#x", how);
}

int main(void)
{
    static const int wanted[] = {
        [BY_EXIT] = 0, [BY_CHECK] = 1, [BY_ABORT] = 3
    };
    const char *name = "x";
    int size = -1, count;
    jd_sharding *sharding;
    EXPECT_OK(jd_initialize());
    EXPECT_OK(jd_mesh_create(&mesh, 1, &size, &name, NULL));
    EXPECT_OK(jd_device_alloc(jd_local_devices(&count)[0], 8, &memory));
    EXPECT_OK(jd_sharding_create(&sharding, mesh, "x"));
    EXPECT_OK(jd_array_zeros(&array, sharding, JD_F64, 1,
                             (int64_t[]){ jd_device_count() }));
    expect_sum(1);
    for (int end = BY_EXIT; end <= BY_ABORT; end++) {
        if (jd_process_index() == jd_process_count() / 2)
            fork_child((enum end)end, wanted[end]);
        expect_sum(end + 2);
    }
    jd_array_release(array);
    jd_sharding_release(sharding);
    EXPECT_OK(jd_device_free(memory));
    jd_mesh_destroy(mesh);
    return jd_shutdown();
}

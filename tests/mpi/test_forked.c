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
    int64_t where;
    int members[] = { 0 };
    REFUSED(jd_shard_map(mesh, sum, &in));
    if (!s)
        return;
    REFUSED(jd_psum(s, "x", &in, &out, 1, JD_F64));
    REFUSED(jd_pmean(s, "x", &in, &out, 1, JD_F64));
    REFUSED(jd_pmax(s, "x", &in, &out, 1, JD_F64));
    REFUSED(jd_pmin(s, "x", &in, &out, 1, JD_F64));
    REFUSED(jd_pprod(s, "x", &in, &out, 1, JD_F64));
    REFUSED(jd_pand(s, "x", &in, &out, 1, JD_U64));
    REFUSED(jd_por(s, "x", &in, &out, 1, JD_U64));
    REFUSED(jd_pxor(s, "x", &in, &out, 1, JD_U64));
    REFUSED(
        jd_scan(s, "x", &in, &out, 1, JD_F64, JD_OP_SUM, JD_SCAN_EXCLUSIVE));
    REFUSED(jd_pmaxloc(s, "x", &in, NULL, &out, &where, 1, JD_F64));
    REFUSED(jd_pminloc(s, "x", &in, NULL, &out, &where, 1, JD_F64));
    REFUSED(jd_all_gather(s, "x", &in, &out, 1, JD_F64));
    REFUSED(jd_psum_scatter(s, "x", &in, &out, 1, JD_F64));
    REFUSED(jd_all_to_all(s, "x", &in, &out, 1, JD_F64));
    REFUSED(jd_ppermute(s, "x", &in, &out, 1, JD_F64, &nowhere, 0));
    REFUSED(jd_ppermute_keep(s, "x", &in, &out, 1, JD_F64, &nowhere, 0));
    REFUSED(jd_pshuffle(s, "x", &in, &out, 1, JD_F64, members));
    REFUSED(jd_pbroadcast(s, "x", 0, &in, &out, 1, JD_F64));
    REFUSED(jd_send(s, "x", 0, &in, 1, JD_F64));
    REFUSED(jd_recv(s, "x", 0, &out, 1, JD_F64));
    REFUSED(jd_send_tagged(s, "x", 0, 7, &in, 1, JD_F64));
    REFUSED(jd_recv_tagged(s, "x", 0, 7, &out, 1, JD_F64));
    REFUSED(jd_group_begin(s));
    REFUSED(jd_group_end(s));
    REFUSED(jd_barrier(s, "x"));
    REFUSED(jd_shard_synchronize(s));
    REFUSED(jd_shard_groups(&group, s, "x", 1, members, members));
}

static void try_shardings(jd_sharding *sharding, const jd_leaf *leaf)
{
    const char *name = "array";
    jd_array *other;
    REFUSED(jd_array_zeros(&other, sharding, JD_F64, 1, leaf->shape));
    REFUSED(jd_device_put(&other, leaf, sharding));
    REFUSED(jd_array_from_process_local_data(&other, sharding, leaf, NULL));
    REFUSED(jd_array_reshard(&other, array, sharding));
    REFUSED(jd_array_restore(".", &name, &sharding, 1, &other));
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
    REFUSED(jd_process_gather_array(array, &leaf, 0));
    REFUSED(jd_array_assert_replicas_equal(array, NULL, NULL, 0));
    try_shardings((jd_sharding *)jd_array_sharding(array), &leaf);
    jd_array_release(array);
}

static void on_failure(const jd_peer_failure *failure, void *arg)
{
    (void)failure, (void)arg;
}

static void on_preemption(void *arg)
{
    (void)arg;
}

static void try_coordination(void)
{
    void *value;
    size_t size;
    int64_t sum;
    int *processes;
    jd_kv_entry *entries;
    const jd_kv_entry entry = { "key", "value", 5 };
    const char *key = "key";
    REFUSED(jd_kv_set("key", "value", 5, 0));
    REFUSED(jd_kv_set_many(&entry, 1, 0));
    REFUSED(jd_kv_get("key", 1, &value, &size));
    REFUSED(jd_kv_get_many(&key, 1, 1, &entries));
    REFUSED(jd_kv_try_get("key", &value, &size));
    REFUSED(jd_kv_dir_get("key", &entries, &size));
    REFUSED(jd_kv_delete("key", &size));
    REFUSED(jd_kv_increment("key", 1, &sum));
    REFUSED(jd_wait_at_barrier("child", 1, NULL, 0));
    REFUSED(jd_cancel_barrier("child"));
    REFUSED(jd_live_processes(1, &processes, &size));
    REFUSED(jd_report_error(JD_INTERNAL, "child"));
    REFUSED(jd_on_peer_failure(on_failure, NULL));
    REFUSED(jd_on_peer_failure(NULL, NULL));
    REFUSED(jd_on_preemption(on_preemption, NULL));
    REFUSED(jd_on_preemption(NULL, NULL));
    REFUSED(jd_acknowledge_preemption());
    EXPECT(!jd_reached_preemption_sync_point(1), "a step");
}

/* What only reads an object, or a file, goes on. */
static void try_queries(void)
{
    jd_checkpoint *checkpoint;
    double in = 1, begin = jd_wtime();
    int sizes[2] = { 0 };
    float out;
    EXPECT(jd_wtime() >= begin, "it is before %g", begin);
    EXPECT_OK(jd_mesh_shape(12, 2, sizes));
    EXPECT(sizes[0] == 4 && sizes[1] == 3, "%d x %d", sizes[0], sizes[1]);
    EXPECT(jd_mesh_ndim(mesh) == 1, "%d axes", jd_mesh_ndim(mesh));
    EXPECT(strcmp(jd_mesh_axis_names(mesh)[0], "x") == 0, "%s",
           jd_mesh_axis_names(mesh)[0]);
    EXPECT(jd_mesh_axis_sizes(mesh)[0] > 0, "%d", jd_mesh_axis_sizes(mesh)[0]);
    EXPECT(jd_array_ndim(array) == 1, "%d", jd_array_ndim(array));
    EXPECT_OK(jd_convert(&in, JD_F64, &out, JD_F32, 1));
    EXPECT_STATUS(jd_checkpoint_open(&checkpoint, "/nonexistent"), JD_NOT_FOUND,
                  "/nonexistent");
}

static void try_multihost(void)
{
    double number = 1;
    const jd_leaf leaf = { &number, JD_F64, 0, NULL };
    REFUSED(jd_sync_global_devices("child"));
    REFUSED(jd_broadcast_one_to_all(&leaf, 1, 0));
    REFUSED(jd_assert_equal(&leaf, 1, "child"));
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
    EXPECT(!jd_mesh_devices(mesh, &count) && count == -1, "%d", count);
    EXPECT(!jd_mesh_local_devices(mesh, &count) && count == -1, "%d", count);
    REFUSED(jd_sharding_mesh(&other, jd_array_sharding(array)));
    REFUSED(jd_mesh_create(&other, 1, &size, &name, NULL));
    REFUSED(jd_device_alloc(NULL, 1, &more));
    REFUSED(jd_device_copy(&in, memory, sizeof in));
    REFUSED(jd_device_free(memory));
    REFUSED(jd_initialize());
    REFUSED(jd_shutdown());
    try_multihost();
    try_coordination();
    try_queries();
    try_shard();
    try_arrays();
    jd_mesh_destroy(mesh);
}

/* A child has what the parent's other threads had in hand at the fork, and
 * nobody who would free it: that is no leak of ours. Asked by LeakSanitizer. */
static bool is_child;

__attribute__((visibility("default"))) int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
    return is_child;
}

enum end { BY_EXIT, BY_CHECK, BY_ABORT };

static void child(enum end end)
{
    is_child = true;
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
    EXPECT_OK(jd_on_preemption(on_preemption, NULL));
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

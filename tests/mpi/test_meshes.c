/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Meshes of some of the processes, in another order, of several axes, cut into
 * groups, and several at once; and that making and freeing many of them leaves
 * nothing out of step.
 */
#include "jd.h"

#include "expect.h"

#include <stdbool.h>
#include <stdint.h>

static int64_t sum_of(jd_shard *shard, int64_t mine)
{
    int64_t sum = -1;
    EXPECT_OK(jd_psum(shard, NULL, &mine, &sum, 1, JD_S64));
    return sum;
}

/* A mesh over count devices, first, first + step, ... */
static jd_mesh *make(int first, int step, int count, const char *name)
{
    const jd_device *chosen[64];
    int n;
    const jd_device *const *all = jd_devices(&n);
    jd_mesh *mesh;
    for (int i = 0; i < count; i++)
        chosen[i] = all[first + i * step];
    EXPECT_OK(jd_mesh_create(&mesh, 1, &count, &name, chosen));
    return mesh;
}

/* A mesh over every other device, on each process. */
static void expect_even(const jd_mesh *even, int n, int self)
{
    int count = -1;
    const jd_device *const *devices = jd_mesh_devices(even, &count);
    EXPECT(count == (n + 1) / 2, "%d devices", count);
    EXPECT(jd_mesh_axis_sizes(even)[0] == count, "%d", count);
    for (int i = 0; i < count; i++)
        EXPECT(devices[i]->process_index == 2 * i, "device %d", i);
    devices = jd_mesh_local_devices(even, &count);
    EXPECT(devices && count == 1 - self % 2, "%d of its own", count);
    EXPECT(count == 0 || devices[0] == jd_local_devices(NULL)[0], "another");
}

/* The processes of even index, while the others do something else. */
static void try_subset(int n, int self)
{
    jd_mesh *even = make(0, 2, (n + 1) / 2, "even");
    expect_even(even, n, self);
    jd_shard *shard = jd_mesh_shard(even);
    if (self % 2) {
        EXPECT(!shard, "process %d has a shard", self);
        char text[160];
        snprintf(text, sizeof text,
                 "jd_mesh_shard: this process (%d) has no device in the mesh; "
                 "only processes that have one call its collectives",
                 self);
        EXPECT(strcmp(jd_error_message(), text) == 0, "%s", jd_error_message());
    } else {
        EXPECT(jd_axis_index(shard, "even") == self / 2, "%d", self);
        int64_t sum = sum_of(shard, self), wanted = 0;
        for (int i = 0; i < n; i += 2)
            wanted += i;
        EXPECT(sum == wanted, "%lld", (long long)sum);
    }
    jd_mesh_destroy(even);
}

/* Two meshes of the same devices, one backwards, used in turns. */
static void try_two(int n, int self)
{
    jd_mesh *forth = make(0, 1, n, "x"), *back = make(n - 1, -1, n, "x");
    jd_shard *a = jd_mesh_shard(forth), *b = jd_mesh_shard(back);
    EXPECT(jd_axis_index(b, "x") == n - 1 - self, "%d", self);
    for (int round = 0; round < 50; round++) {
        int32_t mine = self, all[64];
        EXPECT(sum_of(a, round) == round * n, "round %d", round);
        EXPECT_OK(jd_all_gather(b, "x", &mine, all, 1, JD_S32));
        for (int i = 0; i < n; i++)
            EXPECT(all[i] == n - 1 - i, "member %d says %d", i, all[i]);
    }
    jd_mesh_destroy(forth);
    EXPECT(sum_of(b, 1) == n, "after the other mesh is gone");
    jd_mesh_destroy(back);
}

/* Neighbours pair up, each pair with a mesh of its own: 0-1, then 1-2, ... */
static void try_pairs(int n, int self)
{
    for (int i = 0; i + 1 < n; i++) {
        jd_mesh *pair = make(i, 1, 2, "pair");
        jd_shard *shard = jd_mesh_shard(pair);
        if (shard)
            EXPECT(sum_of(shard, self) == 2 * i + 1, "pair %d", i);
        jd_mesh_destroy(pair);
    }
}

static void try_many(int n)
{
    for (int i = 0; i < 300; i++) {
        jd_mesh *mesh = make(0, 1, n, "many");
        EXPECT(sum_of(jd_mesh_shard(mesh), i) == (int64_t)i * n, "mesh %d", i);
        jd_mesh_destroy(mesh);
    }
}

/* ---- several axes ------------------------------------------------------- */

/* The sum of the positions of those who differ from this one in the given
 * axes alone, by looking at all of them. */
static int64_t expected_sum(jd_shard *shard, const int *shape,
                            const bool *is_along)
{
    int own[3], at[3];
    int64_t sum = 0;
    EXPECT_OK(jd_shard_coordinates(shard, 3, own));
    for (at[0] = 0; at[0] < shape[0]; at[0]++)
        for (at[1] = 0; at[1] < shape[1]; at[1]++)
            for (at[2] = 0; at[2] < shape[2]; at[2]++) {
                bool is_member = true;
                for (int i = 0; i < 3; i++)
                    is_member = is_member && (is_along[i] || at[i] == own[i]);
                if (is_member)
                    sum += (at[0] * shape[1] + at[1]) * shape[2] + at[2];
            }
    return sum;
}

/* Members give their positions; each learns their order. */
static void try_order(jd_shard *shard, const char *axes)
{
    int32_t all[64], position = jd_axis_index(shard, NULL);
    int size = jd_axis_size(shard, axes);
    EXPECT_OK(jd_all_gather(shard, axes, &position, all, 1, JD_S32));
    EXPECT(all[jd_axis_index(shard, axes)] == position, "along %s", axes);
    for (int i = 1; i < size && strcmp(axes, "z,x") != 0; i++)
        EXPECT(all[i] > all[i - 1], "along %s: %d after %d", axes, all[i],
               all[i - 1]);
}

static void try_axes(int n)
{
    const int shape[] = { n % 2 ? 1 : 2, n % 4 ? 1 : 2, -1 };
    const int sizes[] = { shape[0], shape[1], n / shape[0] / shape[1] };
    static const char *const names[] = { "x", "y", "z" };
    static const char *const lists[] = { "x",   "y",   "z",     "x,y",
                                         "z,x", "y,z", "x,y,z", NULL };
    jd_mesh *mesh;
    EXPECT_OK(jd_mesh_create(&mesh, 3, shape, names, NULL));
    jd_shard *shard = jd_mesh_shard(mesh);
    int32_t position = jd_axis_index(shard, NULL);
    for (int round = 0; round < 3; round++)
        for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
            bool along[3];
            for (int axis = 0; axis < 3; axis++)
                along[axis] = !lists[i] || strchr(lists[i], 'x' + axis);
            int64_t mine = position, sum = -1;
            EXPECT_OK(jd_psum(shard, lists[i], &mine, &sum, 1, JD_S64));
            EXPECT(sum == expected_sum(shard, sizes, along), "%lld along %s",
                   (long long)sum, lists[i] ? lists[i] : "all");
            if (lists[i])
                try_order(shard, lists[i]);
        }
    EXPECT_OK(jd_barrier(shard, "x"));
    EXPECT_OK(jd_shard_synchronize(shard));
    if (jd_process_index() == 0)
        EXPECT_OK(jd_mesh_visualize(mesh, stdout));
    jd_mesh_destroy(mesh);
}

/* The even indices backwards, and the odd ones. */
static void try_groups(int n, int self)
{
    jd_mesh *mesh = make(0, 1, n, "all");
    jd_shard *shard = jd_mesh_shard(mesh), *half;
    int even = (n + 1) / 2, indices[64], sizes[] = { even, n - even };
    for (int i = 0; i < even; i++)
        indices[i] = 2 * (even - 1 - i);
    for (int i = even; i < n; i++)
        indices[i] = 2 * (i - even) + 1;
    EXPECT_OK(
        jd_shard_groups(&half, shard, "all", n > 1 ? 2 : 1, sizes, indices));
    int32_t mine = self, all[64];
    for (int round = 0; round < 3; round++) {
        EXPECT_OK(jd_all_gather(half, "all", &mine, all, 1, JD_S32));
        for (int i = 0; i < jd_axis_size(half, "all"); i++)
            EXPECT(all[i] == indices[self % 2 ? even + i : i], "%d: %d", i,
                   all[i]);
        EXPECT(sum_of(shard, 1) == n, "among all");
    }
    jd_mesh_destroy(mesh);
}

/* A body on the calling thread, its error with its sentence. */
static jd_status add_up(jd_shard *shard, void *arg)
{
    *(int64_t *)arg = sum_of(shard, 1);
    return JD_OK;
}

static void try_shard_map(int n, int self)
{
    int64_t sum = -1;
    jd_mesh *mesh = make(0, 2, (n + 1) / 2, "even");
    EXPECT_OK(jd_shard_map(mesh, add_up, &sum));
    EXPECT(sum == (self % 2 ? -1 : (n + 1) / 2), "%lld", (long long)sum);
    jd_mesh_destroy(mesh);
}

/* A mesh from before says so, and not that nothing was ever begun. */
static void try_after_the_end(jd_mesh *before)
{
    jd_shard *me = jd_mesh_shard(before);
    JD_CHECK(jd_shutdown());
    EXPECT_STATUS(
        jd_barrier(me, NULL), JD_FAILED_PRECONDITION,
        "jd_barrier: the mesh was made before jd_shutdown() ended its "
        "world; make it again");
    jd_mesh_destroy(before);
}

int main(void)
{
    JD_CHECK(jd_initialize());
    int n = jd_device_count(), self = jd_process_index();
    try_subset(n, self);
    try_two(n, self);
    try_pairs(n, self);
    try_many(n);
    try_axes(n);
    try_groups(n, self);
    try_shard_map(n, self);
    try_after_the_end(make(0, 1, n, "all"));
    return 0;
}

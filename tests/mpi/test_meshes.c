/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Meshes of some of the processes, in another order, and several at once; and
 * that making and freeing many of them leaves nothing out of step.
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

/* The processes of even index, while the others do something else. */
static void try_subset(int n, int self)
{
    jd_mesh *even = make(0, 2, (n + 1) / 2, "even");
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

int main(void)
{
    JD_CHECK(jd_initialize());
    int n = jd_device_count(), self = jd_process_index();
    try_subset(n, self);
    try_two(n, self);
    try_pairs(n, self);
    try_many(n);
    JD_CHECK(jd_shutdown());
    return 0;
}

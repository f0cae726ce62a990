/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_shard_map KIND - bodies under mpirun.
 * bodies  each device of each process has one, with its own shard
 * fail    the last process's body fails while the others' wait in a collective
 *         for it: they end, naming it
 */
#include "jd.h"

#include "expect.h"

#include <pthread.h>

static int devices, self, last;

struct seen {
    pthread_mutex_t lock;
    int count;
    int by_ordinal[64];
};

static jd_status look(jd_shard *shard, void *arg)
{
    struct seen *seen = arg;
    const jd_device *device = jd_shard_device(shard);
    EXPECT(device->process_index == self, "process %d", device->process_index);
    EXPECT(jd_axis_size(shard, NULL) == devices, "%d",
           jd_axis_size(shard, NULL));
    pthread_mutex_lock(&seen->lock);
    seen->count++;
    seen->by_ordinal[device->local_ordinal]++;
    pthread_mutex_unlock(&seen->lock);
    return JD_OK;
}

static void try_bodies(jd_mesh *mesh)
{
    struct seen seen = { .lock = PTHREAD_MUTEX_INITIALIZER };
    int local = jd_local_device_count();
    for (int round = 1; round <= 3; round++) {
        EXPECT_OK(jd_shard_map(mesh, look, &seen));
        EXPECT(seen.count == round * local, "%d bodies", seen.count);
        for (int i = 0; i < local; i++)
            EXPECT(seen.by_ordinal[i] == round, "device %d: %d", i,
                   seen.by_ordinal[i]);
    }
}

static jd_status wait_or_fail(jd_shard *shard, void *arg)
{
    (void)arg;
    double x = 1;
    EXPECT_OK(jd_psum(shard, NULL, &x, &x, 1, JD_F64));
    if (self == last)
        return jd_send(shard, NULL, devices, &x, 1, JD_F64);
    return jd_psum(shard, NULL, &x, &x, 1, JD_F64);
}

int main(int argc, char **argv)
{
    jd_mesh *mesh;
    JD_CHECK(jd_initialize());
    self = jd_process_index();
    last = jd_process_count() - 1;
    devices = jd_device_count();
    EXPECT_OK(
        jd_mesh_create(&mesh, 1, (int[]){ -1 }, (const char *[]){ "x" }, NULL));
    if (argc > 1 && strcmp(argv[1], "fail") == 0)
        JD_CHECK(jd_shard_map(mesh, wait_or_fail, NULL));
    else
        try_bodies(mesh);
    jd_mesh_destroy(mesh);
    return 0;
}

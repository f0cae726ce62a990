/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_cuda_lane WAY - process 1 has queued two collectives that process 0 has
 * not, and waits; process 0 sees from the recorder's memory in which of them
 * the other's GPU is, and which is behind it. Then
 *
 *   joins    it makes both, and sees that they are done
 *   kills    it kills process 1: the job's end has what its GPU was in
 */
#include "jd.h"
#include "runtime/recorder/recorder.h"

#include "data_mesh.h"
#include "tests/mpi/expect.h"

#include <sched.h>
#include <signal.h>
#include <string.h>

static jd_shard *me;
static float *x;

static void sum(size_t count)
{
    JD_CHECK(jd_psum(me, "data", x, x, count, JD_F32));
}

/* The call of so many elements; its GPU's state. */
static int find_gpu(const struct jd_ring *ring, size_t count)
{
    struct jd_ring_call call;
    uint64_t last = jd__ring_last(ring);
    for (uint64_t i = last; i > 0 && last - i < JD_RING_CALLS; i--)
        if (jd__ring_read(ring, i, &call) && call.lane && call.count == count)
            return call.gpu;
    return JD_GPU_NONE;
}

/* mpirun's time limit ends it. */
static void await_gpu(const struct jd_ring *ring, size_t count, int state)
{
    while (find_gpu(ring, count) != state)
        sched_yield();
}

static void expect_words(int process)
{
    static const char *const wanted[] = {
        "was in jd_shard_synchronize",
        "; its GPU is in jd_psum of 3 x F32 over axis \"data\" (call 2 there)",
    };
    char *words = NULL;
    do {
        free(words);
        words = jd__recorder_last_call(process);
    } while (!words || !strstr(words, wanted[0]));
    EXPECT(strstr(words, wanted[1]), "%s", words);
    free(words);
}

static void look_at_1(bool kills)
{
    const struct jd_ring *ring = jd__recorder_ring_of(1);
    EXPECT(ring, "the ring of process 1 cannot be read");
    await_gpu(ring, 3, JD_GPU_STARTED);
    await_gpu(ring, 4, JD_GPU_QUEUED);
    expect_words(1);
    if (kills)
        kill(ring->pid, SIGKILL);
}

int main(int argc, char **argv)
{
    bool kills = argc > 1 && strcmp(argv[1], "kills") == 0;
    JD_CHECK(jd_initialize());
    me = jd_mesh_shard(make_mesh());
    JD_CHECK(jd_device_alloc(jd_shard_device(me), 4096, (void **)&x));
    sum(1);
    JD_CHECK(jd_shard_synchronize(me));
    if (jd_process_index() == 0)
        look_at_1(kills);
    while (kills && jd_process_index() == 0)
        EXPECT_STATUS(jd_sync_global_devices("never"), JD_ABORTED, "");
    sum(3);
    sum(4);
    JD_CHECK(jd_shard_synchronize(me));
    if (jd_process_index() == 0) {
        await_gpu(jd__recorder_ring_of(1), 3, JD_GPU_DONE);
        await_gpu(jd__recorder_ring_of(1), 4, JD_GPU_DONE);
        puts("both are done");
    }
    return jd_shutdown();
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_last_call - the last process is killed while it waits in a collective
 * that the others do not call, as process 0 reads from its ring; the sentence
 * of the survivors has the call, and where it was made.
 */
#include "jd.h"
#include "runtime/recorder/recorder.h"

#include "expect.h"

#include <sched.h>
#include <signal.h>

enum { COUNT = 3 };

static bool is_in_psum(const struct jd_ring *ring)
{
    struct jd_ring_call call;
    return jd__ring_read(ring, jd__ring_last(ring), &call) &&
           call.state == JD_CALL_ENTERED && call.count == COUNT;
}

static void kill_in_psum(int process)
{
    const struct jd_ring *ring = jd__recorder_ring_of(process);
    EXPECT(ring, "the ring of process %d cannot be read", process);
    while (!is_in_psum(ring))
        sched_yield();
    kill(ring->pid, SIGKILL);
}

int main(void)
{
    jd_mesh *mesh;
    double values[COUNT] = { 0 };
    JD_CHECK(jd_initialize());
    int self = jd_process_index(), last = jd_process_count() - 1;
    EXPECT_OK(
        jd_mesh_create(&mesh, 1, (int[]){ -1 }, (const char *[]){ "x" }, NULL));
    jd_shard *me = jd_mesh_shard(mesh);
    EXPECT_OK(jd_psum(me, "x", values, values, 1, JD_F64));
    if (self == last)
        EXPECT_OK(jd_psum(me, "x", values, values, COUNT, JD_F64));
    if (self == 0)
        kill_in_psum(last);
    for (;;)
        EXPECT_STATUS(jd_sync_global_devices("never"), JD_ABORTED, "");
}

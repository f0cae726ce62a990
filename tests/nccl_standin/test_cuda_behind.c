/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_cuda_behind WAY - process 1 makes two collectives, all others four, and
 * these wait for their GPUs. The deadline ends the job, or what process 1 does:
 *
 *   stays    it stays in its own code
 *   leaves   it shuts down
 *   sends    it stays, and all have had sends among them, of which it made most
 *   differs  it makes four too, of which the third is another
 *   cuda     it stays, and the others wait in CUDA itself
 *   busy     all make four, and shut down at once, but for process 0, whose GPU
 *            has something else to do behind them; the job ends well
 */
#include "jd.h"

#include "data_mesh.h"

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

static const char *way;
static jd_shard *me;
static float *x;

static bool is(const char *word)
{
    return strcmp(way, word) == 0;
}

static void sum(size_t count)
{
    JD_CHECK(jd_psum(me, "data", x, x, count, JD_F32));
}

static void send_some(void)
{
    int index = jd_axis_index(me, "data");
    for (int i = 0; i < 3 && index < 2; i++)
        JD_CHECK(index == 1 ? jd_send(me, "data", 0, x, 4, JD_F32)
                            : jd_recv(me, "data", 1, x, 4, JD_F32));
}

static void last_for_long(void *unused)
{
    (void)unused;
    sleep(5);
}

static int be_busy(void)
{
    sum(3);
    sum(4);
    if (jd_process_index() == 0) {
        cudaLaunchHostFunc((cudaStream_t)jd_shard_stream(me), last_for_long,
                           NULL);
        JD_CHECK(jd_shard_synchronize(me));
    }
    return jd_shutdown();
}

/* The job ends first. */
static int wait_in_cuda(void)
{
    cudaStreamSynchronize((cudaStream_t)jd_shard_stream(me));
    return 0;
}

static void go_on_alone(void)
{
    for (;;)
        pause();
}

int main(int argc, char **argv)
{
    way = argc > 1 ? argv[1] : "stays";
    JD_CHECK(jd_initialize());
    me = jd_mesh_shard(make_mesh());
    JD_CHECK(jd_device_alloc(jd_shard_device(me), 4096, (void **)&x));
    bool is_one = jd_process_index() == 1;
    sum(1);
    if (is("sends"))
        send_some();
    sum(2);
    JD_CHECK(jd_shard_synchronize(me));
    if (is("busy"))
        return be_busy();
    if (is_one && is("leaves"))
        return jd_shutdown();
    if (is_one && !is("differs"))
        go_on_alone();
    sum(is_one ? 5 : 3);
    sum(4);
    if (is("cuda"))
        return wait_in_cuda();
    JD_CHECK(jd_shard_synchronize(me));
    return jd_shutdown();
}

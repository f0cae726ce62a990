/* SPDX-License-Identifier: BSD-3-Clause */
/* recorder_job.c - what one process of `jd-bench recorder` does. */
#include "bench/engine/line.h"
#include "bench/engine/sides.h"
#include "bench/recorder/recorder.h"
#include "jd_collectives.h"
#include "jd_memory.h"
#include "runtime/recorder/recorder.h"

struct job {
    const struct recorder_request *request;
    struct bench_line line;
    float *in, *out;
};

static void call(void *arg, int side)
{
    struct job *job = arg;
    (void)side;
    JD_CHECK(jd_psum(job->line.me, NULL, job->in, job->out, job->request->count,
                     JD_F32));
}

/* All processes switch between the same calls. The recorder begins with an
 * empty ring: each place of it is written once before calls are timed, unless
 * they are so long that it does not matter. */
static void prepare(void *arg, int side)
{
    enum { MOST_BYTES = 1 << 28 };
    const struct job *job = arg;
    size_t calls = MOST_BYTES / (job->request->count * sizeof *job->in) + 1;
    jd__recorder_configure(side != RECORDER_OFF, side == RECORDER_TRACE);
    for (size_t i = 0; i < calls && i < JD_RING_CALLS; i++)
        call(arg, side);
}

static void open_buffers(struct job *job)
{
    const jd_device *device = jd_shard_device(job->line.me);
    size_t bytes = job->request->count * sizeof *job->in;
    JD_CHECK(jd_device_alloc(device, bytes, (void **)&job->in));
    JD_CHECK(jd_device_alloc(device, bytes, (void **)&job->out));
    for (size_t i = 0; i < job->request->count; i++)
        job->in[i] = (float)((i + (size_t)job->line.rank) % 1000);
}

static float wanted(const struct job *job, size_t i)
{
    float sum = 0;
    for (int rank = 0; rank < job->line.size; rank++)
        sum += (float)((i + (size_t)rank) % 1000);
    return sum;
}

static size_t count_wrong(struct job *job, int side)
{
    size_t wrong = 0;
    prepare(job, side);
    for (size_t i = 0; i < job->request->count; i++)
        wrong += job->out[i] != wanted(job, i);
    return bench_sum(job->line.comm, wrong);
}

static void measure(struct job *job)
{
    static double samples[RECORDER_SIDES][BENCH_MAX_ROUNDS];
    static const bool all[RECORDER_SIDES] = { true, true, true };
    const struct bench_turns turns = { .comm = job->line.comm,
                                       .prepare = prepare,
                                       .call = call,
                                       .arg = job,
                                       .sample_seconds =
                                           job->request->sample_seconds,
                                       .rounds = job->request->rounds };
    size_t wrong[RECORDER_SIDES];
    for (int side = 0; side < RECORDER_SIDES; side++)
        wrong[side] = count_wrong(job, side);
    bench_turns_run(&turns, all, RECORDER_SIDES, samples);
    bench_sides_print(&turns, RECORDER_SIDES, wrong, samples);
}

int recorder_job(const struct recorder_request *request)
{
    struct job job = { .request = request };
    bench_line_open(&job.line, "recorder");
    bench_print_conditions(job.line.comm, "recorder");
    open_buffers(&job);
    measure(&job);
    jd_device_free(job.in);
    jd_device_free(job.out);
    return bench_line_close(&job.line);
}

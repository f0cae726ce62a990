/* SPDX-License-Identifier: BSD-3-Clause */
/* reshard_job.c - what one process of `jd-bench reshard` does. */
#include "bench/reshard/reshard.h"
#include "bench/engine/sides.h"
#include "jd_device.h"
#include "jd_mpi.h"
#include "jd_process.h"

#include <stdint.h>
#include <stdio.h>

struct job {
    const struct reshard_request *request;
    MPI_Comm comm;
    jd_mesh *mesh;
    jd_sharding *from, *to;
    jd_array *in, *out;                        /* jd's; out: the last call's */
    struct reshard_peer *peers[RESHARD_SIDES]; /* NULL: takes no part */
};

static void open_jd(struct job *job)
{
    const struct reshard_request *r = job->request;
    struct bench_whole whole = r->whole;
    const char *names[RESHARD_MAX_AXES];
    for (int i = 0; i < r->mesh.num_axes; i++)
        names[i] = r->mesh.names[i];
    JD_CHECK(jd_initialize());
    JD_CHECK(jd_mesh_create(&job->mesh, r->mesh.num_axes, r->mesh.sizes, names,
                            NULL));
    JD_CHECK(jd_sharding_create(&job->from, job->mesh, r->from));
    JD_CHECK(jd_sharding_create(&job->to, job->mesh, r->to));
    JD_CHECK(jd_array_from_callback(&job->in, job->from, whole.dtype,
                                    whole.ndim, whole.shape, bench_block_fill,
                                    &whole));
    job->comm = jd_mpi_comm();
}

static void fill(const struct bench_whole *whole,
                 const struct reshard_blocks *blocks)
{
    struct bench_whole copy = *whole;
    for (int i = 0; i < blocks->count; i++)
        bench_block_fill(blocks->shards[i].index, blocks->data[i], &copy);
}

/* The peers' blocks are those of an array that was moved by jd. */
static void open_peers(struct job *job)
{
    const struct reshard_request *r = job->request;
    JD_CHECK(jd_array_reshard(&job->out, job->in, job->to));
    for (int side = RESHARD_JD + 1; side < RESHARD_SIDES; side++) {
        struct reshard_peer *peer =
            reshard_peer_create(r, side, job->comm, job->in, job->out);
        if (peer)
            fill(&r->whole, reshard_peer_in(peer));
        job->peers[side] = peer;
    }
}

/* ---- the calls ---------------------------------------------------------- */

static void touch(struct job *job, int side, bool writes)
{
    size_t element = jd_dtype_size(job->request->whole.dtype);
    const struct reshard_blocks *blocks =
        side == RESHARD_JD ? NULL
        : writes           ? reshard_peer_in(job->peers[side])
                           : reshard_peer_out(job->peers[side]);
    int count = 0;
    const jd_array_shard *shards =
        blocks ? blocks->shards
               : jd_array_shards(writes ? job->in : job->out, &count);
    for (int i = 0; i < (blocks ? blocks->count : count); i++) {
        void *data = blocks ? blocks->data[i] : shards[i].data;
        if (writes)
            bench_write_all(data, shards[i].count * element);
        else
            bench_read_all(data, shards[i].count * element);
    }
}

/* As in a program's loop: what came out of the last turn is given back. */
static void call_once(struct job *job, int side)
{
    if (side != RESHARD_JD) {
        reshard_peer_call(job->peers[side]);
        return;
    }
    jd_array_release(job->out);
    job->out = NULL;
    JD_CHECK(jd_array_reshard(&job->out, job->in, job->to));
}

static void call(void *arg, int side)
{
    struct job *job = arg;
    if (job->request->cycle)
        touch(job, side, true);
    call_once(job, side);
    if (job->request->cycle)
        touch(job, side, false);
}

/* ---- checking and measuring --------------------------------------------- */

static size_t count_wrong(const struct job *job, int side)
{
    const struct bench_whole *whole = &job->request->whole;
    size_t wrong = 0;
    int count;
    const jd_array_shard *shards = jd_array_shards(job->out, &count);
    for (int i = 0; i < count; i++)
        wrong += bench_block_wrong(
            whole, shards[i].index,
            side == RESHARD_JD ? shards[i].data
                               : reshard_peer_out(job->peers[side])->data[i]);
    return bench_sum(job->comm, wrong);
}

static void measure(struct job *job)
{
    static double samples[RESHARD_SIDES][BENCH_MAX_ROUNDS];
    const struct reshard_request *r = job->request;
    const struct bench_turns turns = { .comm = job->comm,
                                       .call = call,
                                       .arg = job,
                                       .sample_seconds = r->sample_seconds,
                                       .rounds = r->rounds };
    bool takes_part[RESHARD_SIDES];
    size_t wrong[RESHARD_SIDES];
    for (int side = 0; side < RESHARD_SIDES; side++) {
        takes_part[side] = side == RESHARD_JD || job->peers[side];
        wrong[side] = SIZE_MAX;
        if (!takes_part[side])
            continue;
        call_once(job, side);
        wrong[side] = count_wrong(job, side);
    }
    bench_turns_run(&turns, takes_part, RESHARD_SIDES, samples);
    bench_sides_print(&turns, RESHARD_SIDES, wrong, samples);
}

int reshard_job(const struct reshard_request *request)
{
    struct job job = { .request = request };
    open_jd(&job);
    bench_print_conditions(job.comm, "reshard");
    open_peers(&job);
    measure(&job);
    for (int side = 0; side < RESHARD_SIDES; side++)
        reshard_peer_destroy(job.peers[side]);
    jd_array_release(job.in);
    jd_array_release(job.out);
    jd_sharding_release(job.from);
    jd_sharding_release(job.to);
    jd_mesh_destroy(job.mesh);
    return (int)jd_shutdown();
}

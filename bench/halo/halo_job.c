/* SPDX-License-Identifier: BSD-3-Clause */
/* halo_job.c - what one process of `jd-bench halo` does. */
#include "bench/engine/sides.h"
#include "bench/halo/halo.h"
#include "jd_halo.h"
#include "jd_memory.h"
#include "jd_mpi.h"
#include "jd_process.h"

#include <stdio.h>
#include <stdlib.h>

static const char *const axis_names[JD_MAX_NDIM] = { "a", "b", "c", "d",
                                                     "e", "f", "g", "h" };

struct job {
    const struct halo_request *request;
    MPI_Comm comm;
    jd_mesh *mesh;
    jd_shard *me;
    jd_halo_dim dims[JD_MAX_NDIM];
    struct halo_place places[HALO_SIDES]; /* each side's own idea of it */
    void *blocks[HALO_SIDES];
    struct halo_peer *peer;
};

static void open_jd(struct job *job)
{
    const struct halo_request *r = job->request;
    struct halo_place *place = &job->places[HALO_JD];
    JD_CHECK(jd_initialize());
    job->comm = jd_mpi_comm();
    JD_CHECK(jd_mesh_shape(jd_device_count(), r->ndim, place->counts));
    JD_CHECK(
        jd_mesh_create(&job->mesh, r->ndim, place->counts, axis_names, NULL));
    job->me = jd_mesh_shard(job->mesh);
    if (!job->me) {
        fprintf(stderr, "jd-bench halo: one device in each process is "
                        "measured; unset JD_NUM_CPU_DEVICES\n");
        exit(EXIT_FAILURE);
    }
    for (int d = 0; d < r->ndim; d++) {
        place->coords[d] = jd_axis_index(job->me, axis_names[d]);
        job->dims[d] = (jd_halo_dim){ r->own[d] + 2 * r->width, r->width,
                                      r->width, axis_names[d], r->is_periodic };
    }
    job->places[HALO_JD_MALLOC] = *place;
}

static void open_blocks(struct job *job)
{
    size_t bytes = halo_block_bytes(job->request);
    JD_CHECK(jd_device_alloc(jd_shard_device(job->me), bytes,
                             &job->blocks[HALO_JD]));
    job->blocks[HALO_JD_MALLOC] = malloc(bytes);
    job->blocks[HALO_ALLTOALLW] = malloc(bytes);
    if (!job->blocks[HALO_JD_MALLOC] || !job->blocks[HALO_ALLTOALLW]) {
        fprintf(stderr, "jd-bench halo: no memory for a block of %zu bytes\n",
                bytes);
        exit(EXIT_FAILURE);
    }
    for (int side = 0; side < HALO_SIDES; side++)
        halo_block_fill(job->request, &job->places[side], job->blocks[side]);
}

static void call(void *arg, int side)
{
    struct job *job = arg;
    const struct halo_request *r = job->request;
    if (side == HALO_ALLTOALLW)
        halo_peer_call(job->peer, job->blocks[side]);
    else
        JD_CHECK(jd_halo_exchange(job->me, job->blocks[side], r->dtype, r->ndim,
                                  job->dims, 0));
}

static size_t count_wrong(struct job *job, int side)
{
    call(job, side);
    return bench_sum(
        job->comm,
        halo_block_wrong(job->request, &job->places[side], job->blocks[side]));
}

static void measure(struct job *job)
{
    static double samples[HALO_SIDES][BENCH_MAX_ROUNDS];
    const struct halo_request *r = job->request;
    const struct bench_turns turns = { .comm = job->comm,
                                       .call = call,
                                       .arg = job,
                                       .sample_seconds = r->sample_seconds,
                                       .rounds = r->rounds };
    static const bool all[HALO_SIDES] = { true, true, true };
    size_t wrong[HALO_SIDES];
    for (int side = 0; side < HALO_SIDES; side++)
        wrong[side] = count_wrong(job, side);
    bench_turns_run(&turns, all, HALO_SIDES, samples);
    bench_sides_print(&turns, HALO_SIDES, wrong, samples);
}

int halo_job(const struct halo_request *request)
{
    struct job job = { .request = request };
    open_jd(&job);
    bench_print_conditions(job.comm, "halo");
    job.peer = halo_peer_create(request, job.comm, &job.places[HALO_ALLTOALLW]);
    open_blocks(&job);
    measure(&job);
    halo_peer_destroy(job.peer);
    JD_CHECK(jd_device_free(job.blocks[HALO_JD]));
    free(job.blocks[HALO_JD_MALLOC]);
    free(job.blocks[HALO_ALLTOALLW]);
    jd_mesh_destroy(job.mesh);
    return (int)jd_shutdown();
}

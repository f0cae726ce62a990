/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * reshard.h - the parts of `jd-bench reshard`.
 *
 * The parent (reshard.c) starts a job of this program for each number of
 * processes and prints what came out; the flags are in reshard_flags.c.
 * The job (reshard_job.c) checks and measures all sides by turns; what a
 * user writes with MPI alone is in reshard_peers.c. Plans that are only
 * made are in reshard_plan.c.
 */
#ifndef BENCH_RESHARD_RESHARD_H
#define BENCH_RESHARD_RESHARD_H

#include "bench/engine/blocks.h"
#include "bench/engine/launch.h"

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

enum reshard_side {
    RESHARD_JD,
    RESHARD_ALLTOALLV, /* packed and unpacked by hand */
    RESHARD_ALLGATHER, /* of the whole, and sliced */
    RESHARD_SIDES
};

enum { RESHARD_MAX_AXES = 8, RESHARD_NAME = 32 };

/* "data:2,model:-1". */
struct reshard_mesh {
    int num_axes;
    int sizes[RESHARD_MAX_AXES];
    char names[RESHARD_MAX_AXES][RESHARD_NAME];
};

/* What is asked for; the same in the parent and in its jobs. */
struct reshard_request {
    struct bench_whole whole;
    struct reshard_mesh mesh;
    const char *from, *to;
    int rounds;
    double sample_seconds;
    bool cycle; /* write the input, reshard, read the output */
};

/* ---- reshard_flags.c ---------------------------------------------- */

struct reshard_options {
    struct reshard_request request;
    struct bench_launch launch;
    const char *shape, *mesh;  /* as given */
    int plans[BENCH_MAX_JOBS]; /* numbers of devices */
    int num_plans;             /* 0: no plans alone */
    bool is_job;
};

/* -1 where the program goes on, else its exit status. */
int reshard_read_flags(struct reshard_options *options, int argc, char **argv);

/* ---- reshard_job.c ------------------------------------------------ */

/* One process of a job; an exit status. */
int reshard_job(const struct reshard_request *request);

/* ---- reshard_plan.c ------------------------------------------------------- */

/* Plans for so many devices, without a job; an exit status. */
int reshard_plan(const struct reshard_options *options);

/* ---- reshard_peers.c ---------------------------------------------- */

/* An array without jd: blocks of malloc, one for each local device. */
struct reshard_blocks {
    int count;
    jd_array_shard *shards; /* what they are; data is another array's */
    char **data;
};

void reshard_blocks_create(struct reshard_blocks *blocks,
                           const jd_array *alike);
void reshard_blocks_free(struct reshard_blocks *blocks);

/* A peer's buffers and what it has worked out before the first call. */
struct reshard_peer;
/* NULL where the pair of shardings is none that it knows: the all-to-all takes
 * a matrix from rows to columns, or back, over the only axis of a mesh with a
 * device in each process. */
struct reshard_peer *reshard_peer_create(const struct reshard_request *request,
                                         enum reshard_side side, MPI_Comm comm,
                                         const jd_array *from,
                                         const jd_array *to);
void reshard_peer_call(struct reshard_peer *peer);
struct reshard_blocks *reshard_peer_in(struct reshard_peer *peer);
struct reshard_blocks *reshard_peer_out(struct reshard_peer *peer);
void reshard_peer_destroy(struct reshard_peer *peer);

#endif

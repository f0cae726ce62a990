/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * halo.h - the parts of `jd-bench halo`: the parent (halo.c) starts a job for
 * each number of processes and prints what came out; the job (halo_job.c)
 * checks and measures all sides by turns; what a user writes with MPI alone is
 * in halo_peer.c, and what stands in a block in halo_block.c.
 */
#ifndef BENCH_HALO_HALO_H
#define BENCH_HALO_HALO_H

#include "jd_array.h"
#include "jd_dtype.h"

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum halo_side_name {
    HALO_JD,        /* its block is jd_device_alloc()'s */
    HALO_JD_MALLOC, /* malloc's */
    HALO_ALLTOALLW, /* MPI's call with subarrays; malloc's */
    HALO_SIDES
};

/* What is asked for; the same in the parent and in its jobs. */
struct halo_request {
    int ndim;
    int64_t own[JD_MAX_NDIM]; /* elements of a member's, without halos */
    int64_t width;            /* of all halos */
    bool is_periodic;
    jd_dtype dtype;
    int rounds;
    double sample_seconds;
};

/* One process of a job; an exit status. */
int halo_job(const struct halo_request *request);

/* ---- halo_block.c ------------------------------------------------------- */

/* Where a member's block is among all of them. */
struct halo_place {
    int counts[JD_MAX_NDIM]; /* members along each dimension */
    int coords[JD_MAX_NDIM];
};

size_t halo_block_bytes(const struct halo_request *request);
/* Own elements get bytes of where they are in the whole, halos others. */
void halo_block_fill(const struct halo_request *request,
                     const struct halo_place *place, void *block);
/* How many elements are not what an exchange without corners leaves. */
size_t halo_block_wrong(const struct halo_request *request,
                        const struct halo_place *place, const void *block);

/* ---- halo_peer.c -------------------------------------------------------- */

/* MPI's neighbours of a Cartesian communicator, and a type for each face. */
struct halo_peer;
struct halo_peer *halo_peer_create(const struct halo_request *request,
                                   MPI_Comm comm, struct halo_place *ret_place);
void halo_peer_call(struct halo_peer *peer, void *block);
void halo_peer_destroy(struct halo_peer *peer);

#endif

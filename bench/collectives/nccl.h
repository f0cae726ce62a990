/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nccl.h - NCCL's own calls, beside jd's in the same processes. The
 * functions are those of the libraries that jd's platform of GPUs has loaded,
 * so that jd-bench is linked with none.
 *
 *     struct bench_nccl *nccl = bench_nccl_open(comm, device);
 *     bench_nccl_call(nccl, &(struct bench_nccl_call){ ... });
 *     bench_nccl_close(nccl);
 */
#ifndef BENCH_COLLECTIVES_NCCL_H
#define BENCH_COLLECTIVES_NCCL_H

#include "bench/collectives/collectives.h"
#include "jd_device.h"

struct bench_nccl;

/* Collective: the ranks, each with its device of platform cuda. Ends the job
 * with the reason where it cannot be. */
struct bench_nccl *bench_nccl_open(MPI_Comm comm, const jd_device *device);
void bench_nccl_close(struct bench_nccl *nccl);

bool bench_nccl_can(enum bench_op op, jd_dtype dtype);

struct bench_nccl_call {
    enum bench_op op;
    jd_dtype dtype;
    const void *in;
    void *out;
    size_t count; /* as bench_count() says */
    void *stream;
};

/* Queues it. */
void bench_nccl_call(struct bench_nccl *nccl,
                     const struct bench_nccl_call *call);

#endif

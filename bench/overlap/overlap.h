/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * overlap.h - the parts of `jd-bench overlap`: the parent (overlap.c) starts a
 * job for each number of processes and prints what came out; the job
 * (overlap_job.c) checks and measures all sides by turns.
 */
#ifndef BENCH_OVERLAP_OVERLAP_H
#define BENCH_OVERLAP_OVERLAP_H

#include <stdbool.h>
#include <stddef.h>

/* What is measured. Work is arithmetic on some KiB of the process's own. */
enum overlap_side {
    OVERLAP_WORK,      /* work alone */
    OVERLAP_JD,        /* jd's call, then the work */
    OVERLAP_JD_START,  /* start, work, jd_wait() */
    OVERLAP_MPI,       /* MPI's call, then the work */
    OVERLAP_MPI_START, /* MPI_I..., work, MPI_Wait */
    OVERLAP_SIDES
};

enum overlap_op {
    OVERLAP_PSUM, /* jd_psum beside MPI_Allreduce */
    OVERLAP_RING, /* a group, to the next from the one before */
    OVERLAP_OPS
};

/* What is asked for; the same in the parent and in its jobs. */
struct overlap_request {
    enum overlap_op op;
    size_t count; /* elements of F32 */
    double work;  /* how often it takes the time of jd's call alone */
    int rounds;
    double sample_seconds;
};

/* One process of a job; an exit status. */
int overlap_job(const struct overlap_request *request);

#endif

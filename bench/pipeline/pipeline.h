/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pipeline.h - the parts of `jd-bench pipeline`: the parent (pipeline.c) starts
 * a job for each number of processes and prints what came out; the job
 * (pipeline_job.c) checks and measures both sides by turns.
 */
#ifndef BENCH_PIPELINE_PIPELINE_H
#define BENCH_PIPELINE_PIPELINE_H

#include <stdint.h>

enum pipeline_side_name { PIPELINE_JD, PIPELINE_MPI, PIPELINE_SIDES };

/* What is asked for; the same in the parent and in its jobs. */
struct pipeline_request {
    int64_t rows;
    int64_t columns; /* spread over the processes */
    int rounds;
    double sample_seconds;
};

/* One process of a job; an exit status. */
int pipeline_job(const struct pipeline_request *request);

#endif

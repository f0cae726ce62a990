/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * recorder.h - the parts of `jd-bench recorder`: the parent (recorder.c) starts
 * the jobs and prints what came out; the job (recorder_job.c) measures psum
 * without the recorder, with it, and as with JD_TRACE=1, by turns in the same
 * processes. Launches differ from each other by more than the recorder costs.
 */
#ifndef BENCH_RECORDER_RECORDER_H
#define BENCH_RECORDER_RECORDER_H

#include <stddef.h>

enum recorder_side {
    RECORDER_OFF,
    RECORDER_ON,
    RECORDER_TRACE,
    RECORDER_SIDES
};

/* What is asked for; the same in the parent and in its jobs. */
struct recorder_request {
    size_t count; /* elements of F32 */
    int rounds;
    double sample_seconds;
};

/* One process of a job; an exit status. */
int recorder_job(const struct recorder_request *request);

#endif

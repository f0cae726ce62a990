/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sides.h - a measurement whose jobs compare a few sides, jd first: the job's
 * lines, what the parent keeps of them, and the parent itself.
 *
 *     static const struct bench_sides sides = { HALO_SIDES, print_head,
 *                                               print_row, print_json };
 *     return bench_sides_run(&sides, &launch, &job);        in the parent
 *     bench_sides_print(&turns, HALO_SIDES, wrong, samples);  in the job
 */
#ifndef BENCH_ENGINE_SIDES_H
#define BENCH_ENGINE_SIDES_H

#include "bench/engine/launch.h"
#include "bench/engine/samples.h"
#include "bench/engine/turns.h"

#include <stdbool.h>
#include <stddef.h>

/* What one number of processes gave. A side that takes no part has no samples.
 */
struct bench_row {
    int processes, hosts;
    struct bench_samples samples[BENCH_MAX_SIDES];
    size_t wrong[BENCH_MAX_SIDES]; /* elements */
};

double bench_row_median_us(const struct bench_row *row, int side);

/* options are the job's. */
struct bench_sides {
    int count;
    void (*print_head)(const void *options);
    void (*print_row)(const void *options, const struct bench_row *row);
    /* The members of a row's object, without braces. */
    void (*print_json)(const void *options, const struct bench_row *row);
};

/* Starts the jobs (job->take and results are its own) and prints what came out
 * of each number of processes. 0, or 1 where a job failed or an element was
 * wrong. */
int bench_sides_run(const struct bench_sides *sides,
                    const struct bench_launch *launch, struct bench_job job);

/* In the job, on all ranks: rank 0 prints what was sampled. wrong[side] are the
 * elements of all ranks; SIZE_MAX: the side takes no part. */
void bench_sides_print(const struct bench_turns *turns, int count,
                       const size_t *wrong,
                       double (*samples)[BENCH_MAX_ROUNDS]);

#endif

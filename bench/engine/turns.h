/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * turns.h - in a job: several sides, by turns, as often as asked.
 *
 *     struct bench_turns turns = { .comm = comm, .call = call, .arg = &sides,
 *                                 .sample_seconds = 3e-3, .rounds = 15 };
 *     bench_turns_run(&turns, takes_part, NUM_SIDES, samples);
 *
 * A sample is the slowest rank's time of a call, over as many calls as fill
 * sample_seconds. So a slow minute of the machine is everybody's.
 */
#ifndef BENCH_ENGINE_TURNS_H
#define BENCH_ENGINE_TURNS_H

#include "bench/engine/samples.h"

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

enum { BENCH_MAX_SIDES = 8 };

struct bench_turns {
    MPI_Comm comm;
    void (*prepare)(void *arg, int side); /* before each sample; or NULL */
    void (*call)(void *arg, int side);
    void *arg;
    double sample_seconds;
    int rounds; /* up to BENCH_MAX_ROUNDS */

    /* Where calls only queue: waits for them, at the end of each sample. And
     * where the seconds go that queuing one takes, and those of the processor
     * that the calling thread takes for it, as samples. NULL: they do not. */
    void (*finish)(void *arg, int side);
    double (*queued)[BENCH_MAX_ROUNDS];
    double (*thread)[BENCH_MAX_ROUNDS];
};

/* Warms each side up, then measures: samples[side][round], in seconds; of up to
 * BENCH_MAX_SIDES sides. */
void bench_turns_run(const struct bench_turns *turns, const bool *takes_part,
                     int num_sides, double (*samples)[BENCH_MAX_ROUNDS]);

/* The greatest of all ranks' seconds, to all. */
double bench_slowest(MPI_Comm comm, double seconds);

/* The sum of all ranks' numbers, to all. */
size_t bench_sum(MPI_Comm comm, size_t number);

/* Rank 0 prints what a figure needs beside it: ranks, thread level, cores and
 * whether a rank that waits yields. */
void bench_print_conditions(MPI_Comm comm, const char *what);

#endif

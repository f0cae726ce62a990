/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * start.h - what a start of so many processes takes, phase by phase, what is
 * kept of them, and what the coordinator has to do while they run.
 *
 *     struct scale_start start;
 *     ok = scale_simulate_start(10240, 128, &constants, &start);
 *
 * Not in it: what the launcher needs, and MPI_Init.
 */
#ifndef BENCH_SCALE_START_H
#define BENCH_SCALE_START_H

#include "bench/scale/constants.h"

#include <stdbool.h>

struct scale_start {
    double records;       /* s: all processes' records come to all hosts */
    double registrations; /* s: all agents greet the service */
    double barrier;       /* s: all pass a barrier, and in the end leave */
    double connections;   /* s: of MPI, to the peers of the first collectives */
    double wireup;        /* s: more, where the launcher serves no MPI */
    double seconds;       /* all of them */

    double process_bytes; /* of a mesh over all, and of the table */
    double host_bytes;    /* the table of processes and devices */
    double service_bytes;
    double cores; /* of the coordinator, for heartbeats */
};

/* False where there is no memory. */
bool scale_simulate_start(int hosts, int per_host,
                          const struct scale_constants *constants,
                          struct scale_start *start);

#endif

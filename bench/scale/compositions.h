/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * compositions.h - of which passes a collective is made, jd's and MPI's: the
 * table that follows the library, and what the simulator makes of it.
 *
 *     struct scale_call call = { SCALE_PSUM, 10240, 1, 8 };
 *     struct scale_result jd, mpi;
 *     ok = scale_simulate_jd(&call, &constants, &jd) &&
 *          scale_simulate_mpi(&call, &constants, &mpi);
 *
 * Hosts have as many processes each; a process is one member. jd's check of
 * calls and all short data are one pass of the hosts' leaders; a long vector is
 * carried between hosts by all members of a host, a part each (rails), which
 * share the host's wire. MPI's algorithms are those of one leader per host,
 * whose members it meets as jd's do, with the same constants: the best that the
 * classical ones can do, and better than running them over all processes. Of
 * several the one with the shortest time is taken.
 *
 * Threads: any.
 * Source: Thakur, Rabenseifner, Gropp, IJHPCA 19 (2005); van de Geijn, JPDC 22
 *   (1994), for scatter and all_gather; Bruck et al., IEEE TPDS 8 (1997).
 */
#ifndef BENCH_SCALE_COMPOSITIONS_H
#define BENCH_SCALE_COMPOSITIONS_H

#include "bench/scale/constants.h"
#include "bench/scale/simulator.h"
#include "collectives/schedule/schedule.h"

#include <stdbool.h>

enum scale_op {
    SCALE_PSUM,       /* bytes: of the vector */
    SCALE_ALL_GATHER, /* bytes: of a member */
    SCALE_ALL_TO_ALL, /* bytes: of a member for each other */
    SCALE_BROADCAST,  /* bytes: of all */
    SCALE_MESH,       /* the first use of one */
    SCALE_OPS
};

struct scale_call {
    enum scale_op op;
    int hosts, per_host; /* 2 hosts or more */
    double bytes;
};

struct scale_result {
    const char *way; /* "merge", ... */
    double seconds;
    struct scale_counts counts; /* of the busiest process */
    int pieces;
};

/* False where there is no memory. */
bool scale_simulate_jd(const struct scale_call *call,
                       const struct scale_constants *constants,
                       struct scale_result *result);
bool scale_simulate_mpi(const struct scale_call *call,
                        const struct scale_constants *constants,
                        struct scale_result *result);

/* "psum", ... */
const char *scale_op_name(enum scale_op op);

/* Beside the library's schedules, of MPI: between the parties of a merge, with
 * half of the vector in each round (Rabenseifner), and to the next. */
enum {
    SCALE_HALVING = JD_SCHEDULE_KINDS,
    SCALE_DOUBLING,
    SCALE_RING_REDUCE,
    SCALE_RING_GATHER,
    SCALE_KINDS,
    SCALE_NONE = -1
};

/*
 * One pass, of one kind or two after each other, with blocks that are equally
 * long. Each round of PAIRS is a task of its own.
 */
struct scale_movement {
    int kinds[2];
    int parties, root;
    double block;  /* bytes */
    double head;   /* bytes of each message of a merge, beside the blocks */
    double whole;  /* bytes that a merge folds, or a broadcast sends */
    int rounds[2]; /* set by the call below */
};

/* The movement must live as long as the pass; depth is 1. */
struct scale_pass scale_movement_pass(struct scale_movement *movement);

#endif

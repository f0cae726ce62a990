/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * segment.h - the control blocks of this process's members of teams: taken
 * where the team can see them, and given back when no other member reads them
 * any more, which may be later than this process's end of the clique.
 *
 *     status = jd__control_take(arena, &request, &held);
 *     ... held->control goes into a struct jd_team_member ...
 *     jd__team_destroy(team);
 *     jd__control_give(held, team_size);
 *
 * What cannot be given back yet is looked at again whenever another block is
 * taken or given; nothing waits.
 * Threads: any.
 */
#ifndef COLLECTIVES_CPU_SHM_SEGMENT_H
#define COLLECTIVES_CPU_SHM_SEGMENT_H

#include "collectives/cpu/heap/heap.h"
#include "collectives/cpu/shm/shm.h"

struct jd_held_control {
    struct jd_control *control;
    uint64_t offset; /* in the arena; 0 without one */
    struct jd_arena *arena;
    int team_size; /* once it is given */
    struct jd_held_control *next;
};

struct jd_control_request {
    const char *operation;
    int most; /* members that its team can have */
    int numa_node;
};

/* A control block, all zeros, in the arena, or in plain memory where arena is
 * NULL. Returns: as jd__arena_alloc. */
jd_status jd__control_take(struct jd_arena *arena,
                           const struct jd_control_request *request,
                           struct jd_held_control **ret_held);

/* Of how many members the team was, whose end here is destroyed already; 1:
 * nobody else knows of the block. NULL is allowed. */
void jd__control_give(struct jd_held_control *held, int team_size);

/* A team size of which nobody knows when the last of them has left: the block
 * is kept for ever. */
#define JD_CONTROL_NEVER INT32_MAX

/* Looks at those that could not be given back; how many there still are. */
int jd__controls_sweep(void);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * segment.h - the segments of this process's members of groups: taken
 * where the group can see them, and given back when no other member reads them
 * any more, which may be later than this process's end of the communicator.
 *
 *     status = jd__segment_take(heap, &request, &held);
 *     ... held->control goes into a struct jd_shm_member ...
 *     jd__shm_destroy(group);
 *     jd__segment_give(held, team_size);
 *
 * What cannot be given back yet is looked at again whenever another block is
 * taken or given; nothing waits.
 * Threads: any.
 */
#ifndef COLLECTIVES_CPU_SHM_SEGMENT_H
#define COLLECTIVES_CPU_SHM_SEGMENT_H

#include "collectives/cpu/heap/heap.h"
#include "collectives/cpu/shm/shm.h"

struct jd_held_segment {
    struct jd_segment *control;
    uint64_t offset; /* in the heap; 0 without one */
    struct jd_heap *heap;
    int group_size; /* once it is given */
    struct jd_held_segment *next;
};

struct jd_segment_request {
    const char *operation;
    int most; /* members that its group can have */
    int numa_node;
    bool is_alone; /* jd__shm_segment_alone_size(), in plain memory */
};

/* A segment, all zeros as far as it has to be, in the heap, or in plain memory
 * where heap is NULL or the member is alone.
 * Returns: as jd__heap_alloc. */
jd_status jd__segment_take(struct jd_heap *heap,
                           const struct jd_segment_request *request,
                           struct jd_held_segment **ret_held);

/* Of how many members the group was, whose end here is destroyed already; 1:
 * nobody else knows of the block. NULL is allowed. */
void jd__segment_give(struct jd_held_segment *held, int group_size);

/* A group size of which nobody knows when the last of them has left: the block
 * is kept for ever. */
#define JD_CONTROL_NEVER INT32_MAX

/* Looks at those that could not be given back; how many there still are. */
int jd__segment_sweep(void);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * queued.h - how many collectives this process has queued on its GPUs, for
 * each communicator: whoever waits for a GPU learns from the others' numbers
 * who has not queued what it waits for.
 *
 *     jd__queued_mark(comm);                    one whose calls are queued
 *     count = jd__queued_take(told);            a heartbeat takes what is new
 *     calls = jd__queued_calls(id, member);     a wait
 *
 * Threads: any.
 */
#ifndef RUNTIME_RECORDER_QUEUED_H
#define RUNTIME_RECORDER_QUEUED_H

#include "runtime/recorder/ring.h"

enum { JD_QUEUED_MOST = 16 }; /* that one heartbeat tells of */

/* Of a communicator, in which a process may have several members: the fewest
 * calls of these. */
struct jd_queued {
    uint64_t comm; /* jd_ring_comm.id */
    uint64_t calls;
    bool is_over; /* it has been destroyed; it may be made anew */
};

/* Its calls return before they are done. NULL: one that is not recorded, and
 * from then on what is told is not all. */
void jd__queued_mark(const struct jd_ring_comm *comm);

/* Those whose numbers have changed since they were taken last; how many. What
 * has no room is left for the next time. */
int jd__queued_take(struct jd_queued told[JD_QUEUED_MOST]);

/* Whether there is anything to take. */
bool jd__queued_is_new(void);

/* Whether there are communicators that are not told of. */
bool jd__queued_is_partial(void);

/* How many collectives that member of this process has begun; 0: none, or it
 * is not recorded. */
uint64_t jd__queued_calls(uint64_t comm, int member);

/* "jd_psum of 8 x F32 over axis "data" (call 11 there), called at train.c:20",
 * malloc'ed: its collective of that number, from 1; NULL where it is not
 * recorded (any more). Blocks: as jd__site_in(). */
char *jd__queued_describe(uint64_t comm, int member, uint64_t number);

#endif

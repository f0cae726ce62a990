/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * own_ranges.h - the program's own named ranges (jd_trace.h) in its ring: a
 * range is there from its begin on, so that one in which a process was killed
 * is seen by others.
 *
 *     jd__own_ranges_begin(ring, "forward");
 *     jd__own_ranges_end(ring);
 *
 *     while (++number <= last)                              anybody
 *         if (jd__own_ranges_read(ring, number, &range))
 *             puts(ring->own_names[range.name].text);
 *
 * A range whose place was taken by another 4,096 later, as it lasts long, is
 * written anew when it ends.
 *
 * Threads: any; each has a stack of its own.
 */
#ifndef RUNTIME_RECORDER_OWN_RANGES_H
#define RUNTIME_RECORDER_OWN_RANGES_H

#include "runtime/recorder/ring.h"

enum { JD_OWN_RANGES_DEPTH = 32 };

struct jd_own_range {
    uint64_t number;     /* in its process, from 1 */
    uint64_t begin, end; /* nanoseconds; end 0: not ended */
    uint16_t name;       /* its place in ring->own_names */
    uint16_t depth;      /* 0: within no other */
    uint32_t thread;     /* of its process, from 0 */
};

/* What threads have begun and not ended is forgotten. Nobody is in a call. */
void jd__own_ranges_begin_world(void);

/* Of this process's ring; NULL: nothing is recorded. Returns: as
 * jd_trace_begin() and jd_trace_end(). */
jd_status jd__own_ranges_begin(struct jd_ring *ring, const char *name);
jd_status jd__own_ranges_end(struct jd_ring *ring);

/* False where the range was never written, is being written, or has been
 * replaced. */
bool jd__own_ranges_read(const struct jd_ring *ring, uint64_t number,
                         struct jd_own_range *ret_range);

#endif

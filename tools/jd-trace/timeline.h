/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * timeline.h - when calls were, for pictures: nanoseconds since the first
 * recorded time of their clock. Clocks that are not aligned (alignment.h) have
 * nothing in common, so that each begins at 0.
 *
 *     struct timeline timeline;
 *     if (timeline_make(job, &timeline))
 *         ... timeline_span(&timeline, place, call) ...
 */
#ifndef TOOLS_JD_TRACE_TIMELINE_H
#define TOOLS_JD_TRACE_TIMELINE_H

#include "tools/jd-trace/traced.h"

struct timeline {
    const struct traced_job *job;
    double *origins; /* of each process's clock, in its own nanoseconds */
    double length;   /* of the longest clock */
    int num_clocks;
    uint64_t num_untimed; /* calls that have no times */
};

struct timeline_span {
    double begin, end;           /* end <= begin: not known */
    double wait_begin, wait_end; /* alike: it did not wait */
};

/* False without memory. */
bool timeline_make(const struct traced_job *job, struct timeline *timeline);
void timeline_finish(struct timeline *timeline);

/* Of a call of the process in that place of the job. */
struct timeline_span timeline_span(const struct timeline *timeline, int place,
                                   const struct traced_call *call);

/* Of a range of its own; it has no wait. */
struct timeline_span timeline_own_span(const struct timeline *timeline,
                                       int place, const struct traced_own *own);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * alignment.h - the times of all hosts by one clock, that of process 0's host,
 * and how far each may be off.
 *
 *     struct alignment alignment;
 *     if (alignment_make(&job, &alignment))
 *         ... the job's times are those of alignment.clocks[0] ...
 *     alignment_finish(&alignment);
 *
 * A clock of which there are no samples keeps its own times.
 */
#ifndef TOOLS_JD_TRACE_ALIGNMENT_H
#define TOOLS_JD_TRACE_ALIGNMENT_H

#include "tools/jd-trace/traced.h"

struct aligned_clock {
    const char *host; /* of its first process there */
    bool is_aligned;  /* or is the one that the others are aligned to */
    bool jumps;       /* it has contradicted itself: it was stopped, or set */
    int64_t offset;   /* nanoseconds, when its last process was written */
    double error;     /* the largest at any time of a call or range */
};

struct alignment {
    struct aligned_clock *clocks; /* in the order of their first processes */
    int count, num_aligned;
    double error; /* the largest of those that are aligned */
};

/* Changes the job's times, and the clock of each process that is aligned. False
 * without memory. */
bool alignment_make(struct traced_job *job, struct alignment *alignment);
void alignment_finish(struct alignment *alignment);

#endif

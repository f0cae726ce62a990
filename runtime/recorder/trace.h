/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * trace.h - what a process has called, as bytes that mean the same elsewhere
 * and later (trace.proto): texts instead of addresses.
 *
 *     struct jd_trace_about about = { .job = "8f2c...", .host = "node1",
 *                                     .end = "left", .processes = 8 };
 *     size_t size;
 *     void *bytes = jd__trace_pack(ring, &about, &size);
 *
 * Threads: any; the ring may be written meanwhile, and calls that are, or that
 * are replaced, are left out.
 */
#ifndef RUNTIME_RECORDER_TRACE_H
#define RUNTIME_RECORDER_TRACE_H

#include "runtime/recorder/ring.h"

enum { JD_TRACE_VERSION = 1 }; /* of the message */

/* What a ring does not have. */
struct jd_trace_about {
    const char *job, *host, *end;
    int processes, writer;
};

/*
 * malloc'ed, of a process of this host; NULL without memory. Blocks: for
 * JD_TRACE_LINES_SECONDS, in which it looks for the lines of calls; those that
 * it has not come to then have their place in the file alone.
 */
#define JD_TRACE_LINES_SECONDS 0.3
void *jd__trace_pack(const struct jd_ring *ring,
                     const struct jd_trace_about *about, size_t *ret_size);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * jd_trace.h - the program's own named ranges, beside its calls in the recorder
 * (doc/tracing.md): what it did between them, and for how long.
 *
 *     JD_CHECK(jd_trace_begin("forward"));
 *     ...
 *     JD_CHECK(jd_trace_end());
 *
 * They go into the files of JD_TRACE_DIR, which jd-trace reads. A range's times
 * are always taken: the two calls together cost some 100 ns.
 */
#ifndef JD_TRACE_H
#define JD_TRACE_H

#include "jd_status.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Begins a range of that name, within the one that this thread has begun and
 * not ended, if any; up to 32 within one another. The name is copied. The last
 * 4,096 ranges of a process are kept, and 256 different names: leave numbers
 * out of them. With JD_RECORDER=0 it is JD_OK and nothing is recorded.
 *
 * Where it fails nothing has begun, and there is nothing to end.
 *
 * Threads: any; each has its own ranges.
 * Returns: JD_OK; INVALID_ARGUMENT without a name, or for one of more than 63
 *   bytes; RESOURCE_EXHAUSTED for a 33rd within one another or a 257th name;
 *   FAILED_PRECONDITION before jd_initialize() and after jd_shutdown().
 */
JD_API jd_status jd_trace_begin(const char *name);

/*
 * Ends the range that this thread has begun last. Those that are not ended
 * when a process ends last until then.
 *
 * Threads: any.
 * Returns: JD_OK; FAILED_PRECONDITION where this thread has none to end, and
 *   before jd_initialize() and after jd_shutdown().
 */
JD_API jd_status jd_trace_end(void);

#ifdef __cplusplus
}
#endif

#endif

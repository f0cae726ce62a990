/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * trace_columns.h - the calls and own ranges of a trace (trace.proto) while it
 * is made: a column for each field, a place in each for a call.
 *
 *     columns->number[i] = 7;
 *     ...
 *     jd__trace_columns_set(&calls, columns, count);
 */
#ifndef RUNTIME_RECORDER_TRACE_COLUMNS_H
#define RUNTIME_RECORDER_TRACE_COLUMNS_H

#include "runtime/recorder/ring.h"
#include "runtime/recorder/trace.pb-c.h"

/* The type and the name of each. */
#define JD_TRACE_COLUMNS(X)                                                    \
    X(uint64_t, number)                                                        \
    X(uint32_t, name)                                                          \
    X(uint32_t, comm)                                                          \
    X(uint64_t, sequence)                                                      \
    X(uint32_t, dtype)                                                         \
    X(uint64_t, count)                                                         \
    X(uint64_t, rest)                                                          \
    X(uint32_t, site)                                                          \
    X(uint32_t, state)                                                         \
    X(int32_t, status)                                                         \
    X(int64_t, came_ns)                                                        \
    X(int64_t, met_ns)                                                         \
    X(int64_t, left_ns)                                                        \
    X(int32_t, last)                                                           \
    X(uint32_t, gpu)

struct jd_trace_columns {
#define JD_TRACE_COLUMN(type, name) type name[JD_RING_CALLS];
    JD_TRACE_COLUMNS(JD_TRACE_COLUMN)
#undef JD_TRACE_COLUMN
};

/* The message has the first count of each, which stay where they are. */
static inline void jd__trace_columns_set(Jd__TraceCalls *calls,
                                         struct jd_trace_columns *columns,
                                         size_t count)
{
#define JD_TRACE_COLUMN(type, name)                                            \
    calls->n_##name = count;                                                   \
    calls->name = columns->name;
    JD_TRACE_COLUMNS(JD_TRACE_COLUMN)
#undef JD_TRACE_COLUMN
}

/* The same for the program's own ranges. */
#define JD_TRACE_OWN_COLUMNS(X)                                                \
    X(uint32_t, name)                                                          \
    X(uint32_t, thread)                                                        \
    X(uint32_t, depth)                                                         \
    X(int64_t, begin_ns)                                                       \
    X(int64_t, end_ns)

struct jd_trace_own_columns {
#define JD_TRACE_COLUMN(type, name) type name[JD_RING_OWN_RANGES];
    JD_TRACE_OWN_COLUMNS(JD_TRACE_COLUMN)
#undef JD_TRACE_COLUMN
};

static inline void
jd__trace_own_columns_set(Jd__TraceOwnRanges *ranges,
                          struct jd_trace_own_columns *columns, size_t count)
{
#define JD_TRACE_COLUMN(type, name)                                            \
    ranges->n_##name = count;                                                  \
    ranges->name = columns->name;
    JD_TRACE_OWN_COLUMNS(JD_TRACE_COLUMN)
#undef JD_TRACE_COLUMN
}

#endif

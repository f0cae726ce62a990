/* SPDX-License-Identifier: BSD-3-Clause */
/* jd_trace.h - what jd-trace's reports are made of. */
#ifndef TOOLS_JD_TRACE_JD_TRACE_H
#define TOOLS_JD_TRACE_JD_TRACE_H

#include "tools/jd-trace/alignment.h"
#include "tools/jd-trace/culprit.h"
#include "tools/jd-trace/figures.h"
#include "tools/jd-trace/own_figures.h"

struct analysis {
    struct traced_job job;
    struct alignment alignment;
    struct parting_list partings;
    struct group_list culprits;
    struct group_list ends; /* of those that did not just leave */
    struct figures figures;
    struct own_figures own; /* of the program's own ranges */
    int top; /* rows of each table */
};

/* For people, on standard output. */
void jd_trace_print_text(const struct analysis *analysis);
/* The same as one JSON object. */
void jd_trace_print_json(const struct analysis *analysis);
/* Trace Event format, which Perfetto and chrome://tracing read. False without
 * memory. */
bool jd_trace_write_perfetto(const struct analysis *analysis, FILE *out);
/* A row for each process. False without memory. */
bool jd_trace_write_svg(const struct analysis *analysis, FILE *out);

#endif

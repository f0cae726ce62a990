/* SPDX-License-Identifier: BSD-3-Clause */
/* figures.h - for whom others waited, and each call site's calls and waits. */
#ifndef TOOLS_JD_TRACE_FIGURES_H
#define TOOLS_JD_TRACE_FIGURES_H

#include "tools/jd-trace/traced.h"

enum { FIGURES_SITES = 3 }; /* of a straggler */

/* A process that others waited for. */
struct straggler {
    int process;
    double waited; /* by all others together, seconds */
    struct {
        uint32_t name, site;
        double waited;
    } sites[FIGURES_SITES]; /* of those who waited; the longest first */
    int num_sites;
};

struct site_figures {
    uint32_t name, site;
    uint64_t calls, waits; /* those whose wait is known */
    double bytes;
    double waited, median, worst; /* seconds */
    int last;                     /* most often the last; -1: not known */
    uint64_t times_last;
};

struct figures {
    struct straggler *stragglers; /* the most waited for first */
    struct site_figures *sites;   /* the longest waits first */
    int num_stragglers, num_sites;
};

/* False without memory. */
bool figures_make(const struct traced_job *job, struct figures *figures);
void figures_finish(struct figures *figures);

#endif

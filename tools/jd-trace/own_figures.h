/* SPDX-License-Identifier: BSD-3-Clause */
/* own_figures.h - how long the program's own ranges of each name lasted. */
#ifndef TOOLS_JD_TRACE_OWN_FIGURES_H
#define TOOLS_JD_TRACE_OWN_FIGURES_H

#include "tools/jd-trace/traced.h"

/* Seconds, of those that were ended; of all processes together. */
struct own_figure {
    uint32_t name;
    uint64_t count, num_open; /* ended, and not */
    double sum, median, worst;
    int process; /* that had the worst; -1: none was ended */
};

struct own_figures {
    struct own_figure *figures; /* the longest sum first */
    int count;
};

/* False without memory. */
bool own_figures_make(const struct traced_job *job,
                      struct own_figures *figures);
void own_figures_finish(struct own_figures *figures);

#endif

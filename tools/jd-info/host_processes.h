/* SPDX-License-Identifier: BSD-3-Clause */
/* host_processes.h - a job's processes by host, each host's by their index. */
#ifndef TOOLS_JD_INFO_HOST_PROCESSES_H
#define TOOLS_JD_INFO_HOST_PROCESSES_H

#include "runtime/topology/topology.h"

#include <stdbool.h>

/* Those of host h are order[first[h]] to order[first[h + 1] - 1]. */
struct host_processes {
    int *order;
    int *first;
};

/* Returns false where memory has run out; to be freed all the same. */
bool host_processes_make(struct host_processes *processes,
                         const struct jd_topology *topology);
void host_processes_free(struct host_processes *processes);

static inline int host_processes_count(const struct host_processes *processes,
                                       int host)
{
    return processes->first[host + 1] - processes->first[host];
}

static inline const int *
host_processes_of(const struct host_processes *processes, int host)
{
    return processes->order + processes->first[host];
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* host_processes.c - which processes are on which host. */
#include "tools/jd-info/host_processes.h"

#include <stdlib.h>

bool host_processes_make(struct host_processes *processes,
                         const struct jd_topology *t)
{
    int *order = calloc((size_t)t->num_processes, sizeof *order);
    int *first = calloc((size_t)t->num_hosts + 1, sizeof *first);
    *processes = (struct host_processes){ order, first };
    if (!order || !first)
        return false;
    for (int i = 0; i < t->num_hosts; i++)
        first[i + 1] = first[i] + t->hosts[i].num_processes;
    for (int i = 0; i < t->num_processes; i++) {
        const struct jd_process_info *p = &t->processes[i];
        order[first[p->host] + p->local_index] = i;
    }
    return true;
}

void host_processes_free(struct host_processes *processes)
{
    free(processes->order);
    free(processes->first);
}

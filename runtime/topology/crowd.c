/* SPDX-License-Identifier: BSD-3-Clause */
/* crowd.c - whether processes wait for each other's processors. */
#include "runtime/topology/crowd.h"

#include <stdlib.h>

/* Where a process is. */
struct spot {
    uint32_t machine; /* the text of its boot, or what no text's number is */
    int32_t threads;  /* that its host may use */
};

static struct spot spot_of(const struct jd_topology *topology, int process)
{
    int number = topology->processes[process].host;
    const struct jd_host *host = &topology->hosts[number];
    bool is_known = jd__topology_text(topology, host->boot_id)[0];
    return (struct spot){
        .machine = is_known ? host->boot_id : UINT32_MAX - (uint32_t)number,
        .threads = host->cores_allowed,
    };
}

/* By machine, and of one the widest view first. */
static int compare_spots(const void *a, const void *b)
{
    const struct spot *left = a, *right = b;
    if (left->machine != right->machine)
        return left->machine < right->machine ? -1 : 1;
    return (left->threads < right->threads) - (left->threads > right->threads);
}

static bool find_crowd(const struct spot *spots, int count)
{
    int first = 0;
    for (int i = 0; i < count; i++) {
        if (spots[i].machine != spots[first].machine)
            first = i;
        if (spots[first].threads > 0 && i - first >= spots[first].threads)
            return true;
    }
    return false;
}

jd_status jd__crowd_find(const struct jd_topology *topology,
                         const int *processes, int count, const char *operation,
                         bool *ret_is_crowded)
{
    size_t bytes = (size_t)count * sizeof(struct spot);
    struct spot *spots = malloc(bytes);
    if (!spots)
        return jd__fail_no_memory(operation, bytes);
    for (int i = 0; i < count; i++)
        spots[i] = spot_of(topology, processes[i]);
    qsort(spots, (size_t)count, sizeof *spots, compare_spots);
    *ret_is_crowded = find_crowd(spots, count);
    free(spots);
    return JD_OK;
}

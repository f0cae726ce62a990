/* SPDX-License-Identifier: BSD-3-Clause */
/* crowd.c - whether processes wait for each other's processors. */
#include "runtime/topology/crowd.h"

#include <stdlib.h>

/* Where a process is. */
struct spot {
    uint32_t machine; /* the text of its boot, or what no text's number is */
    int32_t host;
};

static struct spot spot_of(const struct jd_topology *topology, int process)
{
    int host = topology->processes[process].host;
    uint32_t boot_id = topology->hosts[host].boot_id;
    bool is_known = jd__topology_text(topology, boot_id)[0];
    return (struct spot){ is_known ? boot_id : UINT32_MAX - (uint32_t)host,
                          host };
}

static int compare_spots(const void *a, const void *b)
{
    const struct spot *left = a, *right = b;
    if (left->machine != right->machine)
        return left->machine < right->machine ? -1 : 1;
    return (left->host > right->host) - (left->host < right->host);
}

/* How many hardware threads the hosts of a machine's processes have together;
 * 0: it is not known. Containers may have their own, or all of them the same,
 * but no more than there are. */
static int64_t threads_of(const struct jd_topology *topology,
                          const struct spot *spots, int count)
{
    int64_t sum = 0, most = 0;
    for (int i = 0; i < count; i++) {
        const struct jd_host *host = &topology->hosts[spots[i].host];
        if (host->cores_allowed <= 0)
            return 0;
        if (i == 0 || spots[i].host != spots[i - 1].host)
            sum += host->cores_allowed;
        if (host->num_threads > most)
            most = host->num_threads;
    }
    return most > 0 && sum > most ? most : sum;
}

/* How many of the first spots are on one machine. */
static int count_machine(const struct spot *spots, int count)
{
    int same = 0;
    while (same < count && spots[same].machine == spots[0].machine)
        same++;
    return same;
}

static bool is_crowd(const struct jd_topology *topology,
                     const struct spot *spots, int count)
{
    for (int same; count; spots += same, count -= same) {
        same = count_machine(spots, count);
        int64_t threads = threads_of(topology, spots, same);
        if (threads && same > threads)
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
    *ret_is_crowded = is_crowd(topology, spots, count);
    free(spots);
    return JD_OK;
}

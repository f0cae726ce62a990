/* SPDX-License-Identifier: BSD-3-Clause */
/* mesh_order.c - the order of a mesh's devices where none is given. */
#include "collectives/mesh/mesh.h"

#include <stdlib.h>

/* What a device is ordered by, the first member first. */
struct mesh_place {
    int slice; /* the lowest one of its host */
    int host;
    int number; /* in the platform's list: by process, then ordinal */
};

static int compare_places(const void *one, const void *other)
{
    const struct mesh_place *a = one, *b = other;
    if (a->slice != b->slice)
        return a->slice < b->slice ? -1 : 1;
    if (a->host != b->host)
        return a->host < b->host ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

/* The lowest slice of each host. */
static void find_slices(const struct jd_topology *topology, int *ret_slices)
{
    for (int i = 0; i < topology->num_hosts; i++)
        ret_slices[i] = topology->num_slices;
    for (int i = 0; i < topology->num_processes; i++) {
        const struct jd_process_info *process = &topology->processes[i];
        if (process->slice < ret_slices[process->host])
            ret_slices[process->host] = process->slice;
    }
}

static jd_status order_by_host(const struct jd_topology *topology,
                               const jd_device **ret_devices)
{
    const struct jd_device_list *list = &topology->platforms[0];
    struct mesh_place *places = calloc((size_t)list->count + 1, sizeof *places);
    int *slices = calloc((size_t)topology->num_hosts + 1, sizeof *slices);
    if (!places || !slices) {
        free(places);
        free(slices);
        return jd__fail_no_memory("jd_mesh_create",
                                  (size_t)list->count * sizeof *places);
    }
    find_slices(topology, slices);
    for (int i = 0; i < list->count; i++) {
        int process = list->devices[i]->process_index;
        int host = topology->processes[process].host;
        places[i] = (struct mesh_place){ slices[host], host, i };
    }
    qsort(places, (size_t)list->count, sizeof *places, compare_places);
    for (int i = 0; i < list->count; i++)
        ret_devices[i] = list->devices[places[i].number];
    free(places);
    free(slices);
    return JD_OK;
}

/* Whoever makes one dimension of all devices counts by processes: an MPI
 * program's rank, its neighbours and what it gathers have to be the same. Of
 * several, the last one is to stay inside a host. */
jd_status jd__mesh_order_devices(const struct jd_topology *topology, int ndim,
                                 const jd_device **ret_devices)
{
    const struct jd_device_list *list = &topology->platforms[0];
    if (ndim > 1)
        return order_by_host(topology, ret_devices);
    for (int i = 0; i < list->count; i++)
        ret_devices[i] = list->devices[i];
    return JD_OK;
}

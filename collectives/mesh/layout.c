/* SPDX-License-Identifier: BSD-3-Clause */
/* layout.c - which processes a communicator's members live in. */
#include "collectives/mesh/layout.h"

#include <stdlib.h>

enum { NUM_ARRAYS = 7 };

static struct jd_layout *allocate_layout(int size)
{
    size_t each = (size_t)size * sizeof(int);
    struct jd_layout *layout = calloc(1, sizeof *layout + NUM_ARRAYS * each);
    if (!layout)
        return NULL;
    int *array = (int *)(layout + 1);
    int **arrays[NUM_ARRAYS] = {
        &layout->processes, &layout->counts,  &layout->lowest,  &layout->owners,
        &layout->numbers,   &layout->devices, &layout->members,
    };
    for (int i = 0; i < NUM_ARRAYS; i++, array += size)
        *arrays[i] = array;
    layout->size = size;
    return layout;
}

/* known: by process index, its number and one; 0: not seen yet. */
static int number_of(struct jd_layout *layout, const jd_device *device,
                     int *known)
{
    int process = device->process_index;
    if (known[process] == 0) {
        layout->processes[layout->num_processes] = process;
        layout->lowest[layout->num_processes] = device->local_ordinal;
        known[process] = ++layout->num_processes;
    }
    return known[process] - 1;
}

static void add_member(struct jd_layout *layout, int member,
                       const jd_device *device, int *known)
{
    int owner = number_of(layout, device, known);
    layout->owners[member] = owner;
    layout->numbers[member] = layout->counts[owner]++;
    if (layout->counts[owner] > layout->most)
        layout->most = layout->counts[owner];
    if (device->local_ordinal < layout->lowest[owner])
        layout->lowest[owner] = device->local_ordinal;
}

static void list_own(struct jd_layout *layout, const struct jd_comm_spec *spec)
{
    layout->self = layout->owners[spec->index];
    for (int i = 0; i < spec->size; i++) {
        if (layout->owners[i] != layout->self)
            continue;
        layout->devices[layout->numbers[i]] = spec->members[i]->local_ordinal;
        layout->members[layout->numbers[i]] = i;
    }
}

jd_status jd__layout_create(const struct jd_comm_spec *spec,
                            struct jd_layout **ret_layout)
{
    size_t world = (size_t)spec->runtime->world.count;
    struct jd_layout *layout = allocate_layout(spec->size);
    int *known = calloc(world, sizeof *known);
    if (!layout || !known) {
        free(layout);
        free(known);
        return jd__fail_no_memory(spec->operation, world * sizeof *known);
    }
    for (int i = 0; i < spec->size; i++)
        add_member(layout, i, spec->members[i], known);
    free(known);
    list_own(layout, spec);
    *ret_layout = layout;
    return JD_OK;
}

void jd__layout_destroy(struct jd_layout *layout)
{
    free(layout);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* host_box.c - the part of a mesh that a process has. */
#include "arrays/array/host_box.h"

#include <stdio.h>
#include <stdlib.h>

/* What is found of one process: how far its devices reach. */
struct reach {
    int process;
    int count; /* of its devices */
    int first[JD_MAX_AXES];
    int last[JD_MAX_AXES];
};

static int compare_reaches(const void *one, const void *other)
{
    const struct reach *a = one, *b = other;
    return a->process < b->process ? -1 : a->process > b->process;
}

/* One for each place, its device's process alone, by process. */
static struct reach *list_reaches(const jd_sharding *sharding)
{
    size_t count = (size_t)sharding->num_devices;
    struct reach *reaches = malloc(count * sizeof *reaches);
    int at[JD_MAX_AXES] = { 0 };
    for (size_t i = 0; reaches && i < count; i++) {
        reaches[i].process = sharding->devices[i]->process_index;
        reaches[i].count = 1;
        for (int a = 0; a < sharding->num_axes; a++)
            reaches[i].first[a] = reaches[i].last[a] = at[a];
        for (int a = sharding->num_axes - 1; a >= 0; a--) {
            if (++at[a] < sharding->axis_sizes[a])
                break;
            at[a] = 0;
        }
    }
    if (reaches)
        qsort(reaches, count, sizeof *reaches, compare_reaches);
    return reaches;
}

/* Joins those of one process; gives how many processes there are. */
static int join_reaches(const jd_sharding *sharding, struct reach *reaches)
{
    int used = 0;
    for (int i = 0; i < sharding->num_devices; i++) {
        struct reach *last = used ? &reaches[used - 1] : NULL;
        if (!last || last->process != reaches[i].process) {
            reaches[used++] = reaches[i];
            continue;
        }
        last->count++;
        for (int a = 0; a < sharding->num_axes; a++) {
            int at = reaches[i].first[a];
            last->first[a] = at < last->first[a] ? at : last->first[a];
            last->last[a] = at > last->last[a] ? at : last->last[a];
        }
    }
    return used;
}

/* ---- is each a box, and all alike --------------------------------------- */

static int size_along(const struct reach *reach, int axis)
{
    return reach->last[axis] - reach->first[axis] + 1;
}

/* "\"data\" 2 x \"model\" 3": how far it reaches along each axis. */
static void print_reach(const jd_sharding *sharding, const struct reach *reach,
                        char *text, size_t size)
{
    size_t used = 0;
    for (int a = 0; a < sharding->num_axes && used < size; a++)
        used += (size_t)snprintf(text + used, size - used, "%s\"%s\" %d",
                                 a ? " x " : "", sharding->axis_names[a],
                                 size_along(reach, a));
}

static jd_status check_box(const char *operation, const jd_sharding *sharding,
                           const struct reach *reach)
{
    char text[512];
    int places = 1;
    for (int a = 0; a < sharding->num_axes; a++)
        places *= size_along(reach, a);
    if (places == reach->count)
        return JD_OK;
    print_reach(sharding, reach, text, sizeof text);
    return jd_fail(JD_INVALID_ARGUMENT,
                   "%s: the %d devices of process %d are no box of the mesh: "
                   "they reach over %s places; order the mesh's devices so "
                   "that each process's are neighbours, or use "
                   "jd_array_from_process_local_data()",
                   operation, reach->count, reach->process, text);
}

static jd_status check_alike(const char *operation, const jd_sharding *sharding,
                             const struct reach *reach,
                             const struct reach *first)
{
    char text[512], first_text[512];
    bool is_alike = true;
    for (int a = 0; a < sharding->num_axes; a++)
        is_alike = is_alike && size_along(reach, a) == size_along(first, a);
    if (is_alike)
        return JD_OK;
    print_reach(sharding, reach, text, sizeof text);
    print_reach(sharding, first, first_text, sizeof first_text);
    return jd_fail(JD_INVALID_ARGUMENT,
                   "%s: process %d has %s places of the mesh, process %d %s; "
                   "boxes are alike on all processes: use "
                   "jd_array_from_process_local_data() where they are not",
                   operation, reach->process, text, first->process, first_text);
}

/* Of the processes that were found. */
static jd_status choose_box(const char *operation, const jd_sharding *sharding,
                            const struct reach *reaches, int count, int process,
                            struct jd_host_box *ret_box)
{
    const struct reach *own = NULL;
    jd_status status = JD_OK;
    for (int i = 0; i < count && status == JD_OK; i++) {
        own = reaches[i].process == process ? &reaches[i] : own;
        status = check_box(operation, sharding, &reaches[i]);
    }
    for (int i = 1; i < count && status == JD_OK; i++)
        status = check_alike(operation, sharding, &reaches[i], &reaches[0]);
    if (status != JD_OK)
        return status;
    if (!own)
        return jd_fail(JD_INVALID_ARGUMENT,
                       "%s: process %d has no device in the mesh, and so no "
                       "part of the array; let it not call",
                       operation, process);
    for (int a = 0; a < sharding->num_axes; a++) {
        ret_box->begin[a] = own->first[a];
        ret_box->size[a] = size_along(own, a);
    }
    return JD_OK;
}

jd_status jd__host_box_find(const char *operation, const jd_sharding *sharding,
                            int process, struct jd_host_box *ret_box)
{
    struct reach *reaches = list_reaches(sharding);
    if (!reaches)
        return jd__fail_no_memory(operation, (size_t)sharding->num_devices *
                                                 sizeof *reaches);
    int count = join_reaches(sharding, reaches);
    jd_status status =
        choose_box(operation, sharding, reaches, count, process, ret_box);
    free(reaches);
    return status;
}

/* ---- blocks ------------------------------------------------------------- */

int jd__host_box_ways(const struct jd_host_box *box, const struct jd_cut *cut)
{
    int ways = 1;
    for (int i = 0; i < cut->axes.count; i++)
        ways *= box->size[cut->axes.axis[i]];
    return ways;
}

static int coordinate_of(const jd_sharding *sharding, int place, int axis)
{
    for (int a = sharding->num_axes - 1; a > axis; a--)
        place /= sharding->axis_sizes[a];
    return place % sharding->axis_sizes[axis];
}

int jd__host_box_number(const struct jd_host_box *box,
                        const jd_sharding *sharding, const struct jd_cut *cut,
                        int place)
{
    int number = 0;
    for (int i = 0; i < cut->axes.count; i++) {
        int axis = cut->axes.axis[i];
        int at = coordinate_of(sharding, place, axis) - box->begin[axis];
        number = number * box->size[axis] + at;
    }
    return number;
}

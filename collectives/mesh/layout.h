/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * layout.h - which processes a communicator's members live in.
 *
 *     struct jd_layout *layout;
 *     status = jd__layout_create(spec, &layout);
 *     ... layout->processes[layout->owners[member]] ...
 *
 * The same on all members but for self. Threads: immutable once made.
 */
#ifndef COLLECTIVES_MESH_LAYOUT_H
#define COLLECTIVES_MESH_LAYOUT_H

#include "collectives/platform/platform.h"

struct jd_layout {
    int size;          /* members */
    int num_processes; /* numbered in the order of their first members */
    int self;          /* this process's number */
    int most;          /* members in one process */
    int *processes;    /* the index of each process */
    int *counts;       /* its members */
    int *lowest;       /* the lowest local ordinal among them */
    int *owners;       /* by member: the number of its process */
    int *numbers;      /* by member: which of its process's it is */
    int *devices;      /* of this process's members: their local ordinals */
    int *members;      /* and their places among all members */
};

/* Returns JD_OK; RESOURCE_EXHAUSTED naming the spec's operation. */
jd_status jd__layout_create(const struct jd_comm_spec *spec,
                            struct jd_layout **ret_layout);
void jd__layout_destroy(struct jd_layout *layout);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * comm_handle.h - one device's end of a communicator on the cpu platform: who
 * its members are, who of them share memory (a group), and how the others are
 * reached (the wire). Collectives see it; comm.h makes it.
 */
#ifndef COLLECTIVES_CPU_INTER_COMM_HANDLE_H
#define COLLECTIVES_CPU_INTER_COMM_HANDLE_H

#include "collectives/channel/channel.h"
#include "collectives/cpu/shm/shm.h"

#include <stdatomic.h>

struct jd_comm {
    const struct jd_runtime *runtime;
    int size;
    int index;
    const int *processes; /* of each member */
    const int *groups;    /* the number of each member's group; groups are
                           * numbered in the order of their first members */
    const int *places;    /* each member's number in its group, by member */
    int num_groups;
    bool is_deterministic;      /* JD_DETERMINISTIC */
    struct jd_shm_group *group; /* this member's, of one where it is alone */
    struct jd_channel *wire; /* messages between any two members, as bytes, each
                              * pair with a tag of its own; NULL where there is
                              * one group */
    struct jd_inter *inter;  /* inter.h's; NULL where there is one group */
    atomic_bool is_aborted;  /* ends the waits on the wire */
};

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * host_group.h - the processes that can open each other's files by way of
 * /proc: those of one host, one pid namespace and one user; and the first of
 * each such group, its leader. While the job starts, a leader has all
 * processes' records, for its group to share what is made of them.
 *
 *     struct jd_host_group group;
 *     status = jd__host_group_open(&world, &facts, true, &group);
 *     jd__host_group_close(&group);
 *
 * A process that is alone in its group is its leader. Whom a group has by
 * chance (a digest tells them apart) cannot open the leader's file, and gets a
 * copy: everything works with any groups.
 */
#ifndef RUNTIME_TOPOLOGY_HOST_GROUP_H
#define RUNTIME_TOPOLOGY_HOST_GROUP_H

#include "runtime/mpi/world.h"
#include "runtime/topology/host.h"

#include <stdbool.h>

struct jd_host_group {
    int index; /* in the group; the leader is 0 */
    int count;
    int num_leaders;  /* of all groups; a leader knows it */
    MPI_Comm comm;    /* MPI_COMM_NULL where it is alone */
    MPI_Comm leaders; /* MPI_COMM_NULL where there is one, or it is none */
};

/*
 * shares: the process may be in a group with others. Collective over the world.
 * Blocks: until all have come; the watchdog of jd_initialize() ends that.
 * Returns: JD_OK; INTERNAL when MPI fails. A world without MPI is one group.
 */
jd_status jd__host_group_open(const struct jd_world *world,
                              const struct jd_local_facts *facts, bool shares,
                              struct jd_host_group *ret_group);

/* Frees the communicators, unless MPI is finalised. Collective over the world.
 */
void jd__host_group_close(struct jd_host_group *group);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * comm.h - one device's end of a communicator on the cpu platform: made, and
 * taken down. What is in one, comm_handle.h says.
 *
 * Making one, by its members alone (comm.c, bootstrap.c):
 *   1. The members of one process come together in its rendezvous; the last to
 *      come speaks for all.
 *   2. The processes' leaders merge by MPI what they believe that the
 *      communicator is, and hear where each one's tags begin.
 *   3. Those of a host that have memory to share tell each other where it and
 *      their members' segments are; each maps the others', says which it could,
 *      and they derive their groups from that: members whose processes can all
 *      see each other.
 *   4. All hear which process is the first of each one's group.
 * A world of one process makes no MPI call.
 */
#ifndef COLLECTIVES_CPU_COMM_H
#define COLLECTIVES_CPU_COMM_H

#include "collectives/cpu/inter/comm_handle.h"
#include "collectives/platform/platform.h"

/* struct jd_platform's comm_create, comm_destroy, comm_abort
 * and comm_find_failed. */
jd_status jd__comm_create(const struct jd_comm_spec *spec,
                          struct jd_comm **ret_comm);
void jd__comm_destroy(struct jd_comm *comm);
void jd__comm_abort(struct jd_comm *comm);
int jd__comm_find_failed(const struct jd_comm *comm);

#endif

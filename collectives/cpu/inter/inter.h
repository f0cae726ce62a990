/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * inter.h - the cpu platform's collectives among members of several groups:
 * data goes between the groups as bytes, by MPI, and jd's own folds do the
 * arithmetic.
 *
 *     comm->wire = ...; comm->num_groups = 2;
 *     status = jd__inter_create(comm, "jd_psum");
 *     ...
 *     status = jd__inter_all_reduce(comm, &call, JD_REDUCE_SUM);
 *     ...
 *     jd__inter_destroy(comm);
 *
 * The functions are those of struct jd_platform, and keep its promises. Each
 * but transfer begins with a meeting of all members, where what they call is
 * compared; what fits into it needs no second message. Waits have the
 * collective deadline, and name the processes that are missing.
 *
 * Where a member fails in the middle, it revokes its group and the wire is not
 * used again: the others of its group return ABORTED at once, those of other
 * groups at their deadline, or when the process has died.
 */
#ifndef COLLECTIVES_CPU_INTER_INTER_H
#define COLLECTIVES_CPU_INTER_INTER_H

#include "collectives/cpu/inter/comm_handle.h"
#include "collectives/platform/platform.h"

/*
 * Makes what the collectives need beside the group and the wire:
 * communicator->between. No communication.
 * Returns: JD_OK; RESOURCE_EXHAUSTED naming operation.
 */
jd_status jd__inter_create(struct jd_comm *comm, const char *operation);
/* Before the wire is destroyed. Never waits. */
void jd__inter_destroy(struct jd_comm *comm);

jd_status jd__inter_barrier(struct jd_comm *comm,
                            const struct jd_collective *call);
jd_status jd__inter_all_reduce(struct jd_comm *comm,
                               const struct jd_collective *call,
                               enum jd_reduce op);
jd_status jd__inter_reduce_scatter(struct jd_comm *comm,
                                   const struct jd_collective *call,
                                   enum jd_reduce op, size_t rows);
jd_status jd__inter_all_gather(struct jd_comm *comm,
                               const struct jd_collective *call, size_t rows);
jd_status jd__inter_all_to_all(struct jd_comm *comm,
                               const struct jd_collective *call,
                               const struct jd_pieces *pieces);
jd_status jd__inter_ragged(struct jd_comm *comm,
                           const struct jd_collective *call,
                           const struct jd_ragged *ragged);
jd_status jd__inter_permute(struct jd_comm *comm,
                            const struct jd_collective *call,
                            const struct jd_permute *permute);
jd_status jd__inter_broadcast(struct jd_comm *comm,
                              const struct jd_collective *call, int source);
jd_status jd__inter_transfer(struct jd_comm *comm,
                             const struct jd_transfer *transfers, int count);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * inter.h - the cpu platform's collectives among members of several teams:
 * data goes between the teams as bytes, by MPI, and jd's own folds do the
 * arithmetic.
 *
 *     clique->wire = ...; clique->num_teams = 2;
 *     status = jd__between_create(clique, "jd_psum");
 *     ...
 *     status = jd__between_all_reduce(clique, &call, JD_REDUCE_SUM);
 *     ...
 *     jd__between_destroy(clique);
 *
 * The functions are those of struct jd_platform, and keep its promises. Each
 * but transfer begins with a meeting of all members, where what they call is
 * compared; what fits into it needs no second message. Waits have the
 * collective deadline, and name the processes that are missing.
 *
 * Where a member fails in the middle, it revokes its team and the wire is not
 * used again: the others of its team return ABORTED at once, those of other
 * teams at their deadline, or when the process has died.
 */
#ifndef COLLECTIVES_CPU_INTER_INTER_H
#define COLLECTIVES_CPU_INTER_INTER_H

#include "collectives/cpu/inter/comm_handle.h"
#include "collectives/platform/platform.h"

/*
 * Makes what the collectives need beside the team and the wire:
 * clique->between. No communication.
 * Returns: JD_OK; RESOURCE_EXHAUSTED naming operation.
 */
jd_status jd__between_create(struct jd_clique *clique, const char *operation);
/* Before the wire is destroyed. Never waits. */
void jd__between_destroy(struct jd_clique *clique);

jd_status jd__between_barrier(struct jd_clique *clique,
                              const struct jd_collective *call);
jd_status jd__between_all_reduce(struct jd_clique *clique,
                                 const struct jd_collective *call,
                                 enum jd_reduce op);
jd_status jd__between_reduce_scatter(struct jd_clique *clique,
                                     const struct jd_collective *call,
                                     enum jd_reduce op, size_t rows);
jd_status jd__between_all_gather(struct jd_clique *clique,
                                 const struct jd_collective *call, size_t rows);
jd_status jd__between_all_to_all(struct jd_clique *clique,
                                 const struct jd_collective *call,
                                 const struct jd_pieces *pieces);
jd_status jd__between_ragged(struct jd_clique *clique,
                             const struct jd_collective *call,
                             const struct jd_ragged *ragged);
jd_status jd__between_permute(struct jd_clique *clique,
                              const struct jd_collective *call,
                              const struct jd_permute *permute);
jd_status jd__between_broadcast(struct jd_clique *clique,
                                const struct jd_collective *call, int source);
jd_status jd__between_transfer(struct jd_clique *clique,
                               const struct jd_transfer *transfers, int count);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shm_move.h - collectives inside a group that only move bytes.
 *
 *     struct jd_shm_move move = jd__shm_move_all_gather(group, call, rows);
 *     void *payload = jd__shm_payload_space(group);
 *     size_t bytes = jd__shm_move_tell(group, &move, payload);
 *     ... jd__shm_meet(group, &signature, payload, bytes), compared ...
 *     status = jd__shm_move_run(group, &move);
 *
 * What fits into a payload travels there, and nothing else is waited for.
 * Longer streams: shm_flow.h. Between telling and running nothing of in may
 * change. A member's return means that its in may be written and its out is
 * complete.
 *
 * Members of a larger set, of whom only some are a group, make a struct
 * jd_shm_move of their own, with the numbers of their blocks.
 *
 * Threads and failures: as shm.h.
 */
#ifndef COLLECTIVES_CPU_SHM_SHM_MOVE_H
#define COLLECTIVES_CPU_SHM_SHM_MOVE_H

#include "collectives/cpu/shm/shm.h"
#include "collectives/kernels/strided.h"
#include "collectives/platform/platform.h"

#include <stdbool.h>
#include <stddef.h>

/* Instead of a member. */
enum { JD_MOVE_NONE = -1, JD_MOVE_ALL = -2 };

/*
 * Member i's stream to member j is the block of `in` that begins number(j) *
 * in_step bytes after in.base, and goes to number(i) * out_step after out.base.
 * Blocks have the same rows and width everywhere.
 */
struct jd_shm_move {
    struct jd_strided in, out;
    size_t in_step; /* 0: all get the same */
    size_t out_step;
    const int *number; /* of each member of the group; NULL: 0, 1, ... */
    int to;            /* who gets something of this member */
    int from;          /* of whom this member gets something */
    bool overwrites;   /* out lies over in, block by block */
    bool clears;       /* out becomes zero where from is JD_MOVE_NONE */
};

/* The four of platform.h, for a group that is the whole communicator. */
struct jd_shm_move jd__shm_move_all_gather(const struct jd_shm_group *group,
                                           const struct jd_collective *call,
                                           size_t rows);
struct jd_shm_move jd__shm_move_all_to_all(const struct jd_shm_group *group,
                                           const struct jd_collective *call,
                                           const struct jd_pieces *pieces);
struct jd_shm_move jd__shm_move_permute(const struct jd_shm_group *group,
                                        const struct jd_collective *call,
                                        const struct jd_permute *permute);
struct jd_shm_move jd__shm_move_broadcast(const struct jd_shm_group *group,
                                          const struct jd_collective *call,
                                          int source);

/* Writes what the others have to know, at most JD_SHM_PAYLOAD bytes, and
 * gives what can be given already. */
size_t jd__shm_move_tell(struct jd_shm_group *group,
                         const struct jd_shm_move *move, void *payload);

/* After the meeting. Returns: as jd__shm_await_all; INTERNAL and UNAVAILABLE
 * where a member's buffer cannot be read. */
jd_status jd__shm_move_run(struct jd_shm_group *group,
                           const struct jd_shm_move *move);

/*
 * platform.h's ragged_all_to_all: the same two parts. per_member is the same on
 * all, which the signatures say.
 * Returns: as jd__shm_move_run; INVALID_ARGUMENT on all members naming the
 *   pair, RESOURCE_EXHAUSTED on all naming the member; nothing is written then.
 */
size_t jd__shm_move_tell_ragged(struct jd_shm_group *group,
                                const struct jd_collective *call,
                                const struct jd_ragged *ragged, void *payload);
jd_status jd__shm_move_run_ragged(struct jd_shm_group *group,
                                  const struct jd_collective *call,
                                  const struct jd_ragged *ragged);

#endif

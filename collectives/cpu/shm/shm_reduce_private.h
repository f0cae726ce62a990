/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shm_reduce_private.h - a reduction under way, for the files of its name.
 * Each way is called by all members alike, after the meeting.
 */
#ifndef COLLECTIVES_CPU_SHM_SHM_REDUCE_PRIVATE_H
#define COLLECTIVES_CPU_SHM_SHM_REDUCE_PRIVATE_H

#include "collectives/cpu/shm/shm_private.h"
#include "collectives/cpu/shm/shm_reduce.h"

/* What a member tells: where its buffers are, or the data itself. */
struct jd_told {
    uint64_t in;  /* JD_PLACE_INLINE: the data follow */
    uint64_t out; /* the rest is not there where in is JD_PLACE_INLINE */
    /* Of private buffers that the others may read; else 0. */
    uint64_t in_address;
    uint64_t out_address;
};
#define JD_PLACE_INLINE (JD_PLACE_PRIVATE - 1)

/* A reduction, in numbers that all members agree on. */
struct jd_reduce_plan {
    struct jd_team *team;
    const struct jd_team_reduction *r;
    size_t element, in_bytes, out_bytes, block; /* r's */
};

static inline const struct jd_told *jd__told_by(const struct jd_team *team,
                                                int member)
{
    return jd__team_payload(team, member);
}

/* Folds count elements of the team's ins into its first num_outs outs. */
void jd__reduce_fold(const struct jd_reduce_plan *plan, int num_outs,
                     size_t count, bool streams);

/* Elements [begin, begin + count) of the block, which are this member's share
 * of an all_reduce: cut at cache lines. */
void jd__reduce_share(const struct jd_reduce_plan *plan, int member,
                      size_t *ret_begin, size_t *ret_count);

/* Through the members' bounce memory, in pieces. */
jd_status jd__reduce_bounce(const struct jd_reduce_plan *plan);

/*
 * Each member reads its share of the others' inputs, out of their processes
 * where they are not mapped, and then their results. Whether all told enough
 * for that, and the call is one that gains by it.
 */
bool jd__reduce_is_seen(const struct jd_reduce_plan *plan);
jd_status jd__reduce_by_sight(const struct jd_reduce_plan *plan);

#endif

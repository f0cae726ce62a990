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
struct jd_shm_reduce_desc {
    uint64_t in;  /* JD_PLACE_INLINE: the data follow */
    uint64_t out; /* the rest is not there where in is JD_PLACE_INLINE */
    /* Of private buffers that the others may read; else 0. */
    uint64_t in_address;
    uint64_t out_address;
};
#define JD_PLACE_INLINE (JD_PLACE_PRIVATE - 1)

/* A reduction, in numbers that all members agree on. */
struct jd_reduce_plan {
    struct jd_shm_group *group;
    const struct jd_shm_reduction *r;
    size_t element, in_bytes, out_bytes, block; /* r's */
};

static inline const struct jd_shm_reduce_desc *
jd__told_by(const struct jd_shm_group *group, int member)
{
    return jd__shm_payload(group, member);
}

/* Folds count elements of the group's ins into its first num_outs outs. */
void jd__shm_reduce_fold(const struct jd_reduce_plan *plan, int num_outs,
                         size_t count, bool streams);

/* Elements [begin, begin + count) of the block, which are this member's share
 * of an all_reduce: cut at cache lines. */
void jd__shm_reduce_share(const struct jd_reduce_plan *plan, int member,
                          size_t *ret_begin, size_t *ret_count);

/* Through the members' bounce memory, in pieces. */
jd_status jd__shm_reduce_bounce(const struct jd_reduce_plan *plan);

/*
 * Each member reads its share of the others' inputs, out of their processes
 * where they are not mapped, and then their results. Whether all told enough
 * for that, and the call is one that gains by it.
 */
bool jd__shm_reduce_is_seen(const struct jd_reduce_plan *plan);
jd_status jd__shm_reduce_by_cma(const struct jd_reduce_plan *plan);

#endif

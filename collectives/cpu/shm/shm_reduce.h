/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shm_reduce.h - sums and the like inside a group, each element folded by one
 * member from the first member's to the last one's, so that all have the same
 * bits whatever path the data took.
 *
 *     struct jd_shm_reduction r = { .call = call, .op = op, .divisor = n };
 *     size_t bytes = jd__shm_reduce_tell(group, &r, payload);
 *     merge = jd__shm_reduce_merge(&r);
 *     ... jd__shm_meet_merging(group, &signature, payload, bytes, merge),
 *     ... compared ...
 *     status = jd__shm_reduce(group, &r);
 *
 * Ways, chosen by all members alike from what they told each other:
 *   merged     where the group meets in two levels, leaders fold the payloads
 *              of their subgroups and then each other's parts, in the order of
 *              the subgroups; the result comes with the meeting.
 *   short      every member folds everything: from the payloads, or straight
 *              from the others' heaps. No way back is awaited but in the
 *              second case.
 *   zero copy  each member folds its share from all inputs into all outputs.
 *   cma        each member reads its share of the others' private inputs out
 *              of their processes, and then their results: two system calls
 *              for each piece, no copy more than there is data.
 *   bounce     the same through the members' bounce memory, in pieces: for
 *              buffers that the others cannot see.
 *
 * Threads: as shm.h. Failures are those of jd__shm_await_all.
 */
#ifndef COLLECTIVES_CPU_SHM_SHM_REDUCE_H
#define COLLECTIVES_CPU_SHM_SHM_REDUCE_H

#include "collectives/cpu/shm/shm.h"
#include "collectives/kernels/fold.h"
#include "collectives/platform/platform.h"

#include <stdint.h>

struct jd_shm_reduction {
    const struct jd_collective *call;
    enum jd_reduce op;
    int divisor;  /* of JD_REDUCE_MEAN */
    bool scatter; /* each member gets its block: platform.h's reduce_scatter */
    size_t rows;  /* of a scatter */
    bool is_ordered; /* always in the order of the members */

    /* Filled in by jd__shm_reduce_tell. */
    jd_fold_function *fold;
    size_t element;  /* bytes */
    size_t in_bytes; /* of the whole input */
    size_t out_bytes;
    size_t block; /* elements of one member's block, or of all */
    struct jd_shm_group *group;
    struct jd_shm_merge merge;
};

/* Writes what the others have to know, at most JD_SHM_PAYLOAD bytes. */
size_t jd__shm_reduce_tell(struct jd_shm_group *group,
                           struct jd_shm_reduction *reduction,
                           unsigned char *payload);

/* What the meeting is to merge; NULL: nothing. After jd__shm_reduce_tell. */
const struct jd_shm_merge *
jd__shm_reduce_merge(struct jd_shm_reduction *reduction);

/* After the meeting. */
jd_status jd__shm_reduce(struct jd_shm_group *group,
                         const struct jd_shm_reduction *reduction);

/*
 * The lengths in bytes at which the ways change, for measuring: a jd_psum of
 * private buffers up to `inline_bytes` travels in the payload, one of heap
 * buffers up to `short_bytes` is folded by every member, and above
 * `zero_copy_bytes` (0: always, as in place) heap buffers are not bounced, nor
 * private ones from `cma_bytes` on. From `stream_bytes` on stores pass the
 * caches. All members must have the same.
 */
struct jd_reduce_limits {
    size_t inline_bytes;
    size_t short_bytes;
    size_t zero_copy_bytes;
    size_t stream_bytes;
    size_t bounce_bytes; /* the most that a member folds of a piece */
    size_t cma_bytes;
    size_t read_bytes; /* the most that is read of a member at a time */
};
extern struct jd_reduce_limits jd__reduce_limits;

#endif

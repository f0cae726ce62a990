/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bulk.h - how data that does not fit in a meeting moves within a group: in
 * pieces, each straight from the buffer where it is to the one where it goes.
 *
 * All members call the same function with the same sizes; a meeting before
 * has made sure of that. Failures are those of jd__group_wait.
 * Threads: as group.h.
 */
#ifndef COLLECTIVES_BULK_H
#define COLLECTIVES_BULK_H

#include "collectives/group.h"
#include "collectives/kernels.h"

#include <stddef.h>

/* A share of n elements: member's out of parts. */
struct jd_share {
    size_t begin;
    size_t count;
};
struct jd_share jd__share(size_t n, int parts, int member);

/* out[i * bytes .. (i + 1) * bytes) becomes member i's in[0 .. bytes). in may
 * be the place in out where it goes. */
jd_status jd__bulk_all_gather(struct jd_group *group, const void *in, void *out,
                              size_t bytes);

/* data becomes the source's on every member. */
jd_status jd__bulk_broadcast(struct jd_group *group, void *data, size_t bytes,
                             int source);

/* A reduction of count elements; in == out is allowed. */
struct jd_reduction {
    jd_kernel *kernel;
    const void *in;
    void *out;
    size_t count;
    size_t element; /* bytes */
};

/* How much scratch jd__bulk_reduce needs. */
size_t jd__bulk_reduce_scratch(const struct jd_group *group,
                               const struct jd_reduction *reduction);

/*
 * Reduces: each member folds its share of the elements, from member 0's to
 * the last one's, and gives it to all, so that all have the same bits.
 * scratch is jd__bulk_reduce_scratch bytes, aligned for any type.
 */
jd_status jd__bulk_reduce(struct jd_group *group,
                          const struct jd_reduction *reduction, void *scratch);

#endif

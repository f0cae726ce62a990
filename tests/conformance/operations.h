/* SPDX-License-Identifier: BSD-3-Clause */
/* operations.h - every collective, as conform.h wants them. */
#ifndef CONFORMANCE_OPERATIONS_H
#define CONFORMANCE_OPERATIONS_H

#include "conform.h"

#define OPERATION_MAP(X)                                                       \
    X(psum)                                                                    \
    X(pmean)                                                                   \
    X(pmax)                                                                    \
    X(pmin)                                                                    \
    X(pprod)                                                                   \
    X(scan_sum)                                                                \
    X(scan_prod)                                                               \
    X(scan_max)                                                                \
    X(scan_xor)                                                                \
    X(pmaxloc)                                                                 \
    X(pminloc)                                                                 \
    X(pand)                                                                    \
    X(por)                                                                     \
    X(pxor)                                                                    \
    X(psum_scatter)                                                            \
    X(psum_scatter_2d)                                                         \
    X(all_gather)                                                              \
    X(all_gather_2d)                                                           \
    X(all_to_all)                                                              \
    X(all_to_all_2d)                                                           \
    X(all_to_all_nd)                                                           \
    X(ragged_all_to_all)                                                       \
    X(ragged_all_gather)                                                       \
    X(preduce)                                                                 \
    X(ppermute)                                                                \
    X(ppermute_keep)                                                           \
    X(shift)                                                                   \
    X(pshuffle)                                                                \
    X(pbroadcast)                                                              \
    X(send_recv)                                                               \
    X(sendrecv)                                                                \
    X(halo)                                                                    \
    X(group)                                                                   \
    X(group_tagged)                                                            \
    X(group_any_size)                                                          \
    X(barrier)

#define OPERATION_ROW(name) extern const struct operation operation_##name;
OPERATION_MAP(OPERATION_ROW)
#undef OPERATION_ROW

/* The members of the attempt's call in a random order, the same on all. */
void draw_order(const struct attempt *attempt, int order[MAX_MEMBERS]);

/* Before a jd_shard_map with attempts of a barrier. */
void barrier_reset(void);

#endif

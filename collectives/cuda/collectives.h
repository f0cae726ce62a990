/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * collectives.h - the functions of struct jd_platform that communicate, on
 * GPUs: NCCL's where it has them, else composed of its sends and receives, of
 * copies on the stream and of folds (fold.h).
 *
 *     reduce.c   all_reduce, reduce_scatter
 *     move.c     all_gather, all_to_all, permute, broadcast
 *     ragged.c   ragged_all_to_all, transfer, barrier
 *     types.c    which NCCL type and operation stands for which of jd's
 *
 * Each returns when it is queued, or, where a host pointer is among the
 * buffers, when it is done (staging.h).
 */
#ifndef COLLECTIVES_CUDA_COLLECTIVES_H
#define COLLECTIVES_CUDA_COLLECTIVES_H

#include "collectives/platform/platform.h"

#include <nccl.h>

/* How a reduction is done. */
struct jd_cuda_way {
    bool is_native;      /* by ncclAllReduce and ncclReduceScatter */
    ncclDataType_t type; /* then: of how many to an element, */
    int parts;           /* and by which operation; else jd__cuda_fold */
    ncclRedOp_t op;
    bool is_keyed; /* the type is an integer for the floats' keys
                    * (order_keys.h), whose greatest is the result's */
};
struct jd_cuda_way jd__cuda_way_of(jd_dtype dtype, enum jd_reduce op);

jd_status jd__cuda_barrier(struct jd_comm *comm,
                           const struct jd_collective *call);
jd_status jd__cuda_all_reduce(struct jd_comm *comm,
                              const struct jd_collective *call,
                              enum jd_reduce op);
jd_status jd__cuda_reduce_scatter(struct jd_comm *comm,
                                  const struct jd_collective *call,
                                  enum jd_reduce op, size_t rows);
jd_status jd__cuda_all_gather(struct jd_comm *comm,
                              const struct jd_collective *call, size_t rows);
jd_status jd__cuda_all_to_all(struct jd_comm *comm,
                              const struct jd_collective *call,
                              const struct jd_pieces *pieces);
jd_status jd__cuda_ragged_all_to_all(struct jd_comm *comm,
                                     const struct jd_collective *call,
                                     const struct jd_ragged *ragged);
jd_status jd__cuda_permute(struct jd_comm *comm,
                           const struct jd_collective *call,
                           const struct jd_permute *permute);
jd_status jd__cuda_broadcast(struct jd_comm *comm,
                             const struct jd_collective *call, int source);
jd_status jd__cuda_transfer(struct jd_comm *comm,
                            const struct jd_transfer *transfers, int count);

#endif

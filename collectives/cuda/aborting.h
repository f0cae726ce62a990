/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * aborting.h - the end of a communicator, in order or not. It has threads of
 * its own, because ncclCommAbort, ncclCommFinalize and ncclCommDestroy may
 * hang, and because the communicators of one process may have to be aborted at
 * the same time, none after another.
 *
 *     status = jd__cuda_nccl_comm_create(" over axis \"data\"", "jd_psum",
 *                                        &comm);
 *     ncclCommSplit(nccl, ..., jd__cuda_nccl_comm_child(comm), ...);
 *     jd__cuda_nccl_comm_set(comm, nccl);
 *     if (jd__cuda_nccl_comm_lock(comm)) {
 *         ... calls of NCCL with it that do not wait, or with the child ...
 *         jd__cuda_nccl_comm_unlock(comm);
 *     }
 *     jd__cuda_nccl_comm_end(comm, false);
 *     jd__cuda_nccl_comm_put(comm);
 *
 * The child, where there is one, blocks, and ends before its parent. What waits
 * inside a call with it is let go by ncclCommRevoke when it is aborted.
 *
 * An end in order takes as long as the other members of its host do, which NCCL
 * waits for, and the graphs that its calls were captured into. What is aborted
 * and has not ended after 10 s (JD_CUDA_END_SECONDS) is left behind, with a
 * warning. When the job fails, all are aborted: what a program does then with
 * its GPU (jd_on_peer_failure) does not wait for collectives that never end. At
 * exit the process waits for those that are ending, as long at most, and says
 * which had not; where one hangs, it is ended some seconds later, whatever
 * CUDA's own exit handlers do.
 *
 * Threads: any.
 */
#ifndef COLLECTIVES_CUDA_ABORTING_H
#define COLLECTIVES_CUDA_ABORTING_H

#include "base/status.h"

#include <nccl.h>
#include <stdatomic.h>
#include <stdbool.h>

struct jd_cuda_nccl_comm;

/* Without a communicator yet. detail is for the log, and is copied. Returns
 * JD_OK; RESOURCE_EXHAUSTED naming the operation. */
jd_status jd__cuda_nccl_comm_create(const char *detail, const char *operation,
                                    struct jd_cuda_nccl_comm **ret_comm);

/* Where ncclCommSplit writes the child, as long as the parent is there; NULL
 * before. */
ncclComm_t *jd__cuda_nccl_comm_child(struct jd_cuda_nccl_comm *comm);

/* What NCCL may call it: "axis \"data\"". As long as NCCL has it. */
const char *jd__cuda_nccl_comm_name(const struct jd_cuda_nccl_comm *comm);

/* Gives it NCCL's communicator; one that is ending already ends that too. */
void jd__cuda_nccl_comm_set(struct jd_cuda_nccl_comm *comm, ncclComm_t nccl);

/* False where it is ending, or has none: then it is not locked. */
bool jd__cuda_nccl_comm_lock(struct jd_cuda_nccl_comm *comm);
void jd__cuda_nccl_comm_unlock(struct jd_cuda_nccl_comm *comm);

/*
 * Ends it, aborted or in order (finalised and destroyed; aborted where that
 * fails); once: again is nothing, but that one that is ending in order is
 * aborted. Never waits.
 */
void jd__cuda_nccl_comm_end(struct jd_cuda_nccl_comm *comm, bool in_order);

/* Becomes true where it is aborted; lives as long as the comm. */
const atomic_bool *
jd__cuda_nccl_comm_is_aborted(const struct jd_cuda_nccl_comm *comm);

/* The creator's use is over; it goes when its end is over too. NULL is allowed.
 */
void jd__cuda_nccl_comm_put(struct jd_cuda_nccl_comm *comm);

/* Aborts all of the process. Never waits. */
void jd__cuda_nccl_comms_abort(void);

/* Waits until none is ending that may still end, up to the seconds; whether
 * none has been left behind. */
bool jd__cuda_nccl_comms_await(double seconds);

#endif

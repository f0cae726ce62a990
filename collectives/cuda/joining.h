/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * joining.h - how the members of a communicator make NCCL's communicator, so
 * that all have it or all have the same failure.
 *
 * NCCL makes it on a thread of its own; each member looks at it, tells the
 * others by the control communicator how far it is, and after a pause looks
 * again. So who fails is heard of by all, whatever NCCL makes of it there (it
 * waits for ever in some versions), and who hangs is named at the deadline.
 * Where NCCL can revoke a communicator, it is then split, all members in their
 * order, into one that blocks: in the same way, as the first one does not.
 *
 * Blocking calls must find all members connected: NCCL_RUNTIME_CONNECT=0, which
 * jd_initialize() sets where it is not set, makes NCCL connect those that
 * collectives need when a communicator is made, and connect.h does the rest.
 */
#ifndef COLLECTIVES_CUDA_JOINING_H
#define COLLECTIVES_CUDA_JOINING_H

#include "collectives/cuda/comm.h"
#include "collectives/cuda/members.h"

/*
 * Fills in comm->comm and comm->parent, of a communicator that has its control;
 * after a failure too there may be one, which is to be aborted. The device is
 * the thread's. members are the records of all, which are written over;
 * progress is room for a number of each. Collective: all members. Blocks: until
 * it is made, with the collective deadline. Returns: JD_OK; the same failure on
 * all members, which names the one that failed: NCCL's, DEADLINE_EXCEEDED,
 * ABORTED; those of the control communicator.
 */
jd_status jd__cuda_join(struct jd_comm *comm, const struct jd_comm_spec *spec,
                        struct jd_cuda_member *members, int32_t *progress);

#endif

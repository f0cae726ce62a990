/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * local_meet.h - where the members of a communicator that are in one process,
 * each on a thread and a GPU of its own, come together before each call of
 * NCCL.
 *
 *     ... all memory of the call is there ...
 *     status = jd__cuda_local_meet_come(comm, call);
 *     if (status == JD_OK)
 *         ncclAllReduce(...);
 *
 * A kernel of NCCL spins until all members have launched theirs, and CUDA waits
 * for it where another thread of the process gets memory that the GPU can reach
 * (NVIDIA/nccl issue 787), or launches a kernel that is not loaded yet: had
 * that one not launched its own, both would wait for ever. So nobody launches
 * before all have what their call needs, and kernels are loaded when the
 * communicator is made.
 *
 * Sends and receives do not come here: not all members make them. Communicators
 * with one member in each process have none of it.
 */
#ifndef COLLECTIVES_CUDA_LOCAL_MEET_H
#define COLLECTIVES_CUDA_LOCAL_MEET_H

#include "collectives/cuda/comm.h"

/*
 * Fills in comm->local where a process has several of the members, and loads
 * the kernels then.
 * Collective: all members. Blocks: as jd__cuda_tell. Returns: JD_OK; its
 * failures, and CUDA's.
 */
jd_status jd__cuda_local_meet_create(struct jd_comm *comm,
                                     const struct jd_comm_spec *spec);

/*
 * Waits until all members of this process have come as often, with the
 * collective deadline.
 * Returns: JD_OK; DEADLINE_EXCEEDED naming the devices that have not come;
 *   ABORTED where the communicator is, or a call of another device of this
 *   process has failed: all calls after that one.
 */
jd_status jd__cuda_local_meet_come(struct jd_comm *comm,
                                   const struct jd_collective *call);

/* A call of this member has failed, and it will not come again: the others need
 * not wait for it. */
void jd__cuda_local_meet_leave(struct jd_comm *comm);

void jd__cuda_local_meet_destroy(struct jd_comm *comm);

#endif

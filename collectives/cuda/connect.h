/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * connect.h - the first exchange of two members.
 *
 *     jd__connect_want(comm, member);    whom it sends to, or receives from
 *     jd__connect(&task);
 *     if (jd__task_group_begin(&task))
 *         ...
 *
 * NCCL connects two members at their first transfer, for all that they have in
 * a group then, and wants the same of both: where the one has a send and a
 * receive in a group, and the other calls them one by one, they wait for each
 * other for ever, and of two that are half the members apart (as in a
 * communicator of two) each takes the other's message for another one
 * (NVIDIA/nccl issues 1279 and 2057). And it waits for the other one inside of
 * the call. So two members first exchange a byte, which connects both ways, on
 * the communicator that does not block.
 *
 * Both members of a pair must want each other in the same call. Threads: as the
 * communicator.
 */
#ifndef COLLECTIVES_CUDA_CONNECT_H
#define COLLECTIVES_CUDA_CONNECT_H

#include "collectives/cuda/task.h"

/* The next exchange is with this member too, unless there was one. */
void jd__connect_want(struct jd_comm *comm, int member);

/* In a collective, whose members call alike: with the member (negative: none),
 * where NCCL's call would wait for it. */
void jd__connect_want_called(struct jd_comm *comm, int member);

/*
 * Memory for the exchange with those wanted, before the members of this process
 * meet; NULL where there is none to make, or where the task fails: of a graph
 * that is being captured, with FAILED_PRECONDITION.
 */
char *jd__connect_prepare(struct jd_cuda_task *task);

/* Queues the exchange; memory is prepare's. */
void jd__connect_in(struct jd_cuda_task *task, char *memory);

/* Both, before the task's scratch is asked for. */
void jd__connect(struct jd_cuda_task *task);

/* The same with all members, in a collective, where NCCL's calls would wait for
 * them. */
void jd__connect_all(struct jd_cuda_task *task);

#endif

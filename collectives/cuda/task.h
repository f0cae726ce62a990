/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * task.h - one collective of one member on its way to the stream: the steps
 * that the platform's collectives are made of.
 *
 *     struct jd_cuda_task task;
 *     jd__task_begin(&task, comm, call, in_bytes, out_bytes, false);
 *     jd__task_copy(&task, to, task.call->in, bytes);
 *     jd__task_all_gather(&task, to, task.call->out, bytes);
 *     return jd__task_end(&task);
 *
 * The first step that fails leaves its status, and those after it do nothing;
 * so a sequence of them reads without a branch. Steps of no bytes are none.
 *
 * A member that fails in here alone (no memory for its scratch) has left a
 * collective that the others are in: they hear it at their deadline.
 */
#ifndef COLLECTIVES_CUDA_TASK_H
#define COLLECTIVES_CUDA_TASK_H

#include "collectives/cuda/comm.h"
#include "collectives/cuda/collectives.h"
#include "collectives/cuda/devices.h"
#include "collectives/cuda/fold.h"
#include "collectives/cuda/staging.h"

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>

struct jd_cuda_task {
    struct jd_comm *comm;
    const struct jd_collective *call; /* with device pointers */
    size_t element;                   /* bytes of one */
    cudaStream_t handle;
    jd_status status;
    struct jd_cuda_use use;
    ncclResult_t grouped; /* the first failure in a group */
    struct jd_cuda_visit visit;
    bool is_staged;
    bool is_transfer;
    bool has_met;
    bool is_captured;
    uint64_t begun; /* lane.h's; 0: the GPU does not tell of it */
    struct jd_staged staged;
};

/* Enters the device, stages the buffers (staging.h), and notes the work. */
void jd__task_begin(struct jd_cuda_task *task, struct jd_comm *comm,
                    const struct jd_collective *call, size_t in_bytes,
                    size_t out_bytes, bool keeps_out);

/* The same where all buffers are the device's. */
void jd__task_begin_bare(struct jd_cuda_task *task, struct jd_comm *comm,
                         const struct jd_collective *call);

/* Brings host buffers back, and leaves; comes after each begin, whatever has
 * failed. Returns the task's status. */
jd_status jd__task_end(struct jd_cuda_task *task);

/*
 * The members of this process meet before each call of NCCL (local_meet.h),
 * which all of them make. Where one may make none, they meet here, once, and
 * all memory of the task is there; where not all are in the call, as in
 * transfers, they do not meet. Either comes after begin.
 */
void jd__task_meet(struct jd_cuda_task *task);
void jd__task_is_transfer(struct jd_cuda_task *task);

/* Once in a task; NULL where the task has failed. */
char *jd__task_scratch(struct jd_cuda_task *task, size_t bytes);

/* ---- on the device ------------------------------------------------------ */

/* To and from may be the same address. */
void jd__task_copy(struct jd_cuda_task *task, void *to, const void *from,
                   size_t bytes);
void jd__task_clear(struct jd_cuda_task *task, void *to, size_t bytes);

/* Where rows of bytes begin. */
struct jd_cuda_rows {
    void *data;
    size_t pitch;
};

/* Copies rows of width bytes. */
void jd__task_copy_rows(struct jd_cuda_task *task, struct jd_cuda_rows to,
                        struct jd_cuda_rows from, size_t width, size_t rows);

/* All but fold.dtype is the caller's. */
void jd__task_fold(struct jd_cuda_task *task, struct jd_cuda_fold fold);

/* in's keys into out, or the way back (fold.h), of the task's type. */
void jd__task_keys(struct jd_cuda_task *task, enum jd_reduce op,
                   enum jd_order_way way, const void *in, void *out,
                   size_t count);

/* ---- between members ---------------------------------------------------- */

void jd__task_all_reduce(struct jd_cuda_task *task, const void *in, void *out,
                         size_t count, struct jd_cuda_way way);
void jd__task_reduce_scatter(struct jd_cuda_task *task, const void *in,
                             void *out, size_t count, struct jd_cuda_way way);
void jd__task_all_gather(struct jd_cuda_task *task, const void *in, void *out,
                         size_t bytes);
void jd__task_broadcast(struct jd_cuda_task *task, const void *in, void *out,
                        size_t bytes, int source);

/* Sends and receives go between begin and end, and proceed together; none is
 * the first of two members but where use.connects is set, until the end. False
 * where the task has failed: then there is no end. */
bool jd__task_group_begin(struct jd_cuda_task *task);
void jd__task_send(struct jd_cuda_task *task, const void *from, size_t bytes,
                   int member);
void jd__task_receive(struct jd_cuda_task *task, void *to, size_t bytes,
                      int member);
void jd__task_group_end(struct jd_cuda_task *task);

#endif

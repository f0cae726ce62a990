/* SPDX-License-Identifier: BSD-3-Clause */
/* task.c - the steps that the platform's collectives are made of. */
#include "collectives/cuda/task.h"
#include "collectives/cuda/errors.h"
#include "collectives/cuda/local_meet.h"
#include "collectives/cuda/nvtx.h"
#include "collectives/cuda/stream.h"
#include "collectives/cuda/strided.h"

/* ---- begin and end ------------------------------------------------------ */

static const char *operation_of(const struct jd_cuda_task *task)
{
    return jd__signature_activity_name(task->call->activity);
}

void jd__task_begin_bare(struct jd_cuda_task *task, struct jd_comm *comm,
                         const struct jd_collective *call)
{
    jd__nvtx_begin(call);
    task->comm = comm;
    task->call = call;
    task->element = jd_dtype_size(call->dtype);
    task->handle = call->stream->handle;
    task->grouped = ncclSuccess;
    task->is_staged = false;
    task->is_transfer = task->has_met = false;
    task->use.connects = false;
    task->begun = 0;
    task->status =
        jd__cuda_enter(comm->native, operation_of(task), &task->visit);
    task->is_captured =
        task->status == JD_OK && jd__cuda_is_capturing(call->stream);
}

void jd__task_begin(struct jd_cuda_task *task, struct jd_comm *comm,
                    const struct jd_collective *call, size_t in_bytes,
                    size_t out_bytes, bool keeps_out)
{
    jd__task_begin_bare(task, comm, call);
    if (task->status != JD_OK)
        return;
    task->status =
        jd__cuda_stage(call, in_bytes, out_bytes, keeps_out, &task->staged);
    task->is_staged = task->status == JD_OK;
    if (task->is_staged)
        task->call = &task->staged.call;
}

jd_status jd__task_end(struct jd_cuda_task *task)
{
    if (task->is_staged)
        task->status = jd__cuda_unstage(&task->staged, task->status);
    jd__lane_end(&task->call->stream->lane, task->handle, task->begun);
    jd__cuda_leave(&task->visit);
    jd__nvtx_end();
    if (task->status != JD_OK && !task->is_transfer)
        jd__cuda_local_meet_leave(task->comm);
    return task->status;
}

void jd__task_meet(struct jd_cuda_task *task)
{
    if (task->status == JD_OK)
        task->status = jd__cuda_local_meet_come(task->comm, task->call);
    task->has_met = true;
}

void jd__task_is_transfer(struct jd_cuda_task *task)
{
    task->is_transfer = task->has_met = true;
}

char *jd__task_scratch(struct jd_cuda_task *task, size_t bytes)
{
    void *memory = NULL;
    if (task->status == JD_OK)
        task->status =
            jd__cuda_scratch(task->call->stream, bytes, task->call, &memory);
    return memory;
}

/* ---- on the device ------------------------------------------------------ */

static void check_error(struct jd_cuda_task *task, cudaError_t error,
                        const char *call)
{
    if (error != cudaSuccess)
        task->status = jd__cuda_check(error, operation_of(task), call);
}

void jd__task_copy(struct jd_cuda_task *task, void *to, const void *from,
                   size_t bytes)
{
    if (task->status != JD_OK || bytes == 0 || to == from)
        return;
    check_error(task,
                cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice,
                                task->handle),
                "cudaMemcpyAsync");
}

void jd__task_clear(struct jd_cuda_task *task, void *to, size_t bytes)
{
    if (task->status != JD_OK || bytes == 0)
        return;
    check_error(task, cudaMemsetAsync(to, 0, bytes, task->handle),
                "cudaMemsetAsync");
}

void jd__task_copy_rows(struct jd_cuda_task *task, struct jd_cuda_rows to,
                        struct jd_cuda_rows from, size_t width, size_t rows)
{
    const struct jd_nest nest = { .rows = { .to = to.data,
                                            .from = from.data,
                                            .to_pitch = to.pitch,
                                            .from_pitch = from.pitch,
                                            .row = width,
                                            .count = rows } };
    if (rows == 1 || (to.pitch == width && from.pitch == width))
        jd__task_copy(task, to.data, from.data, rows * width);
    else if (task->status == JD_OK && width > 0 && rows > 0)
        check_error(task, jd__cuda_strided(&nest, task->handle),
                    "a box's copy");
}

void jd__task_fold(struct jd_cuda_task *task, struct jd_cuda_fold fold)
{
    if (task->status != JD_OK || fold.count == 0)
        return;
    fold.dtype = task->call->dtype;
    check_error(task, jd__cuda_fold(&fold, task->handle), "a fold's kernel");
}

void jd__task_keys(struct jd_cuda_task *task, enum jd_reduce op,
                   enum jd_order_way way, const void *in, void *out,
                   size_t count)
{
    const struct jd_cuda_fold fold = { .dtype = task->call->dtype,
                                       .op = op,
                                       .in = in,
                                       .out = out,
                                       .count = count };
    if (task->status == JD_OK && count > 0)
        check_error(task, jd__cuda_fold_keys(&fold, way, task->handle),
                    "a kernel of keys");
}

/* ---- between members ---------------------------------------------------- */

/* The call's first work for others begins: all members of this process are in
 * it. A graph's is done at its launches, under no call's number. */
static void begin_work(struct jd_cuda_task *task)
{
    if (!task->begun && !task->is_captured)
        task->begun = jd__lane_begin(&task->call->stream->lane, task->handle);
}

/* Until settle_result() this call looks after itself. */
static void begin_use(struct jd_cuda_task *task)
{
    atomic_fetch_add(&task->call->stream->waits, 1);
    begin_work(task);
}

/* Noted here: what is staged, or a scratch that grows, may wait before, and a
 * wait forgets what was noted. */
static bool enter_comm(struct jd_cuda_task *task)
{
    if (task->status == JD_OK)
        task->status = jd__backlog_add(task->call->stream, task->call);
    if (task->status == JD_OK && !task->has_met)
        task->status = jd__cuda_local_meet_come(task->comm, task->call);
    if (task->status == JD_OK)
        task->status = jd__cuda_stream_note(task->call->stream, task->comm,
                                            task->call, task->is_captured);
    task->use.call = task->call;
    if (task->status == JD_OK)
        task->status = jd__cuda_comm_enter(task->comm, &task->use);
    if (task->status == JD_OK)
        begin_use(task);
    return task->status == JD_OK;
}

static void settle_result(struct jd_cuda_task *task, ncclResult_t result,
                          const char *call)
{
    task->status = jd__cuda_comm_settle(task->comm, &task->use, result, call);
    atomic_fetch_sub(&task->call->stream->waits, 1);
}

void jd__task_all_reduce(struct jd_cuda_task *task, const void *in, void *out,
                         size_t count, struct jd_cuda_way way)
{
    if (count && enter_comm(task))
        settle_result(task,
                      ncclAllReduce(in, out, count * (size_t)way.parts,
                                    way.type, way.op, task->use.nccl,
                                    task->handle),
                      "ncclAllReduce");
}

void jd__task_reduce_scatter(struct jd_cuda_task *task, const void *in,
                             void *out, size_t count, struct jd_cuda_way way)
{
    if (count && enter_comm(task))
        settle_result(task,
                      ncclReduceScatter(in, out, count * (size_t)way.parts,
                                        way.type, way.op, task->use.nccl,
                                        task->handle),
                      "ncclReduceScatter");
}

void jd__task_all_gather(struct jd_cuda_task *task, const void *in, void *out,
                         size_t bytes)
{
    if (bytes && enter_comm(task))
        settle_result(task,
                      ncclAllGather(in, out, bytes, ncclUint8, task->use.nccl,
                                    task->handle),
                      "ncclAllGather");
}

void jd__task_broadcast(struct jd_cuda_task *task, const void *in, void *out,
                        size_t bytes, int source)
{
    if (bytes && enter_comm(task))
        settle_result(task,
                      ncclBroadcast(in, out, bytes, ncclUint8, source,
                                    task->use.nccl, task->handle),
                      "ncclBroadcast");
}

bool jd__task_group_begin(struct jd_cuda_task *task)
{
    if (!enter_comm(task))
        return false;
    task->grouped = ncclGroupStart();
    return true;
}

/* A call in a group that fails says why; its end then only that it did. */
static void note_result(struct jd_cuda_task *task, ncclResult_t result)
{
    if (task->grouped == ncclSuccess && result != ncclInProgress)
        task->grouped = result;
}

void jd__task_send(struct jd_cuda_task *task, const void *from, size_t bytes,
                   int member)
{
    if (bytes && task->grouped == ncclSuccess)
        note_result(task, ncclSend(from, bytes, ncclUint8, member,
                                   task->use.nccl, task->handle));
}

void jd__task_receive(struct jd_cuda_task *task, void *to, size_t bytes,
                      int member)
{
    if (bytes && task->grouped == ncclSuccess)
        note_result(task, ncclRecv(to, bytes, ncclUint8, member, task->use.nccl,
                                   task->handle));
}

void jd__task_group_end(struct jd_cuda_task *task)
{
    ncclResult_t grouped = task->grouped, result = ncclGroupEnd();
    task->grouped = ncclSuccess;
    if (grouped != ncclSuccess)
        settle_result(task, grouped, "ncclSend or ncclRecv");
    else
        settle_result(task, result, "ncclGroupEnd");
    task->use.connects = false;
}

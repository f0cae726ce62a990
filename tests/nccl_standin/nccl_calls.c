/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nccl_calls.c - collectives, sends and receives: checked, collected until the
 * group ends, and queued on their stream.
 *
 * A communicator that does not block is, as the real one, never done with a
 * call when it returns: a thread queues it, some a while later, also while a
 * graph is captured, and until then the state is ncclInProgress. The first
 * collective is queued when all ranks have called it, as the real one connects
 * them then, unless NCCL_RUNTIME_CONNECT is 0. One that blocks waits for them
 * in the call. In one that was split off another that is refused, so that
 * nobody forgets it, but where NCCL_RUNTIME_CONNECT is 1; and so is the first
 * transfer of two ranks, which would wait there too.
 */
#include "nccl_private.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LATE_EVERY 13 /* of calls, one by so long */
#define LATE_MS 1

struct pending {
    ncclComm_t comm;
    cudaStream_t stream;
    struct op op;
    enum fault fault;
    ncclResult_t async;
};

/* The thread's group. */
static _Thread_local struct {
    int depth;
    ncclResult_t failed; /* the first call that did */
    struct pending *calls;
    int count, capacity;
    ncclComm_t *made;
    int num_made;
} group;

/* ---- queueing ----------------------------------------------------------- */

/* A piece of work on its way to its stream. */
struct late {
    cudaStream_t stream;
    size_t bytes;
    struct work *work;
    int milliseconds;
    bool connects;
};

static void free_late(struct late *late)
{
    if (late)
        free(late->work);
    free(late);
}

static ncclResult_t queue(cudaStream_t stream, const struct work *work,
                          size_t bytes)
{
    cudaError_t error = standin_enqueue(stream, standin_run_work, work, bytes);
    if (error == cudaSuccess)
        return ncclSuccess;
    ncclResult_t result =
        standin_explain(ncclUnhandledCudaError, "the work was not queued: %s",
                        cudaGetErrorString(error));
    standin_comm_set_state(work->comm, result);
    return result;
}

/* Waits as long as it is to be late; false where it was aborted. */
static bool be_late(const struct late *late)
{
    struct pollfd waker = { .fd = late->work->comm->waker, .events = POLLIN };
    return poll(&waker, 1, late->milliseconds) == 0;
}

/* As long as STANDIN_FAIL wants it, and until those are connected that have to
 * be. */
static ncclResult_t queue_connected(const struct late *late)
{
    ncclComm_t comm = late->work->comm;
    ncclResult_t result = ncclSuccess;
    if (late->work->fault == FAULT_BLOCK) {
        standin_comm_hang(comm);
        return ncclInternalError;
    }
    if (late->connects)
        result = standin_connect(comm);
    return result == ncclSuccess ? queue(late->stream, late->work, late->bytes)
                                 : result;
}

static ncclResult_t do_late(const struct late *late)
{
    if (!be_late(late) ||
        cudaSetDevice(late->work->comm->device) != cudaSuccess)
        return ncclInternalError;
    return queue_connected(late);
}

static void queue_late(void *arg)
{
    struct late *late = arg;
    standin_comm_set_state(late->work->comm, do_late(late));
    free_late(late);
}

static bool has_collective(const struct work *work)
{
    for (int i = 0; i < work->num_ops; i++)
        if (work->ops[i].call != CALL_SEND && work->ops[i].call != CALL_RECV)
            return true;
    return false;
}

static void prepare_late(struct late *late)
{
    ncclComm_t comm = late->work->comm;
    pthread_mutex_lock(&comm->lock);
    late->milliseconds = comm->calls % LATE_EVERY == 0 ? LATE_MS : 0;
    comm->calls++;
    late->connects = !comm->is_connected && has_collective(late->work);
    comm->is_connected = comm->is_connected || late->connects;
    if (!comm->is_blocking)
        comm->state = ncclInProgress;
    pthread_mutex_unlock(&comm->lock);
}

static ncclResult_t take_ticket(ncclComm_t comm, cudaStream_t stream,
                                uint64_t *ret_ticket)
{
    enum cudaStreamCaptureStatus capture;
    cudaError_t error = cudaStreamIsCapturing(stream, &capture);
    if (error != cudaSuccess || standin_device_of(stream) != comm->device)
        return standin_explain(ncclUnhandledCudaError,
                               "rank %d: the stream is not of device %d (%s)",
                               comm->rank, comm->device,
                               cudaGetErrorString(error));
    *ret_ticket = 0;
    if (capture == cudaStreamCaptureStatusNone) {
        pthread_mutex_lock(&comm->lock);
        *ret_ticket = ++comm->issued;
        pthread_mutex_unlock(&comm->lock);
    }
    return ncclSuccess;
}

static ncclResult_t queue_now_or_late(struct late *late)
{
    ncclComm_t comm = late->work->comm;
    prepare_late(late);
    if (comm->is_blocking) {
        ncclResult_t result = queue_connected(late);
        free_late(late);
        return result;
    }
    ncclResult_t result = standin_comm_help(comm, queue_late, late);
    if (result == ncclSuccess)
        return ncclInProgress;
    standin_comm_set_state(comm, result);
    free_late(late);
    return result;
}

/* ---- what may be queued ------------------------------------------------- */

/* The bytes that the communicator's calls of that kind move to itself. */
static size_t bytes_to_self(ncclComm_t comm, enum call call)
{
    size_t bytes = 0;
    for (int i = 0; i < group.count; i++) {
        const struct pending *pending = &group.calls[i];
        if (pending->comm == comm && pending->op.call == call &&
            pending->op.peer == comm->rank)
            bytes += pending->op.count * standin_type_size(pending->op.type);
    }
    return bytes;
}

/* Sends to itself and receives from itself have to match in the group. */
static ncclResult_t check_self(ncclComm_t comm)
{
    size_t sent = bytes_to_self(comm, CALL_SEND);
    size_t received = bytes_to_self(comm, CALL_RECV);
    if (sent == received)
        return ncclSuccess;
    return standin_explain(ncclInvalidUsage,
                           "rank %d: in a group it sends %zu bytes to itself "
                           "and receives %zu",
                           comm->rank, sent, received);
}

static bool is_wanted_late(void)
{
    const char *wanted = getenv("NCCL_RUNTIME_CONNECT");
    return wanted && strcmp(wanted, "1") == 0;
}

/* Before the first collective of one whose ranks are not connected. */
static ncclResult_t check_connected(ncclComm_t comm)
{
    bool is_split = comm->is_blocking && comm->parent;
    if (!is_split || comm->is_connected || is_wanted_late())
        return ncclSuccess;
    return standin_explain(ncclInvalidUsage,
                           "rank %d: its first collective connects it, and "
                           "would wait in here; set NCCL_RUNTIME_CONNECT=0",
                           comm->rank);
}

static bool is_transfer_to_other(const struct op *op, ncclComm_t comm)
{
    return (op->call == CALL_SEND || op->call == CALL_RECV) &&
           op->peer != comm->rank;
}

/* Notes which ranks its transfers connect, where it may. */
static ncclResult_t note_connections(ncclComm_t comm)
{
    struct peer *peers = standin_comm_connections(comm)->peers;
    for (int i = 0; i < group.count; i++) {
        const struct op *op = &group.calls[i].op;
        unsigned way = op->call == CALL_SEND ? CONNECTS_SEND : CONNECTS_RECV;
        if (group.calls[i].comm != comm || !is_transfer_to_other(op, comm) ||
            peers[op->peer].called & way)
            continue;
        if (comm->is_blocking && comm->parent)
            return standin_explain(ncclInvalidUsage,
                                   "rank %d: its first transfer with rank %d "
                                   "connects them, and would wait in here; "
                                   "make it on the communicator that this one "
                                   "was split off",
                                   comm->rank, op->peer);
        peers[op->peer].called |= way;
    }
    return ncclSuccess;
}

/* Moves the calls of the communicator, from first on, into the work. */
static ncclResult_t take_calls(int first, struct late *late)
{
    ncclComm_t comm = group.calls[first].comm;
    struct work *work = late->work;
    ncclResult_t result = ncclSuccess;
    work->comm = comm;
    for (int i = first; i < group.count; i++) {
        struct pending *call = &group.calls[i];
        if (call->comm != comm)
            continue;
        if (call->stream != late->stream)
            result = standin_explain(ncclInvalidUsage,
                                     "the stand-in takes one stream for a "
                                     "communicator in a group");
        if (call->fault != FAULT_NONE) {
            work->fault = call->fault;
            work->async = call->async;
        }
        work->ops[work->num_ops++] = call->op;
        call->comm = NULL;
    }
    return result;
}

static ncclResult_t launch(int first)
{
    ncclComm_t comm = group.calls[first].comm;
    size_t bytes =
        sizeof(struct work) + (size_t)group.count * sizeof(struct op);
    ncclResult_t result = check_self(comm);
    if (result == ncclSuccess)
        result = check_connected(comm);
    if (result == ncclSuccess)
        result = note_connections(comm);
    if (result != ncclSuccess)
        return result;
    struct late *late = calloc(1, sizeof *late);
    if (!late || !(late->work = calloc(1, bytes))) {
        free_late(late);
        return standin_explain(ncclSystemError, "no memory");
    }
    late->stream = group.calls[first].stream;
    late->bytes = bytes;
    result = take_calls(first, late);
    if (result == ncclSuccess)
        result = take_ticket(comm, late->stream, &late->work->ticket);
    if (result == ncclSuccess)
        return queue_now_or_late(late);
    free_late(late);
    return result;
}

/* ---- groups ------------------------------------------------------------- */

bool standin_group_keeps(ncclComm_t comm)
{
    if (group.depth == 0)
        return false;
    ncclComm_t *grown =
        realloc(group.made, (size_t)(group.num_made + 1) * sizeof *grown);
    if (!grown)
        return false;
    grown[group.num_made++] = comm;
    group.made = grown;
    return true;
}

ncclResult_t ncclGroupStart(void)
{
    ncclResult_t wanted = standin_wanted_failure("ncclGroupStart");
    if (wanted == ncclSuccess)
        group.depth++;
    return wanted;
}

static ncclResult_t worse(ncclResult_t one, ncclResult_t other)
{
    return one == ncclSuccess || (one == ncclInProgress && other != ncclSuccess)
               ? other
               : one;
}

/* The group is over: launches all, or nothing where a call has failed. */
static ncclResult_t end_group(void)
{
    ncclResult_t result = group.failed;
    for (int i = 0; i < group.count; i++)
        if (group.failed == ncclSuccess && group.calls[i].comm)
            result = worse(result, launch(i));
    for (int i = 0; i < group.num_made; i++)
        result = worse(result, standin_comm_wait(group.made[i]));
    free(group.calls);
    free(group.made);
    memset(&group, 0, sizeof group);
    return result;
}

ncclResult_t ncclGroupEnd(void)
{
    ncclResult_t wanted = standin_wanted_failure("ncclGroupEnd");
    if (group.depth == 0)
        return standin_explain(ncclInvalidUsage,
                               "ncclGroupEnd: not in a group call.");
    if (wanted != ncclSuccess && group.failed == ncclSuccess)
        group.failed = wanted;
    if (--group.depth > 0)
        return ncclSuccess;
    return end_group();
}

static ncclResult_t append(const struct pending *pending)
{
    if (group.count == group.capacity) {
        int capacity = group.capacity ? 2 * group.capacity : 8;
        struct pending *grown =
            realloc(group.calls, (size_t)capacity * sizeof *grown);
        if (!grown)
            return standin_explain(ncclSystemError, "no memory");
        group.calls = grown;
        group.capacity = capacity;
    }
    group.calls[group.count++] = *pending;
    return ncclSuccess;
}

/* ---- one call ----------------------------------------------------------- */

/* The real one's kernels fault on host memory; here the call says so. */
static ncclResult_t check_pointer(const char *call, const char *name,
                                  const void *pointer, ncclComm_t comm)
{
    struct cudaPointerAttributes found;
    cudaError_t error = cudaPointerGetAttributes(&found, pointer);
    if (error != cudaSuccess || found.type == cudaMemoryTypeUnregistered)
        return standin_explain(ncclInvalidArgument,
                               "%s : %s %p is neither device memory nor pinned",
                               call, name, pointer);
    if (found.type == cudaMemoryTypeDevice && found.device != comm->device)
        return standin_explain(ncclInvalidArgument,
                               "%s : %s %p is of device %d, the communicator "
                               "of %d",
                               call, name, pointer, found.device, comm->device);
    return ncclSuccess;
}

/* From its first to its last byte. */
static ncclResult_t check_buffer(const char *call, const char *name,
                                 const void *buffer, size_t bytes,
                                 ncclComm_t comm)
{
    ncclResult_t result = check_pointer(call, name, buffer, comm);
    if (result != ncclSuccess)
        return result;
    return check_pointer(call, name, (const char *)buffer + bytes - 1, comm);
}

static ncclResult_t check_buffers(const char *name, const struct op *op,
                                  ncclComm_t comm)
{
    size_t bytes = op->count * standin_type_size(op->type);
    size_t all = bytes * (size_t)comm->size;
    bool reads = op->call != CALL_RECV &&
                 (op->call != CALL_BROADCAST || op->peer == comm->rank);
    ncclResult_t result = ncclSuccess;
    if (reads)
        result =
            check_buffer(name, "sendbuff", op->in,
                         op->call == CALL_REDUCE_SCATTER ? all : bytes, comm);
    if (op->call != CALL_SEND && result == ncclSuccess)
        result = check_buffer(name, "recvbuff", op->out,
                              op->call == CALL_ALL_GATHER ? all : bytes, comm);
    return result;
}

static ncclResult_t check_op(const char *name, const struct op *op,
                             ncclComm_t comm)
{
    if ((unsigned)op->type >= ncclNumTypes)
        return standin_explain(ncclInvalidArgument, "%s : type %d", name,
                               (int)op->type);
    if ((unsigned)op->op >= ncclNumOps)
        return standin_explain(ncclInvalidArgument, "%s : operation %d", name,
                               (int)op->op);
    if (op->peer < 0 || op->peer >= comm->size)
        return standin_explain(ncclInvalidArgument, "%s : rank %d of %d", name,
                               op->peer, comm->size);
    return op->count > 0 ? check_buffers(name, op, comm) : ncclSuccess;
}

static void draw_fault(struct pending *pending)
{
    int async = standin_fails("ASYNC");
    if (standin_fails("HANG") != 0)
        pending->fault = FAULT_HANG;
    if (standin_fails("BLOCK") != 0)
        pending->fault = FAULT_BLOCK;
    if (async != 0) {
        pending->fault = FAULT_ASYNC;
        pending->async = (ncclResult_t)async;
    }
}

static ncclResult_t collect(const char *name, const struct op *op,
                            ncclComm_t comm, cudaStream_t stream)
{
    struct pending pending = { comm, stream, *op, FAULT_NONE, ncclSuccess };
    ncclResult_t result = standin_wanted_failure(name);
    if (result == ncclSuccess)
        result = standin_comm_ready(comm, name);
    if (result == ncclSuccess)
        result = check_op(name, op, comm);
    if (result != ncclSuccess || op->count == 0)
        return result;
    draw_fault(&pending);
    return append(&pending);
}

/* A call outside of a group is a group of its own. */
static ncclResult_t call(const char *name, const struct op *op, ncclComm_t comm,
                         cudaStream_t stream)
{
    ncclResult_t result = collect(name, op, comm, stream);
    if (result != ncclSuccess && group.failed == ncclSuccess)
        group.failed = result;
    return group.depth > 0 ? result : end_group();
}

ncclResult_t ncclAllReduce(const void *sendbuff, void *recvbuff, size_t count,
                           ncclDataType_t datatype, ncclRedOp_t op,
                           ncclComm_t comm, cudaStream_t stream)
{
    struct op made = { .call = CALL_ALL_REDUCE,
                       .in = sendbuff,
                       .out = recvbuff,
                       .count = count,
                       .type = datatype,
                       .op = op };
    return call("ncclAllReduce", &made, comm, stream);
}

ncclResult_t ncclReduceScatter(const void *sendbuff, void *recvbuff,
                               size_t recvcount, ncclDataType_t datatype,
                               ncclRedOp_t op, ncclComm_t comm,
                               cudaStream_t stream)
{
    struct op made = { .call = CALL_REDUCE_SCATTER,
                       .in = sendbuff,
                       .out = recvbuff,
                       .count = recvcount,
                       .type = datatype,
                       .op = op };
    return call("ncclReduceScatter", &made, comm, stream);
}

ncclResult_t ncclAllGather(const void *sendbuff, void *recvbuff,
                           size_t sendcount, ncclDataType_t datatype,
                           ncclComm_t comm, cudaStream_t stream)
{
    struct op made = { .call = CALL_ALL_GATHER,
                       .in = sendbuff,
                       .out = recvbuff,
                       .count = sendcount,
                       .type = datatype };
    return call("ncclAllGather", &made, comm, stream);
}

ncclResult_t ncclBroadcast(const void *sendbuff, void *recvbuff, size_t count,
                           ncclDataType_t datatype, int root, ncclComm_t comm,
                           cudaStream_t stream)
{
    struct op made = { .call = CALL_BROADCAST,
                       .in = sendbuff,
                       .out = recvbuff,
                       .count = count,
                       .type = datatype,
                       .peer = root };
    return call("ncclBroadcast", &made, comm, stream);
}

ncclResult_t ncclSend(const void *sendbuff, size_t count,
                      ncclDataType_t datatype, int peer, ncclComm_t comm,
                      cudaStream_t stream)
{
    struct op made = { .call = CALL_SEND,
                       .in = sendbuff,
                       .count = count,
                       .type = datatype,
                       .peer = peer };
    return call("ncclSend", &made, comm, stream);
}

ncclResult_t ncclRecv(void *recvbuff, size_t count, ncclDataType_t datatype,
                      int peer, ncclComm_t comm, cudaStream_t stream)
{
    struct op made = { .call = CALL_RECV,
                       .out = recvbuff,
                       .count = count,
                       .type = datatype,
                       .peer = peer };
    return call("ncclRecv", &made, comm, stream);
}

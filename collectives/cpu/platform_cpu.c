/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * platform_cpu.c - the cpu platform: a device is a share of this process's
 * cores; members of one host work in each other's memory (shm_reduce.h,
 * shm_move.h), members of several hosts also send messages (inter.h).
 *
 * Every collective begins with a meeting. Its message has the same shape
 * whatever is called, so that members who call different things find out
 * there; what fits in it needs nothing else.
 */
#include "collectives/cpu/comm.h"
#include "collectives/cpu/inter/inter.h"
#include "collectives/cpu/memory.h"
#include "collectives/cpu/shm/shm_move.h"
#include "collectives/cpu/shm/shm_p2p.h"
#include "collectives/cpu/shm/shm_reduce.h"
#include "collectives/kernels/fold.h"
#include "collectives/kernels/storage.h"
#include "collectives/platform/mismatch.h"
#include "collectives/platform/platform.h"
#include "runtime/recorder/recorder.h"
#include "runtime/recorder/site.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * JD_NUM_CPU_DEVICES devices, all alike. Their memory is the host's, which
 * the processes of the host share, so memory_bytes is not to be added up.
 */
static jd_status enumerate_devices(const struct jd_settings *settings,
                                   const struct jd_host_facts *host,
                                   struct jd_found_devices *found)
{
    int count = (int)jd__options_integer(settings, JD_OPTION_NUM_CPU_DEVICES);
    struct jd_local_device *devices = calloc((size_t)count, sizeof *devices);
    if (!devices)
        return jd__fail_no_memory("jd_initialize",
                                  (size_t)count * sizeof *devices);
    for (int i = 0; i < count; i++) {
        snprintf(devices[i].kind, sizeof devices[i].kind, "%s",
                 host->cpu_model[0] ? host->cpu_model : "cpu");
        devices[i].numa_node = host->numa_node;
        devices[i].memory_bytes = host->memory_bytes;
    }
    found->items = devices;
    found->count = count;
    return JD_OK;
}

/* ---- what has a meaning ------------------------------------------------- */

static bool is_of_bits(enum jd_reduce op)
{
    return op == JD_REDUCE_AND || op == JD_REDUCE_OR || op == JD_REDUCE_XOR;
}

static const char *remedy_of(jd_dtype dtype, enum jd_reduce op)
{
    if (jd__storage_is_integer(dtype))
        return "it is kept and moved, not reduced: reduce an S8 or S32 of it "
               "(jd_convert)";
    if (jd__storage_is(dtype))
        return "it is kept and moved, not reduced: reduce an F32 or BF16 of it "
               "(jd_convert)";
    if (is_of_bits(op))
        return "it is of integers, bit by bit, and of PRED: give the bits as "
               "U8, U16, U32 or U64";
    if (dtype == JD_PRED)
        return "its values are 0 and 1: count in a wider type, S32 for "
               "example (jd_convert), or take jd_pmax for \"any\" and jd_pmin "
               "for \"all\"";
    if (op == JD_REDUCE_MEAN)
        return "a mean of integers is none: take jd_psum and divide, or "
               "convert to F32 (jd_convert)";
    return "complex numbers have no order: reduce their parts, or their "
           "absolute values";
}

static jd_status check_reduce(const struct jd_collective *call,
                              enum jd_reduce op)
{
    if (jd__fold_find(call->dtype, op, JD_FOLD_WHOLE))
        return JD_OK;
    return jd_fail(JD_UNIMPLEMENTED, "%s: not defined for %s; %s",
                   jd__signature_activity_name(call->activity),
                   jd_dtype_name(call->dtype), remedy_of(call->dtype, op));
}

/* ---- meeting in a group -------------------------------------------------- */

static const struct jd_signature *get_signature(const void *group, int member)
{
    return jd__shm_signature(group, member);
}

/* INVALID_ARGUMENT, the same on every member, where they do not all call the
 * same thing. */
static jd_status compare_calls(struct jd_comm *comm,
                               const struct jd_collective *call)
{
    const struct jd_shm_group *group = comm->group;
    int odd, other;
    if (jd__shm_agrees(group))
        return JD_OK;
    if (!jd__signature_find_odd(get_signature, group, comm->size, &odd, &other))
        return JD_OK;
    struct jd_mismatch mismatch = {
        .platform = &jd__platform_cpu,
        .comm = comm,
        .call = call,
        .processes = comm->processes,
        .size = comm->size,
        .index = comm->index,
        .odd = { odd, *jd__shm_signature(group, odd) },
        .other = { other, *jd__shm_signature(group, other) },
    };
    return jd__mismatch_fail(&mismatch);
}

/* Meets with all members, whose calls are compared. */
static jd_status call_group(struct jd_comm *comm,
                            const struct jd_collective *call,
                            const struct jd_signature *signature,
                            const void *payload, size_t bytes,
                            const struct jd_shm_merge *merge)
{
    jd__shm_begin(comm->group, jd__signature_activity_name(call->activity),
                  call->detail);
    jd_status status =
        jd__shm_meet_merging(comm->group, signature, payload, bytes, merge);
    if (status == JD_OK)
        jd__recorder_met();
    return status == JD_OK ? compare_calls(comm, call) : status;
}

static struct jd_signature sign_call(const struct jd_collective *call)
{
    return (struct jd_signature){
        .activity = (uint16_t)call->activity,
        .dtype = (uint16_t)jd__collective_dtype(call),
        .site = call->is_internal ? 0 : jd__site_compared(),
        .count = call->count,
        .source = -1,
        .digest = call->rest,
    };
}

/* The end of each call on the group. After a failure in its middle messages may
 * be under way, whoever has failed. */
static jd_status leave_group(struct jd_comm *comm, jd_status status)
{
    jd__shm_leave(comm->group);
    if (comm->wire && status != JD_INVALID_ARGUMENT &&
        status != JD_RESOURCE_EXHAUSTED)
        jd__channel_note(comm->wire, status);
    return status;
}

static jd_status wait_at_barrier(struct jd_comm *comm,
                                 const struct jd_collective *call)
{
    if (comm->wire)
        return leave_group(comm, jd__inter_barrier(comm, call));
    struct jd_signature signature = sign_call(call);
    return leave_group(comm, call_group(comm, call, &signature, NULL, 0, NULL));
}

/* ---- reductions --------------------------------------------------------- */

static jd_status reduce_in_group(struct jd_comm *comm,
                                 struct jd_shm_reduction *reduction)
{
    struct jd_signature signature = sign_call(reduction->call);
    signature.digest = reduction->rows;
    reduction->is_ordered = comm->is_deterministic;
    void *payload = jd__shm_payload_space(comm->group);
    size_t bytes = jd__shm_reduce_tell(comm->group, reduction, payload);
    jd_status status = call_group(comm, reduction->call, &signature, payload,
                                  bytes, jd__shm_reduce_merge(reduction));
    if (status == JD_OK)
        status = jd__shm_reduce(comm->group, reduction);
    return leave_group(comm, status);
}

static jd_status all_reduce(struct jd_comm *comm,
                            const struct jd_collective *call, enum jd_reduce op)
{
    struct jd_shm_reduction reduction = { .call = call,
                                          .op = op,
                                          .divisor = comm->size };
    return comm->wire ? leave_group(comm, jd__inter_all_reduce(comm, call, op))
                      : reduce_in_group(comm, &reduction);
}

static jd_status reduce_scatter(struct jd_comm *comm,
                                const struct jd_collective *call,
                                enum jd_reduce op, size_t rows)
{
    struct jd_shm_reduction reduction = {
        .call = call,
        .op = op,
        .divisor = comm->size,
        .scatter = true,
        .rows = rows,
    };
    return comm->wire ? leave_group(comm, jd__inter_reduce_scatter(comm, call,
                                                                   op, rows))
                      : reduce_in_group(comm, &reduction);
}

/* ---- moves -------------------------------------------------------------- */

static jd_status move_in_group(struct jd_comm *comm,
                               const struct jd_collective *call,
                               const struct jd_signature *signature,
                               const struct jd_shm_move *move)
{
    void *payload = jd__shm_payload_space(comm->group);
    size_t bytes = jd__shm_move_tell(comm->group, move, payload);
    jd_status status = call_group(comm, call, signature, payload, bytes, NULL);
    if (status == JD_OK)
        status = jd__shm_move_run(comm->group, move);
    return leave_group(comm, status);
}

static jd_status all_gather(struct jd_comm *comm,
                            const struct jd_collective *call, size_t rows)
{
    if (comm->wire)
        return leave_group(comm, jd__inter_all_gather(comm, call, rows));
    struct jd_signature signature = sign_call(call);
    signature.digest = call->rest ? call->rest : rows;
    struct jd_shm_move plan = jd__shm_move_all_gather(comm->group, call, rows);
    return move_in_group(comm, call, &signature, &plan);
}

static jd_status all_to_all(struct jd_comm *comm,
                            const struct jd_collective *call,
                            const struct jd_pieces *pieces)
{
    if (comm->wire)
        return leave_group(comm, jd__inter_all_to_all(comm, call, pieces));
    struct jd_signature signature = sign_call(call);
    signature.digest = pieces->rest;
    struct jd_shm_move plan =
        jd__shm_move_all_to_all(comm->group, call, pieces);
    return move_in_group(comm, call, &signature, &plan);
}

static jd_status permute_blocks(struct jd_comm *comm,
                                const struct jd_collective *call,
                                const struct jd_permute *permute)
{
    if (comm->wire)
        return leave_group(comm, jd__inter_permute(comm, call, permute));
    struct jd_signature signature = sign_call(call);
    signature.digest = permute->digest;
    struct jd_shm_move plan = jd__shm_move_permute(comm->group, call, permute);
    return move_in_group(comm, call, &signature, &plan);
}

static jd_status broadcast_block(struct jd_comm *comm,
                                 const struct jd_collective *call, int source)
{
    if (comm->wire)
        return leave_group(comm, jd__inter_broadcast(comm, call, source));
    struct jd_signature signature = sign_call(call);
    signature.source = source;
    struct jd_shm_move plan = jd__shm_move_broadcast(comm->group, call, source);
    return move_in_group(comm, call, &signature, &plan);
}

static jd_status ragged_all_to_all(struct jd_comm *comm,
                                   const struct jd_collective *call,
                                   const struct jd_ragged *ragged)
{
    if (comm->wire)
        return leave_group(comm, jd__inter_ragged(comm, call, ragged));
    struct jd_signature signature = sign_call(call);
    signature.digest = ragged->rest;
    void *payload = jd__shm_payload_space(comm->group);
    size_t bytes = jd__shm_move_tell_ragged(comm->group, call, ragged, payload);
    jd_status status = call_group(comm, call, &signature, payload, bytes, NULL);
    if (status == JD_OK)
        status = jd__shm_move_run_ragged(comm->group, call, ragged);
    return leave_group(comm, status);
}

static jd_status transfer_by_wire(struct jd_comm *comm,
                                  const struct jd_transfer *transfers,
                                  int count)
{
    struct jd_wait *wait = jd__channel_next_wait(comm->wire);
    wait->is_transfer = true;
    wait->is_handed_on = false;
    jd_status status = jd__inter_transfer(comm, transfers, count);
    wait->is_transfer = false;
    return leave_group(comm, status);
}

static jd_status run_transfers(struct jd_comm *comm,
                               const struct jd_transfer *transfers, int count)
{
    if (comm->wire)
        return transfer_by_wire(comm, transfers, count);
    jd__shm_begin(
        comm->group,
        jd__signature_activity_name(jd__transfers_activity(transfers, count)),
        transfers[0].call.detail);
    return jd__shm_p2p_transfer(comm->group, transfers, count);
}

/* ---- the table ---------------------------------------------------------- */

const struct jd_device_source jd__device_source_cpu = {
    .platform = "cpu",
    .enumerate = enumerate_devices,
};

const struct jd_platform jd__platform_cpu = {
    .source = &jd__device_source_cpu,
    .memory = &jd__memory_cpu,
    .check_reduce = check_reduce,
    .comm_create = jd__comm_create,
    .comm_destroy = jd__comm_destroy,
    .comm_abort = jd__comm_abort,
    .comm_find_failed = jd__comm_find_failed,
    .barrier = wait_at_barrier,
    .all_reduce = all_reduce,
    .reduce_scatter = reduce_scatter,
    .all_gather = all_gather,
    .all_to_all = all_to_all,
    .ragged_all_to_all = ragged_all_to_all,
    .permute = permute_blocks,
    .broadcast = broadcast_block,
    .transfer = run_transfers,
};

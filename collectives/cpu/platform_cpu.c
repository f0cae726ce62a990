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
#include "collectives/platform/mismatch.h"
#include "collectives/platform/platform.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * JD_NUM_CPU_DEVICES devices, all alike. Their memory is the host's, which
 * the processes of the host share, so memory_bytes is not to be added up.
 */
static jd_status enumerate(const struct jd_settings *settings,
                           const struct jd_host_facts *host,
                           struct jd_found_devices *found)
{
    int count = (int)jd__settings_integer(settings, JD_OPTION_NUM_CPU_DEVICES);
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

static const char *remedy_of(jd_dtype dtype, enum jd_reduce op)
{
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
                   jd__activity_name(call->activity),
                   jd_dtype_name(call->dtype), remedy_of(call->dtype, op));
}

/* ---- meeting in a team -------------------------------------------------- */

static const struct jd_signature *get_signature(const void *team, int member)
{
    return jd__team_signature(team, member);
}

/* INVALID_ARGUMENT, the same on every member, where they do not all call the
 * same thing. */
static jd_status compare_calls(struct jd_clique *clique,
                               const struct jd_collective *call)
{
    const struct jd_team *team = clique->team;
    int odd, other;
    if (jd__team_agrees(team))
        return JD_OK;
    if (!jd__signature_find_odd(get_signature, team, clique->size, &odd,
                                &other))
        return JD_OK;
    struct jd_mismatch mismatch = {
        .platform = &jd__platform_cpu,
        .clique = clique,
        .call = call,
        .processes = clique->processes,
        .size = clique->size,
        .index = clique->index,
        .odd = { odd, *jd__team_signature(team, odd) },
        .other = { other, *jd__team_signature(team, other) },
    };
    return jd__mismatch_fail(&mismatch);
}

/* Meets with all members, whose calls are compared. */
static jd_status call_team(struct jd_clique *clique,
                           const struct jd_collective *call,
                           const struct jd_signature *signature,
                           const void *payload, size_t bytes)
{
    jd__team_begin(clique->team, jd__activity_name(call->activity),
                   call->detail);
    jd_status status = jd__team_meet(clique->team, signature, payload, bytes);
    return status == JD_OK ? compare_calls(clique, call) : status;
}

static struct jd_signature sign(const struct jd_collective *call)
{
    return (struct jd_signature){
        .activity = call->activity,
        .dtype = (uint32_t)call->dtype,
        .count = call->count,
        .source = -1,
    };
}

/* The end of each call on the team. */
static jd_status leave(struct jd_clique *clique, jd_status status)
{
    jd__team_leave(clique->team);
    return status;
}

static jd_status barrier(struct jd_clique *clique,
                         const struct jd_collective *call)
{
    if (clique->wire)
        return leave(clique, jd__between_barrier(clique, call));
    struct jd_signature signature = sign(call);
    return leave(clique, call_team(clique, call, &signature, NULL, 0));
}

/* ---- reductions --------------------------------------------------------- */

static jd_status reduce(struct jd_clique *clique,
                        struct jd_team_reduction *reduction)
{
    struct jd_signature signature = sign(reduction->call);
    signature.digest = reduction->rows;
    void *payload = jd__team_payload_space(clique->team);
    size_t bytes = jd__team_reduce_tell(clique->team, reduction, payload);
    jd_status status =
        call_team(clique, reduction->call, &signature, payload, bytes);
    if (status == JD_OK)
        status = jd__team_reduce(clique->team, reduction);
    return leave(clique, status);
}

static jd_status all_reduce(struct jd_clique *clique,
                            const struct jd_collective *call, enum jd_reduce op)
{
    struct jd_team_reduction reduction = { .call = call,
                                           .op = op,
                                           .divisor = clique->size };
    return clique->wire
               ? leave(clique, jd__between_all_reduce(clique, call, op))
               : reduce(clique, &reduction);
}

static jd_status reduce_scatter(struct jd_clique *clique,
                                const struct jd_collective *call,
                                enum jd_reduce op, size_t rows)
{
    struct jd_team_reduction reduction = {
        .call = call,
        .op = op,
        .divisor = clique->size,
        .scatter = true,
        .rows = rows,
    };
    return clique->wire ? leave(clique, jd__between_reduce_scatter(clique, call,
                                                                   op, rows))
                        : reduce(clique, &reduction);
}

/* ---- moves -------------------------------------------------------------- */

static jd_status move(struct jd_clique *clique,
                      const struct jd_collective *call,
                      const struct jd_signature *signature,
                      const struct jd_move *move)
{
    void *payload = jd__team_payload_space(clique->team);
    size_t bytes = jd__move_tell(clique->team, move, payload);
    jd_status status = call_team(clique, call, signature, payload, bytes);
    if (status == JD_OK)
        status = jd__move_run(clique->team, move);
    return leave(clique, status);
}

static jd_status all_gather(struct jd_clique *clique,
                            const struct jd_collective *call, size_t rows)
{
    if (clique->wire)
        return leave(clique, jd__between_all_gather(clique, call, rows));
    struct jd_signature signature = sign(call);
    signature.digest = rows;
    struct jd_move plan = jd__move_all_gather(clique->team, call, rows);
    return move(clique, call, &signature, &plan);
}

static jd_status all_to_all(struct jd_clique *clique,
                            const struct jd_collective *call,
                            const struct jd_pieces *pieces)
{
    if (clique->wire)
        return leave(clique, jd__between_all_to_all(clique, call, pieces));
    struct jd_signature signature = sign(call);
    signature.digest = pieces->rest;
    struct jd_move plan = jd__move_all_to_all(clique->team, call, pieces);
    return move(clique, call, &signature, &plan);
}

static jd_status permute(struct jd_clique *clique,
                         const struct jd_collective *call,
                         const struct jd_permute *permute)
{
    if (clique->wire)
        return leave(clique, jd__between_permute(clique, call, permute));
    struct jd_signature signature = sign(call);
    signature.digest = permute->digest;
    struct jd_move plan = jd__move_permute(clique->team, call, permute);
    return move(clique, call, &signature, &plan);
}

static jd_status broadcast(struct jd_clique *clique,
                           const struct jd_collective *call, int source)
{
    if (clique->wire)
        return leave(clique, jd__between_broadcast(clique, call, source));
    struct jd_signature signature = sign(call);
    signature.source = source;
    struct jd_move plan = jd__move_broadcast(clique->team, call, source);
    return move(clique, call, &signature, &plan);
}

static jd_status ragged_all_to_all(struct jd_clique *clique,
                                   const struct jd_collective *call,
                                   const struct jd_ragged *ragged)
{
    if (clique->wire)
        return leave(clique, jd__between_ragged(clique, call, ragged));
    struct jd_signature signature = sign(call);
    signature.digest = (uint64_t)ragged->per_member;
    void *payload = jd__team_payload_space(clique->team);
    size_t bytes = jd__move_tell_ragged(clique->team, ragged, payload);
    jd_status status = call_team(clique, call, &signature, payload, bytes);
    if (status == JD_OK)
        status = jd__move_run_ragged(clique->team, call, ragged);
    return leave(clique, status);
}

static jd_status transfer(struct jd_clique *clique,
                          const struct jd_transfer *transfers, int count)
{
    const struct jd_collective *first = &transfers[0].call;
    if (clique->wire)
        return leave(clique, jd__between_transfer(clique, transfers, count));
    jd__team_begin(
        clique->team,
        jd__activity_name(count == 1 ? first->activity : JD_ACTIVITY_GROUP),
        first->detail);
    return jd__mail_transfer(clique->team, transfers, count);
}

/* ---- the table ---------------------------------------------------------- */

const struct jd_device_source jd__device_source_cpu = {
    .platform = "cpu",
    .enumerate = enumerate,
};

const struct jd_platform jd__platform_cpu = {
    .source = &jd__device_source_cpu,
    .memory = &jd__memory_cpu,
    .check_reduce = check_reduce,
    .clique_create = jd__clique_cpu_create,
    .clique_destroy = jd__clique_cpu_destroy,
    .clique_abort = jd__clique_cpu_abort,
    .barrier = barrier,
    .all_reduce = all_reduce,
    .reduce_scatter = reduce_scatter,
    .all_gather = all_gather,
    .all_to_all = all_to_all,
    .ragged_all_to_all = ragged_all_to_all,
    .permute = permute,
    .broadcast = broadcast,
    .transfer = transfer,
};

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * extremes.c - the public reductions that also say where the value was. What
 * travels are pairs (located.h), one reduction of them, or, where the devices
 * are GPUs, a gather of them, which the host reduces; what the others, the
 * recorder and sentences hear of is the program's type.
 */
#include "base/numbers.h"
#include "base/progress.h"
#include "collectives/api/checks.h"
#include "collectives/api/host_copies.h"
#include "collectives/kernels/fold.h"
#include "collectives/kernels/located.h"
#include "jd_collectives.h"

#include <stdlib.h>
#include <string.h>

enum {
    SHORT = 64,     /* pairs that stand on the stack */
    PIECE = 1 << 16 /* pairs of all members that are gathered at a time */
};

/* The call as the program makes it. */
struct extreme {
    struct jd_collective call;
    const int64_t *in_index; /* NULL: the member's own index */
    int64_t *out_index;
    enum jd_reduce op; /* MAX or MIN */
};

/* One of the call's four buffers. */
struct extreme_buffer {
    const char *name;
    uintptr_t at;
    size_t bytes;
};

static jd_status check_apart(const struct extreme *extreme,
                             struct extreme_buffer a, struct extreme_buffer b,
                             bool may_be_same)
{
    if (!a.at || !b.at || a.at + a.bytes <= b.at || b.at + b.bytes <= a.at ||
        (may_be_same && a.at == b.at))
        return JD_OK;
    return jd_fail(JD_INVALID_ARGUMENT,
                   "%s: %s and %s overlap; give buffers that do not%s",
                   jd__signature_activity_name(extreme->call.activity), a.name,
                   b.name, may_be_same ? ", " JD_SAME_BUFFER : "");
}

/* Those of indices, beside each other and beside those of values. */
static jd_status check_indices(const struct extreme *extreme)
{
    const struct jd_collective *call = &extreme->call;
    size_t bytes = call->count * jd_dtype_size(call->dtype);
    size_t index_bytes = call->count * sizeof(int64_t);
    struct extreme_buffer in = { "in", (uintptr_t)call->in, bytes };
    struct extreme_buffer out = { "out", (uintptr_t)call->out, bytes };
    struct extreme_buffer from = { "in_index", (uintptr_t)extreme->in_index,
                                   index_bytes };
    struct extreme_buffer to = { "out_index", (uintptr_t)extreme->out_index,
                                 index_bytes };
    if (call->count == 0)
        return JD_OK;
    if (!extreme->out_index)
        return jd_fail(JD_INVALID_ARGUMENT,
                       "%s: out_index is NULL and count is %zu; only a count "
                       "of 0 needs no buffer",
                       jd__signature_activity_name(call->activity),
                       call->count);
    jd_status status = check_apart(extreme, from, to, true);
    if (status == JD_OK)
        status = check_apart(extreme, out, to, false);
    if (status == JD_OK)
        status = check_apart(extreme, in, to, false);
    return status == JD_OK ? check_apart(extreme, from, out, false) : status;
}

/* That of values is refused first: its sentence holds everywhere. */
static jd_status check_meaning(const jd_shard *shard,
                               const struct extreme *extreme)
{
    const struct jd_platform *platform = shard->mesh->platform;
    const struct jd_collective *call = &extreme->call;
    jd_status status = platform->check_reduce(call, extreme->op);
    if (status == JD_OK)
        status = jd__checks_host(shard, call);
    if (status == JD_OK)
        status =
            jd__checks_host_buffer(shard, call, "in_index", extreme->in_index);
    return status == JD_OK ? jd__checks_host_buffer(shard, call, "out_index",
                                                    extreme->out_index)
                           : status;
}

static jd_status check_extreme(jd_shard *shard, const char *axes,
                               struct extreme *extreme,
                               struct jd_axis_comm **ret_axis_comm)
{
    struct jd_collective *call = &extreme->call;
    const struct jd_buffers buffers = { call->count, call->count, 0,
                                        JD_SAME_BUFFER };
    jd_status status = jd__checks_call(shard, axes, call, 1, ret_axis_comm);
    if (status == JD_OK &&
        call->count > PTRDIFF_MAX / sizeof(struct jd_located))
        status = jd__fail_no_memory(jd__signature_activity_name(call->activity),
                                    SIZE_MAX);
    if (status == JD_OK)
        status = jd__checks_buffers(call, &buffers);
    if (status == JD_OK)
        status = check_indices(extreme);
    return status == JD_OK ? check_meaning(shard, extreme) : status;
}

/* What travels. */
static struct jd_collective call_of_pairs(const struct extreme *extreme,
                                          struct jd_located *pairs)
{
    struct jd_collective call = extreme->call;
    call.in = call.out = pairs;
    call.dtype = JD_C128;
    call.said = extreme->call.dtype;
    return call;
}

/* All members' pairs, a piece at a time. */
struct pair_gather {
    struct jd_located *pairs; /* `most` of each member, one after the other */
    const void **ins;
    size_t most;
};

static void fold_gather(const struct pair_gather *all, int size, size_t count,
                        struct jd_located *pairs)
{
    void *out = pairs;
    for (int i = 0; i < size; i++)
        all->ins[i] = all->pairs + (size_t)i * count;
    jd__fold_find(JD_C128, JD_REDUCE_LOCATED,
                  JD_FOLD_WHOLE)(&(struct jd_fold){ .ins = all->ins,
                                                    .outs = &out,
                                                    .num_ins = size,
                                                    .num_outs = 1,
                                                    .count = count });
}

/* After a meeting, in which the calls are compared. */
static jd_status gather_pieces(struct jd_axis_comm *axis_comm,
                               struct jd_collective call,
                               const struct pair_gather *all)
{
    const struct jd_platform *platform = axis_comm->shard->mesh->platform;
    struct jd_comm *comm = jd__axis_comm_handle(axis_comm);
    struct jd_located *pairs = call.out;
    size_t count = call.count;
    jd_status status = platform->barrier(comm, &call);
    for (size_t done = 0; done < count && status == JD_OK; done += call.count) {
        call.in = pairs + done;
        call.out = all->pairs;
        call.count = jd__numbers_smaller(all->most, count - done);
        status = platform->all_gather(comm, &call, 1);
        if (status == JD_OK)
            fold_gather(all, axis_comm->size, call.count, pairs + done);
    }
    return status;
}

static jd_status gather_pairs(struct jd_axis_comm *axis_comm,
                              const struct jd_collective *call)
{
    size_t size = (size_t)axis_comm->size;
    struct pair_gather all = {
        .most = jd__numbers_smaller(PIECE / size, call->count) + 1
    };
    all.pairs = malloc(all.most * size * sizeof *all.pairs);
    all.ins = malloc(size * sizeof *all.ins);
    jd_status status =
        all.pairs && all.ins
            ? gather_pieces(axis_comm, *call, &all)
            : jd__fail_no_memory(jd__signature_activity_name(call->activity),
                                 all.most * size * sizeof *all.pairs);
    free(all.pairs);
    free(all.ins);
    return status;
}

/* Of all members, in place. */
static jd_status reduce_pairs(struct jd_axis_comm *axis_comm,
                              const struct extreme *extreme,
                              struct jd_located *pairs)
{
    const struct jd_platform *platform = axis_comm->shard->mesh->platform;
    struct jd_collective call = call_of_pairs(extreme, pairs);
    jd_status status = jd__axis_comm_enter(axis_comm, &call, 0);
    if (status != JD_OK)
        return status;
    if (platform->streams)
        status = gather_pairs(axis_comm, &call);
    else
        status = platform->all_reduce(jd__axis_comm_handle(axis_comm), &call,
                                      JD_REDUCE_LOCATED);
    return jd__axis_comm_leave(axis_comm, call.activity, status);
}

/* A member that is alone keeps its values, bit for bit, as in jd_pmax(). */
static jd_status locate_extreme(struct jd_axis_comm *axis_comm,
                                const struct extreme *extreme,
                                struct jd_located *pairs)
{
    const struct jd_collective *call = &extreme->call;
    const struct jd_locating locating = {
        .dtype = call->dtype,
        .is_least = extreme->op == JD_REDUCE_MIN,
        .own = axis_comm->index,
    };
    jd__located_pack(&locating, call->in, extreme->in_index, call->count,
                     pairs);
    jd_status status = reduce_pairs(axis_comm, extreme, pairs);
    if (status != JD_OK || call->count == 0)
        return status;
    if (axis_comm->size > 1)
        jd__located_values(&locating, pairs, call->count, call->out);
    else
        memmove(call->out, call->in, call->count * jd_dtype_size(call->dtype));
    jd__located_indices(pairs, call->count, extreme->out_index);
    return JD_OK;
}

/* On the host's buffers. */
static jd_status locate_on_host(struct jd_axis_comm *axis_comm,
                                const struct extreme *extreme)
{
    struct jd_located on_stack[SHORT], *pairs = on_stack;
    const struct jd_collective *call = &extreme->call;
    if (call->count > SHORT)
        pairs = malloc(call->count * sizeof *pairs);
    if (!pairs)
        return jd__fail_no_memory(jd__signature_activity_name(call->activity),
                                  call->count * sizeof *pairs);
    jd_status status = locate_extreme(axis_comm, extreme, pairs);
    if (pairs != on_stack)
        free(pairs);
    return status;
}

static jd_status run_extreme(jd_shard *shard, const char *axes,
                             struct extreme *extreme)
{
    struct jd_host_copies copies;
    struct jd_axis_comm *axis_comm;
    struct jd_collective *call = &extreme->call;
    jd_status status = check_extreme(shard, axes, extreme, &axis_comm);
    if (status != JD_OK)
        return status;
    size_t bytes = call->count * jd_dtype_size(call->dtype);
    size_t index_bytes = call->count * sizeof(int64_t);
    jd__host_copies_begin(&copies, shard,
                          jd__signature_activity_name(call->activity));
    call->in = jd__host_copies_in(&copies, call->in, bytes);
    extreme->in_index =
        jd__host_copies_in(&copies, extreme->in_index, index_bytes);
    call->out = jd__host_copies_out(&copies, call->out, bytes);
    extreme->out_index =
        jd__host_copies_out(&copies, extreme->out_index, index_bytes);
    if (copies.status == JD_OK)
        status = locate_on_host(axis_comm, extreme);
    return jd__host_copies_end(&copies, status);
}

jd_status jd_pmaxloc(jd_shard *shard, const char *axes, const void *in,
                     const int64_t *in_index, void *out, int64_t *out_index,
                     size_t count, jd_dtype dtype)
{
    JD_NOTE_CALLER();
    struct extreme extreme = { .call = { .activity = JD_ACTIVITY_PMAXLOC,
                                         .in = in,
                                         .out = out,
                                         .count = count,
                                         .dtype = dtype },
                               .in_index = in_index,
                               .out_index = out_index,
                               .op = JD_REDUCE_MAX };
    return run_extreme(shard, axes, &extreme);
}

jd_status jd_pminloc(jd_shard *shard, const char *axes, const void *in,
                     const int64_t *in_index, void *out, int64_t *out_index,
                     size_t count, jd_dtype dtype)
{
    JD_NOTE_CALLER();
    struct extreme extreme = { .call = { .activity = JD_ACTIVITY_PMINLOC,
                                         .in = in,
                                         .out = out,
                                         .count = count,
                                         .dtype = dtype },
                               .in_index = in_index,
                               .out_index = out_index,
                               .op = JD_REDUCE_MIN };
    return run_extreme(shard, axes, &extreme);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * inter_reduce.c - sums and the like between groups; long ones rail by rail.
 *
 * The owner of a rail folds its group's operands there into wide partial
 * results. Of two groups with partial results that are no wider than results
 * the owners exchange them, and both finish all of the rail; of more, each
 * group's owner gets a block of it from all (reduce_scatter), finishes that,
 * and gets the others' (all_gather). Each element of a result is finished by
 * owners who fold alike, so it has the same bits everywhere.
 */
#include "collectives/cpu/inter/inter_private.h"

#include <string.h>

/* ---- long ones ------------------------------------------------------------
 */

struct reduction {
    struct jd_inter_flow flow;
    jd_fold_function *partial, *finish;
    size_t element, wide; /* bytes */
    bool exchanges;
};

static const struct reduction *reduction_of(const struct jd_inter_flow *flow)
{
    return (const struct reduction *)(const void *)flow;
}

/* ---- bounce memory */

static char *given_at(const struct jd_inter_flow *flow, size_t k, int place)
{
    return jd__inter_bounce(flow->comm, place) +
           k % 2 * flow->piece * flow->unit;
}

static char *result_at(const struct jd_inter_flow *flow, size_t k, int place)
{
    return jd__inter_bounce(flow->comm, place) +
           (2 * flow->piece + k % 2 * flow->rail) * flow->unit;
}

static void give_piece(const struct jd_inter_flow *flow, size_t k)
{
    const struct jd_inter *inter = flow->comm->inter;
    size_t begin = jd__inter_piece_part(flow, k).begin, unit = flow->unit;
    const char *in = flow->call->in;
    for (int rail = 0; rail < inter->rails; rail++) {
        struct jd_part part = jd__inter_rail_part(flow, k, rail);
        if (rail != inter->place)
            memcpy(given_at(flow, k, inter->place) +
                       (part.begin - begin) * unit,
                   in + part.begin * unit, part.count * unit);
    }
}

static void take_piece(const struct jd_inter_flow *flow, size_t k)
{
    const struct jd_inter *inter = flow->comm->inter;
    char *out = flow->call->out;
    for (int rail = 0; rail < inter->rails; rail++) {
        struct jd_part part = jd__inter_rail_part(flow, k, rail);
        if (rail != inter->place)
            memcpy(out + part.begin * flow->unit, result_at(flow, k, rail),
                   part.count * flow->unit);
    }
}

/* ---- what owners do */

static const char *operand_at(const struct jd_inter_flow *flow, size_t k,
                              int place, size_t begin)
{
    size_t bytes = flow->call->count * flow->unit;
    if (flow->is_seen || place == flow->comm->inter->place)
        return jd__inter_in_of(flow->comm, flow->call, place, bytes) +
               begin * flow->unit;
    begin -= jd__inter_piece_part(flow, k).begin;
    return given_at(flow, k, place) + begin * flow->unit;
}

static void fold_partial(const struct jd_inter_flow *flow, size_t k,
                         struct jd_part part, void *out)
{
    const struct jd_inter *inter = flow->comm->inter;
    int size = jd__inter_group_size(inter, inter->group);
    for (int i = 0; i < size; i++)
        inter->ins[i] = operand_at(flow, k, i, part.begin);
    if (part.count)
        reduction_of(flow)->partial(&(struct jd_fold){ .ins = inter->ins,
                                                       .num_ins = size,
                                                       .outs = &out,
                                                       .num_outs = 1,
                                                       .count = part.count });
}

static bool is_loaded(const struct jd_inter_flow *flow, size_t k)
{
    const struct jd_inter *inter = flow->comm->inter;
    return jd__inter_group_size(inter, inter->group) > 1 ||
           !jd__inter_folds_operand(flow, k);
}

/* In a caller's buffer. */
static char *block_at(const struct jd_inter_flow *flow, size_t k, int group,
                      const void *buffer)
{
    size_t begin = jd__inter_own_rail(flow, k).begin;
    if (!reduction_of(flow)->exchanges)
        begin += jd__inter_even_begin(flow, k, group);
    return (char *)buffer + begin * flow->unit;
}

static char *operand_of(const struct jd_inter_flow *flow, size_t k, int group)
{
    return is_loaded(flow, k) ? NULL : block_at(flow, k, group, flow->call->in);
}

/* Results are gathered where they go to. */
static char *memory_of(const struct jd_inter_flow *flow, size_t k, int phase,
                       int group)
{
    if (reduction_of(flow)->exchanges)
        return operand_of(flow, k, group);
    if (phase == 0 || jd__inter_flow_origin(flow, k, phase) != 0)
        return NULL;
    return block_at(flow, k, group, flow->call->out);
}

static void load_left_alone(const struct jd_inter_flow *flow, size_t k)
{
    struct jd_blocks blocks = jd__inter_left_alone(flow);
    size_t rail = jd__inter_own_rail(flow, k).begin;
    size_t begin = jd__inter_even_begin(flow, k, blocks.first);
    size_t end = jd__inter_even_begin(flow, k, blocks.first + blocks.count);
    if (blocks.count)
        fold_partial(flow, k, (struct jd_part){ rail + begin, end - begin },
                     jd__inter_flow_at(flow, k, 0, blocks.first));
}

static void load_piece(const struct jd_inter_flow *flow, size_t k)
{
    struct jd_part rail = jd__inter_own_rail(flow, k);
    int origin = jd__inter_flow_origin(flow, k, 0);
    size_t begin = jd__inter_even_begin(flow, k, origin);
    struct jd_part last = { rail.begin + begin, rail.count - begin };
    struct jd_part first = { rail.begin, begin };
    char *memory = jd__inter_flow_at(flow, k, 0, origin);
    if (!is_loaded(flow, k)) {
        load_left_alone(flow, k);
        return;
    }
    fold_partial(flow, k, last, memory);
    fold_partial(flow, k, first,
                 memory + last.count * reduction_of(flow)->wide);
}

/* Where finished elements go to at once: all members' out, or the own and the
 * bounce memory; how many that are. */
static int find_outs(const struct jd_inter_flow *flow, size_t k)
{
    const struct jd_inter *inter = flow->comm->inter;
    size_t bytes = flow->call->count * flow->unit;
    size_t at = jd__inter_own_rail(flow, k).begin * flow->unit;
    int count = 0, size = jd__inter_group_size(inter, inter->group);
    inter->outs[count++] = (char *)flow->call->out + at;
    if (!flow->is_seen && size > 1)
        inter->outs[count++] = result_at(flow, k, inter->place);
    for (int i = 0; flow->is_seen && i < size; i++)
        if (i != inter->place)
            inter->outs[count++] =
                jd__inter_out_of(flow->comm, flow->call, i, bytes) + at;
    return count;
}

static void finish_all(const struct jd_inter_flow *flow, size_t k)
{
    const struct jd_inter *inter = flow->comm->inter;
    int own = inter->group;
    size_t count = jd__inter_own_rail(flow, k).count;
    inter->ins[own] = jd__inter_flow_at(flow, k, 0, 0);
    inter->ins[1 - own] = jd__inter_flow_came(flow, k);
    if (count)
        reduction_of(flow)->finish(
            &(struct jd_fold){ .ins = inter->ins,
                               .num_ins = 2,
                               .outs = inter->outs,
                               .num_outs = find_outs(flow, k),
                               .count = count,
                               .divisor = flow->comm->size });
}

static void turn_piece(const struct jd_inter_flow *flow, size_t k)
{
    int own = flow->comm->inter->group;
    size_t count = jd__inter_even_begin(flow, k, own + 1) -
                   jd__inter_even_begin(flow, k, own);
    const void *in = jd__inter_flow_at(flow, k, 0, own);
    void *out = jd__inter_flow_at(flow, k, 1, own);
    if (reduction_of(flow)->exchanges)
        finish_all(flow, k);
    else if (count)
        reduction_of(flow)->finish(
            &(struct jd_fold){ .ins = &in,
                               .num_ins = 1,
                               .outs = &out,
                               .num_outs = 1,
                               .count = count,
                               .divisor = flow->comm->size });
}

static void deliver_piece(const struct jd_inter_flow *flow, size_t k)
{
    const struct jd_inter *inter = flow->comm->inter;
    size_t bytes = jd__inter_own_rail(flow, k).count * flow->unit;
    if (reduction_of(flow)->exchanges)
        return;
    int count = find_outs(flow, k);
    if (!memory_of(flow, k, 1, 0))
        jd__inter_flow_read(flow, k, inter->outs[0]);
    for (int i = 1; i < count; i++)
        memcpy(inter->outs[i], inter->outs[0], bytes);
}

static const struct jd_inter_flow_ops reduce_ops = {
    .begin = jd__inter_even_begin,
    .give = give_piece,
    .take = take_piece,
    .load = load_piece,
    .turn = turn_piece,
    .deliver = deliver_piece,
    .memory = memory_of,
    .operand = operand_of,
};

/* ---- all of it */

static struct reduction make_reduction(struct jd_comm *comm,
                                       const struct jd_inter_sync *sync)
{
    const struct jd_collective *call = sync->call;
    jd_dtype dtype = call->dtype, wide = jd__fold_wide(dtype);
    struct jd_schedule s = { .parties = comm->num_groups,
                             .self = comm->inter->group };
    struct reduction r = {
        .partial = jd__fold_find(dtype, sync->op, JD_FOLD_PARTIAL),
        .finish = jd__fold_find(dtype, sync->op, JD_FOLD_FINISH),
        .element = jd_dtype_size(dtype),
        .wide = jd_dtype_size(wide),
    };
    r.exchanges = comm->num_groups == 2 && r.wide == r.element;
    r.flow = (struct jd_inter_flow){
        .comm = comm,
        .call = call,
        .ops = &reduce_ops,
        .phases = { s, s },
        .widths = { r.wide, r.element },
        .num_phases = r.exchanges ? 1 : 2,
        .fold = jd__fold_find(dtype, sync->op, JD_FOLD_WIDE),
        .is_cut = { false, !r.exchanges },
        .cuts_operand = jd__inter_is_lone(comm) && r.wide == r.element,
        .length = call->count,
        .unit = r.element,
    };
    r.flow.phases[0].kind =
        r.exchanges ? JD_SCHEDULE_MERGE : JD_SCHEDULE_REDUCE_SCATTER;
    r.flow.phases[1].kind = JD_SCHEDULE_ALL_GATHER;
    return r;
}

jd_status jd__inter_reduce_long(struct jd_comm *comm,
                                struct jd_inter_sync *sync)
{
    struct reduction r = make_reduction(comm, sync);
    return jd__inter_flow_even(&r.flow, sync);
}

/* ---- short ones ------------------------------------------------------------
 */

/* What was folded in the sync, or this member's part of it. */
static void take_folded(const struct jd_comm *comm,
                        const struct jd_collective *call,
                        const struct jd_inter_scatter *scatter)
{
    size_t width = call->count * jd_dtype_size(call->dtype);
    const char *brought = jd__inter_brought(comm);
    struct jd_strided in = jd__strided_flat(brought, width);
    if (scatter)
        in = (struct jd_strided){
            .base = (char *)brought + (size_t)comm->index * width,
            .rows = scatter->rows,
            .width = width,
            .pitch = (size_t)comm->size * width,
        };
    if (width)
        jd__strided_read(&in, 0, jd__strided_bytes(&in), call->out);
}

static jd_status reduce_or_scatter(struct jd_comm *comm,
                                   struct jd_inter_sync *sync,
                                   const struct jd_inter_scatter *scatter)
{
    jd_status status;
    if (comm->is_deterministic)
        return jd__inter_reduce_ordered(comm, sync, scatter);
    if (jd__inter_bring(comm, sync, JD_BRING_SUM, sync->bytes))
        status = jd__inter_sync(comm, sync);
    else
        status = scatter ? jd__inter_scatter_long(comm, sync, scatter)
                         : jd__inter_reduce_long(comm, sync);
    if (status == JD_OK && jd__inter_has_come(comm, sync))
        take_folded(comm, sync->call, scatter);
    return status;
}

jd_status jd__inter_all_reduce(struct jd_comm *comm,
                               const struct jd_collective *call,
                               enum jd_reduce op)
{
    struct jd_inter_sync sync = {
        .call = call,
        .signature = jd__inter_sign(call),
        .op = op,
        .bytes = call->count * jd_dtype_size(call->dtype),
    };
    return reduce_or_scatter(comm, &sync, NULL);
}

jd_status jd__inter_reduce_scatter(struct jd_comm *comm,
                                   const struct jd_collective *call,
                                   enum jd_reduce op, size_t rows)
{
    struct jd_inter_sync sync = {
        .call = call,
        .signature = jd__inter_sign(call),
        .op = op,
        .bytes = call->count * rows * jd_dtype_size(call->dtype) *
                 (size_t)comm->size,
    };
    sync.signature.digest = rows;
    return reduce_or_scatter(comm, &sync, &(struct jd_inter_scatter){ rows });
}

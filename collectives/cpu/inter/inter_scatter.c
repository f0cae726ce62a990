/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * inter_scatter.c - long reduce_scatters between groups. A rail serves every
 * rails-th member of each group: its owner folds what those of each group are
 * to get, as wide partial results, and of these each group's owner gets its
 * group's from all.
 */
#include "base/numbers.h"
#include "collectives/cpu/inter/inter_private.h"

/* Of groups of one, whose operands are then folded where they are; longer ones
 * are as fast in pieces, which the caches hold. */
#define MOST_AT_ONCE ((size_t)2 << 20)

struct scatter {
    struct jd_inter_flow flow; /* elements: of a member's block */
    jd_fold_function *partial, *finish;
    size_t wide, rows, in_bytes;
};

static const struct scatter *scatter_of(const struct jd_inter_flow *flow)
{
    return (const struct scatter *)(const void *)flow;
}

static size_t begin_of(const struct jd_inter_flow *flow, size_t k, int group)
{
    return (size_t)flow->comm->inter->served[group] *
           jd__inter_piece_part(flow, k).count;
}

/* What is for a member in an input. */
static struct jd_strided block_of(const struct jd_inter_flow *flow,
                                  const char *in, int member)
{
    size_t width = flow->call->count * flow->unit;
    return (struct jd_strided){
        .base = (char *)in + (size_t)member * width,
        .rows = scatter_of(flow)->rows,
        .width = width,
        .pitch = (size_t)flow->comm->size * width,
    };
}

/* ---- bounce memory --------------------------------------------------------
 */

static char *given_at(const struct jd_inter_flow *flow, size_t k, int place,
                      int member)
{
    size_t blocks = k % 2 * (size_t)flow->comm->size + (size_t)member;
    return jd__inter_bounce(flow->comm, place) +
           blocks * flow->piece * flow->unit;
}

/* Of the i-th member of the group that an owner's rail serves. */
static char *result_at(const struct jd_inter_flow *flow, size_t k, int place,
                       int i)
{
    const struct jd_inter *inter = flow->comm->inter;
    int served = jd__inter_served(inter, inter->group, place);
    size_t blocks =
        2 * (size_t)flow->comm->size + k % 2 * (size_t)served + (size_t)i;
    return jd__inter_bounce(flow->comm, place) +
           blocks * flow->piece * flow->unit;
}

static void give_piece(const struct jd_inter_flow *flow, size_t k)
{
    const struct jd_comm *comm = flow->comm;
    struct jd_part part = jd__inter_piece_part(flow, k);
    for (int i = 0; i < comm->size; i++) {
        struct jd_strided block = block_of(flow, flow->call->in, i);
        if (comm->places[i] % comm->inter->rails != comm->inter->place)
            jd__strided_read(&block, part.begin * flow->unit,
                             part.count * flow->unit,
                             given_at(flow, k, comm->inter->place, i));
    }
}

static char *out_at(const struct jd_inter_flow *flow, size_t k)
{
    return (char *)flow->call->out +
           jd__inter_piece_part(flow, k).begin * flow->unit;
}

static void take_piece(const struct jd_inter_flow *flow, size_t k)
{
    const struct jd_inter *inter = flow->comm->inter;
    int owner = inter->place % inter->rails, i = inter->place / inter->rails;
    struct jd_strided out = jd__strided_flat(
        out_at(flow, k), jd__inter_piece_part(flow, k).count * flow->unit);
    if (owner != inter->place)
        jd__strided_write(&out, 0, out.width, result_at(flow, k, owner, i));
}

/* ---- what owners do -------------------------------------------------------
 */

static char *operand_of(const struct jd_inter_flow *flow, size_t k, int group)
{
    if (scatter_of(flow)->rows != 1 || !jd__inter_lies_so(flow) ||
        !jd__inter_folds_operand(flow, k))
        return NULL;
    int member = jd__inter_member(flow->comm->inter, group, 0);
    size_t begin = jd__inter_piece_part(flow, k).begin;
    return (char *)flow->call->in +
           ((size_t)member * flow->length + begin) * flow->unit;
}

/* How many elements of a member's block lie one after the other in all
 * operands. */
static size_t run_of(const struct jd_inter_flow *flow, size_t begin,
                     size_t left)
{
    size_t row = flow->call->count - begin % flow->call->count;
    return jd__numbers_smaller(row, left);
}

static const char *operand_at(const struct jd_inter_flow *flow, size_t k,
                              int place, int member, size_t begin)
{
    struct jd_part part = jd__inter_piece_part(flow, k);
    if (!flow->is_seen && place != flow->comm->inter->place)
        return given_at(flow, k, place, member) +
               (begin - part.begin) * flow->unit;
    struct jd_strided block =
        block_of(flow,
                 jd__inter_in_of(flow->comm, flow->call, place,
                                 scatter_of(flow)->in_bytes),
                 member);
    return jd__strided_at(&block, begin * flow->unit, flow->unit);
}

static void fold_block(const struct jd_inter_flow *flow, size_t k, int member,
                       char *to)
{
    const struct jd_inter *inter = flow->comm->inter;
    struct jd_part part = jd__inter_piece_part(flow, k);
    int size = jd__inter_group_size(inter, inter->group);
    for (size_t done = 0, run; done < part.count; done += run) {
        size_t begin = part.begin + done;
        void *out = to + done * scatter_of(flow)->wide;
        run = run_of(flow, begin, part.count - done);
        for (int i = 0; i < size; i++)
            inter->ins[i] = operand_at(flow, k, i, member, begin);
        scatter_of(flow)->partial(&(struct jd_fold){ .ins = inter->ins,
                                                     .num_ins = size,
                                                     .outs = &out,
                                                     .num_outs = 1,
                                                     .count = run });
    }
}

static void load_piece(const struct jd_inter_flow *flow, size_t k)
{
    const struct jd_inter *inter = flow->comm->inter;
    size_t bytes = jd__inter_piece_part(flow, k).count * scatter_of(flow)->wide;
    struct jd_blocks all = { 0, flow->comm->num_groups, 0 };
    struct jd_blocks blocks =
        operand_of(flow, k, 0) ? jd__inter_left_alone(flow) : all;
    for (int t = blocks.first; t < blocks.first + blocks.count; t++) {
        char *at = jd__inter_flow_at(flow, k, 0, t);
        int served = jd__inter_served(inter, t, inter->place);
        for (int i = 0; i < served; i++)
            fold_block(
                flow, k,
                jd__inter_member(inter, t, inter->place + i * inter->rails),
                at + (size_t)i * bytes);
    }
}

/* Where what the i-th one that is served gets is written. */
static char *target_of(const struct jd_inter_flow *flow, size_t k, int i)
{
    const struct jd_inter *inter = flow->comm->inter;
    int place = inter->place + i * inter->rails;
    size_t all = flow->call->count * scatter_of(flow)->rows * flow->unit;
    if (place != inter->place && !flow->is_seen)
        return result_at(flow, k, inter->place, i);
    return jd__inter_out_of(flow->comm, flow->call, place, all) +
           jd__inter_piece_part(flow, k).begin * flow->unit;
}

static void deliver_piece(const struct jd_inter_flow *flow, size_t k)
{
    const struct jd_inter *inter = flow->comm->inter;
    size_t count = jd__inter_piece_part(flow, k).count;
    const char *at = jd__inter_flow_at(flow, k, 0, inter->group);
    for (int i = 0; i < jd__inter_served(inter, inter->group, inter->place);
         i++) {
        const void *in = at + (size_t)i * count * scatter_of(flow)->wide;
        void *out = target_of(flow, k, i);
        scatter_of(flow)->finish(
            &(struct jd_fold){ .ins = &in,
                               .num_ins = 1,
                               .outs = &out,
                               .num_outs = 1,
                               .count = count,
                               .divisor = flow->comm->size });
    }
}

static const struct jd_inter_flow_ops scatter_ops = {
    .begin = begin_of,
    .give = give_piece,
    .take = take_piece,
    .load = load_piece,
    .deliver = deliver_piece,
    .operand = operand_of,
};

/* ---- all of it ------------------------------------------------------------
 */

/* What is given and results fit into the bounce memory. */
static size_t choose_piece(const struct jd_inter_flow *flow)
{
    size_t served = (size_t)jd__inter_served_before(
        flow->comm->inter, flow->comm->num_groups, 0); /* of all the most */
    size_t all = served * flow->length * scatter_of(flow)->wide;
    size_t piece = jd__inter_rail_bytes(flow->comm, all, false) /
                   (served * scatter_of(flow)->wide);
    size_t room = JD_INTER_BOUNCE / (4 * (size_t)flow->comm->size * flow->unit);
    bool is_at_once = jd__inter_is_lone(flow->comm) && all <= MOST_AT_ONCE;
    piece = is_at_once ? flow->length : jd__numbers_smaller(piece, room);
    piece = jd__numbers_smaller(piece, flow->length);
    return piece ? piece : 1;
}

/* Whether one element for each member fits into the bounce memory, twice, and
 * the results. The same for all members. */
static bool has_room(const struct jd_inter_flow *flow)
{
    return jd__inter_is_lone(flow->comm) ||
           4 * (size_t)flow->comm->size * flow->unit <= JD_INTER_BOUNCE;
}

static jd_status fail_room(const struct jd_inter_flow *flow)
{
    return jd_fail(JD_RESOURCE_EXHAUSTED,
                   "%s%s: among %d members operands that a host's processes do "
                   "not share do not fit into what they pass on; take memory "
                   "of jd_device_alloc()",
                   jd__signature_activity_name(flow->call->activity),
                   flow->call->detail ? flow->call->detail : "",
                   flow->comm->size);
}

static struct scatter make_scatter(struct jd_comm *comm,
                                   const struct jd_inter_sync *sync,
                                   size_t rows)
{
    jd_dtype dtype = sync->call->dtype, wide = jd__fold_wide(dtype);
    struct scatter s = {
        .partial = jd__fold_find(dtype, sync->op, JD_FOLD_PARTIAL),
        .finish = jd__fold_find(dtype, sync->op, JD_FOLD_FINISH),
        .wide = jd_dtype_size(wide),
        .rows = rows,
        .in_bytes = sync->bytes,
    };
    s.flow = (struct jd_inter_flow){
        .comm = comm,
        .call = sync->call,
        .ops = &scatter_ops,
        .phases = { { .kind = JD_SCHEDULE_REDUCE_SCATTER,
                      .parties = comm->num_groups,
                      .self = comm->inter->group } },
        .widths = { s.wide },
        .num_phases = 1,
        .fold = jd__fold_find(dtype, sync->op, JD_FOLD_WIDE),
        .cuts_operand = jd__inter_is_lone(comm) && rows == 1 && wide == dtype,
        .length = sync->call->count * rows,
        .unit = jd_dtype_size(dtype),
    };
    return s;
}

jd_status jd__inter_scatter_long(struct jd_comm *comm,
                                 struct jd_inter_sync *sync,
                                 const struct jd_inter_scatter *scatter)
{
    struct scatter s = make_scatter(comm, sync, scatter->rows);
    struct jd_inter_flow *flow = &s.flow;
    flow->piece = choose_piece(flow);
    flow->rail = flow->piece * (size_t)comm->inter->served[comm->num_groups];
    flow->scratch = jd__inter_scratch(comm, sync, jd__inter_flow_scratch(flow));
    sync->in_bytes = s.in_bytes;
    sync->out_bytes = flow->length * flow->unit;
    jd_status status = jd__inter_flow_sync(flow, sync);
    if (status != JD_OK || jd__inter_has_come(comm, sync))
        return status;
    if (!flow->is_seen && !has_room(flow))
        return fail_room(flow);
    return jd__inter_flow_run(flow);
}

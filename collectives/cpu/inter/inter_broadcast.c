/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * inter_broadcast.c - long broadcasts between groups: each rail brings one part
 * of the data. Among few groups, and among more that wait for each other's
 * processors (what counts is then how much is copied, and how often), the
 * source's owner sends it on whole; among others it is cut into a block for
 * each group (scatter), and all owners put the blocks together (all_gather).
 */
#include "collectives/cpu/inter/inter_private.h"

#include <string.h>

#define FEW_GROUPS 3

/* Elements are bytes. */
struct broadcast {
    struct jd_inter_flow flow;
    int source;
};

static const struct broadcast *broadcast_of(const struct jd_inter_flow *flow)
{
    return (const struct broadcast *)(const void *)flow;
}

static bool is_source(const struct jd_inter_flow *flow)
{
    return flow->comm->index == broadcast_of(flow)->source;
}

/* Whether the source is of this group. */
static bool is_at_source(const struct jd_inter_flow *flow)
{
    return flow->comm->groups[broadcast_of(flow)->source] ==
           flow->comm->inter->group;
}

/* ---- bounce memory --------------------------------------------------------
 */

static char *given_at(const struct jd_inter_flow *flow, size_t k)
{
    return jd__inter_bounce(flow->comm,
                            flow->comm->places[broadcast_of(flow)->source]) +
           k % 2 * flow->piece;
}

static char *result_at(const struct jd_inter_flow *flow, size_t k, int rail)
{
    return jd__inter_bounce(flow->comm, rail) + 2 * flow->piece +
           k % 2 * flow->rail;
}

static void give_piece(const struct jd_inter_flow *flow, size_t k)
{
    struct jd_part part = jd__inter_piece_part(flow, k);
    if (is_source(flow))
        memcpy(given_at(flow, k), (const char *)flow->call->in + part.begin,
               part.count);
}

static void take_piece(const struct jd_inter_flow *flow, size_t k)
{
    const struct jd_inter *inter = flow->comm->inter;
    for (int rail = 0; rail < inter->rails; rail++) {
        struct jd_part part = jd__inter_rail_part(flow, k, rail);
        char *out = (char *)flow->call->out + part.begin;
        if (rail != inter->place)
            memcpy(out, result_at(flow, k, rail), part.count);
    }
}

/* ---- what owners do -------------------------------------------------------
 */

/* This rail's part of what the source gives, as its group's owner sees it. */
static const char *data_at(const struct jd_inter_flow *flow, size_t k)
{
    struct jd_part piece = jd__inter_piece_part(flow, k);
    struct jd_part rail = jd__inter_own_rail(flow, k);
    int place = flow->comm->places[broadcast_of(flow)->source];
    if (is_source(flow) || flow->is_seen)
        return jd__inter_in_of(flow->comm, flow->call, place, flow->length) +
               rail.begin;
    return given_at(flow, k) + (rail.begin - piece.begin);
}

static char *out_at(const struct jd_inter_flow *flow, size_t k)
{
    return (char *)flow->call->out + jd__inter_own_rail(flow, k).begin;
}

/* What is sent on whole is sent from where it is, but for what was given: the
 * next but one piece lies there before it is gone; and comes to out. What is
 * put together is so in out, where its blocks lie there as they come. */
static char *memory_of(const struct jd_inter_flow *flow, size_t k, int phase,
                       int group)
{
    bool is_given = is_at_source(flow) && phase == 0;
    size_t begin =
        flow->num_phases == 2 ? jd__inter_even_begin(flow, k, group) : 0;
    if (jd__inter_flow_origin(flow, k, phase) != 0)
        return NULL;
    if (!is_given)
        return out_at(flow, k) + begin;
    return is_source(flow) || flow->is_seen ? (char *)data_at(flow, k) + begin
                                            : NULL;
}

static void load_piece(const struct jd_inter_flow *flow, size_t k)
{
    int origin = jd__inter_flow_origin(flow, k, 0);
    size_t count = jd__inter_own_rail(flow, k).count;
    size_t begin = jd__inter_even_begin(flow, k, origin);
    if (!is_at_source(flow) || memory_of(flow, k, 0, 0))
        return;
    const char *data = data_at(flow, k);
    char *memory = jd__inter_flow_at(flow, k, 0, origin);
    memcpy(memory, data + begin, count - begin);
    memcpy(memory + (count - begin), data, begin);
}

/* The own block, which the tree has brought. */
static void turn_piece(const struct jd_inter_flow *flow, size_t k)
{
    int group = flow->comm->inter->group;
    size_t count = jd__inter_even_begin(flow, k, group + 1) -
                   jd__inter_even_begin(flow, k, group);
    if (flow->num_phases == 1)
        return;
    const char *from = jd__inter_flow_at(flow, k, 0, group);
    char *to = jd__inter_flow_at(flow, k, 1, group);
    if (to != from)
        memcpy(to, from, count);
}

static void deliver_piece(const struct jd_inter_flow *flow, size_t k)
{
    const struct jd_inter *inter = flow->comm->inter;
    struct jd_part part = jd__inter_own_rail(flow, k);
    char *own = out_at(flow, k);
    int size = jd__inter_group_size(inter, inter->group);
    if (memory_of(flow, k, flow->num_phases - 1, 0) != own)
        jd__inter_flow_read(flow, k, own);
    for (int i = 0; flow->is_seen && i < size; i++)
        if (i != inter->place)
            memcpy(jd__inter_out_of(flow->comm, flow->call, i, flow->length) +
                       part.begin,
                   own, part.count);
    if (!flow->is_seen && size > 1)
        memcpy(result_at(flow, k, inter->place), own, part.count);
}

static const struct jd_inter_flow_ops broadcast_ops = {
    .begin = jd__inter_even_begin,
    .give = give_piece,
    .take = take_piece,
    .load = load_piece,
    .turn = turn_piece,
    .deliver = deliver_piece,
    .memory = memory_of,
};

/* ---- all of it ------------------------------------------------------------
 */

static struct broadcast make_broadcast(struct jd_comm *comm,
                                       const struct jd_collective *call,
                                       int source)
{
    bool is_whole = comm->num_groups <= FEW_GROUPS || jd__inter_is_crowd(comm);
    struct jd_schedule s = { .parties = comm->num_groups,
                             .self = comm->inter->group,
                             .root = comm->groups[source] };
    struct broadcast b = { .source = source };
    b.flow = (struct jd_inter_flow){
        .comm = comm,
        .call = call,
        .ops = &broadcast_ops,
        .phases = { s, s },
        .widths = { 1, 1 },
        .num_phases = is_whole ? 1 : 2,
        .is_cut = { !is_whole, !is_whole },
        .length = call->count * jd_dtype_size(call->dtype),
        .unit = 1,
    };
    b.flow.phases[0].kind =
        is_whole ? JD_SCHEDULE_BROADCAST : JD_SCHEDULE_SCATTER;
    b.flow.phases[1].kind = JD_SCHEDULE_ALL_GATHER;
    return b;
}

jd_status jd__inter_broadcast_long(struct jd_comm *comm,
                                   struct jd_inter_sync *sync, int source)
{
    struct broadcast b = make_broadcast(comm, sync->call, source);
    return jd__inter_flow_even(&b.flow, sync);
}

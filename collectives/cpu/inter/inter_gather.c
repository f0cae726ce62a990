/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * inter_gather.c - long all_gathers between groups. A rail serves every
 * rails-th member of each group: its owner has what those of its group give,
 * and gets what those of the others do.
 */
#include "base/numbers.h"
#include "collectives/cpu/inter/inter_private.h"

#include <string.h>

/* Half of it goes in the last round, which is to be over long before a
 * deadline. */
#define MOST_AT_ONCE ((size_t)256 << 20)

/* Elements are bytes of what a member gives. */
struct gather {
    struct jd_inter_flow flow;
    size_t rows, width; /* of what a member gives */
};

static const struct gather *gather_of(const struct jd_inter_flow *flow)
{
    return (const struct gather *)(const void *)flow;
}

static size_t begin_of(const struct jd_inter_flow *flow, size_t k, int group)
{
    return (size_t)flow->comm->inter->served[group] *
           jd__inter_piece_part(flow, k).count;
}

/* Where a member's rows go in an out: each beside those of the others. */
static struct jd_strided place_of(const struct jd_inter_flow *flow, char *out,
                                  int member)
{
    const struct gather *g = gather_of(flow);
    return (struct jd_strided){
        .base = out + (size_t)member * g->width,
        .rows = g->rows,
        .width = g->width,
        .pitch = (size_t)flow->comm->size * g->width,
    };
}

/* ---- bounce memory --------------------------------------------------------
 */

static char *given_at(const struct jd_inter_flow *flow, size_t k, int place)
{
    return jd__inter_bounce(flow->comm, place) + k % 2 * flow->piece;
}

static size_t rail_bytes(const struct jd_inter_flow *flow, int rail)
{
    const struct jd_inter *inter = flow->comm->inter;
    int groups = flow->comm->num_groups;
    return (size_t)jd__inter_served_before(inter, groups, rail) * flow->piece;
}

static char *result_at(const struct jd_inter_flow *flow, size_t k, int rail)
{
    return jd__inter_bounce(flow->comm, rail) + 2 * flow->piece +
           k % 2 * rail_bytes(flow, rail);
}

/* An owner has its own. */
static void give_piece(const struct jd_inter_flow *flow, size_t k)
{
    const struct jd_inter *inter = flow->comm->inter;
    struct jd_part part = jd__inter_piece_part(flow, k);
    if (inter->place >= inter->rails)
        memcpy(given_at(flow, k, inter->place),
               (const char *)flow->call->in + part.begin, part.count);
}

/* Writes what a rail has brought, in group order, into an out. */
static void unpack_rail(const struct jd_inter_flow *flow, size_t k, int rail,
                        const char *from, char *out)
{
    const struct jd_inter *inter = flow->comm->inter;
    struct jd_part part = jd__inter_piece_part(flow, k);
    for (int t = 0; t < flow->comm->num_groups; t++)
        for (int i = 0; i < jd__inter_served(inter, t, rail); i++) {
            int member = jd__inter_member(inter, t, rail + i * inter->rails);
            struct jd_strided to = place_of(flow, out, member);
            jd__strided_write(&to, part.begin, part.count, from);
            from += part.count;
        }
}

static void take_piece(const struct jd_inter_flow *flow, size_t k)
{
    const struct jd_inter *inter = flow->comm->inter;
    for (int rail = 0; rail < inter->rails; rail++)
        if (rail != inter->place)
            unpack_rail(flow, k, rail, result_at(flow, k, rail),
                        flow->call->out);
}

/* ---- what owners do -------------------------------------------------------
 */

/* Whether the memory is out itself. */
static bool is_out(const struct jd_inter_flow *flow)
{
    return gather_of(flow)->rows == 1 && jd__inter_lies_so(flow) &&
           jd__inter_flow_origin(flow, 0, 0) == 0;
}

static char *memory_of(const struct jd_inter_flow *flow, size_t k, int phase,
                       int group)
{
    (void)phase;
    if (!is_out(flow))
        return NULL;
    int member = jd__inter_member(flow->comm->inter, group, 0);
    return (char *)flow->call->out + (size_t)member * flow->length +
           jd__inter_piece_part(flow, k).begin;
}

static void load_piece(const struct jd_inter_flow *flow, size_t k)
{
    const struct jd_inter *inter = flow->comm->inter;
    struct jd_part part = jd__inter_piece_part(flow, k);
    char *to = jd__inter_flow_at(flow, k, 0, inter->group);
    for (int i = 0; i < jd__inter_served(inter, inter->group, inter->place);
         i++, to += part.count) {
        int place = inter->place + i * inter->rails;
        bool is_given = place != inter->place && !flow->is_seen;
        const char *in = is_given ? given_at(flow, k, place)
                                  : jd__inter_in_of(flow->comm, flow->call,
                                                    place, flow->length) +
                                        part.begin;
        if (in != to)
            memcpy(to, in, part.count);
    }
}

/* The whole rail, wherever the memory begins, into an out. */
static void unpack_memory(const struct jd_inter_flow *flow, size_t k, char *out)
{
    const struct jd_inter *inter = flow->comm->inter;
    struct jd_part part = jd__inter_piece_part(flow, k);
    for (int t = 0; t < flow->comm->num_groups; t++) {
        const char *from = jd__inter_flow_at(flow, k, 0, t);
        for (int i = 0; i < jd__inter_served(inter, t, inter->place); i++) {
            int member =
                jd__inter_member(inter, t, inter->place + i * inter->rails);
            struct jd_strided to = place_of(flow, out, member);
            jd__strided_write(&to, part.begin, part.count,
                              from + (size_t)i * part.count);
        }
    }
}

static void deliver_piece(const struct jd_inter_flow *flow, size_t k)
{
    const struct jd_comm *comm = flow->comm;
    int size = jd__inter_group_size(comm->inter, comm->inter->group);
    size_t all = flow->length * (size_t)comm->size;
    if (is_out(flow))
        return;
    for (int i = 0; i < size; i++)
        if (i == comm->inter->place || flow->is_seen)
            unpack_memory(flow, k, jd__inter_out_of(comm, flow->call, i, all));
    if (!flow->is_seen)
        jd__inter_flow_read(flow, k, result_at(flow, k, comm->inter->place));
}

static const struct jd_inter_flow_ops gather_ops = {
    .begin = begin_of,
    .give = give_piece,
    .take = take_piece,
    .load = load_piece,
    .deliver = deliver_piece,
    .memory = memory_of,
};

/* ---- all of it ------------------------------------------------------------
 */

/* Whether all groups' memory is out itself once a piece has all. */
static bool goes_at_once(const struct jd_inter_flow *flow)
{
    int groups = flow->comm->num_groups;
    return jd__inter_is_lone(flow->comm) && !flow->comm->inter->list &&
           gather_of(flow)->rows == 1 && groups > 2 &&
           (jd__schedule_is_power(groups) ||
            flow->length >= JD_INTER_LEAST_CUT) &&
           flow->length <= MOST_AT_ONCE / (size_t)groups;
}

/* What is given and results fit into the bounce memory, where there are any. */
static size_t choose_piece(const struct jd_inter_flow *flow)
{
    const struct jd_inter *inter = flow->comm->inter;
    size_t served = (size_t)jd__inter_served_before(
        inter, flow->comm->num_groups, 0); /* the most of all rails */
    size_t piece =
        jd__inter_rail_bytes(flow->comm, served * flow->length, false) / served;
    if (!jd__inter_is_lone(flow->comm))
        piece = jd__numbers_smaller(piece, JD_INTER_BOUNCE / (2 * served + 2));
    if (flow->is_cut[0])
        piece = flow->length;
    piece = jd__numbers_smaller(piece, flow->length);
    return piece ? piece : 1;
}

static struct gather make_gather(struct jd_comm *comm,
                                 const struct jd_collective *call, size_t rows)
{
    struct gather g = { .rows = rows,
                        .width = call->count * jd_dtype_size(call->dtype) };
    g.flow = (struct jd_inter_flow){
        .comm = comm,
        .call = call,
        .ops = &gather_ops,
        .phases = { { .kind = JD_SCHEDULE_ALL_GATHER,
                      .parties = comm->num_groups,
                      .self = comm->inter->group } },
        .widths = { 1 },
        .num_phases = 1,
        .length = rows * g.width,
        .unit = 1,
    };
    return g;
}

jd_status jd__inter_gather_long(struct jd_comm *comm,
                                struct jd_inter_sync *sync, size_t rows)
{
    struct gather g = make_gather(comm, sync->call, rows);
    struct jd_inter_flow *flow = &g.flow;
    flow->is_cut[0] = goes_at_once(flow);
    flow->piece = choose_piece(flow);
    flow->rail = rail_bytes(flow, 0);
    if (!flow->is_cut[0])
        flow->scratch =
            jd__inter_scratch(comm, sync, jd__inter_flow_scratch(flow));
    sync->in_bytes = flow->length;
    sync->out_bytes = flow->length * (size_t)comm->size;
    jd_status status = jd__inter_flow_sync(flow, sync);
    if (status != JD_OK || jd__inter_has_come(comm, sync))
        return status;
    return jd__inter_flow_run(flow);
}

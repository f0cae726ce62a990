/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan_kind.c - whether one collective on whole blocks does what a plan is
 * for. Every process asks the same of the same numbers, for all devices.
 */
#include "arrays/reshard/plan_private.h"
#include "base/status.h"
#include "jd_collectives.h"

#include <stdlib.h>
#include <string.h>

/* An all_to_all_2d of less is not worth a call of its own. */
#define LEAST_CALL_BYTES ((int64_t)64 << 10)

/* ---- nothing travels ---------------------------------------------------- */

static bool contains_box(const jd_range *outer, const jd_range *inner, int ndim)
{
    for (int d = 0; d < ndim; d++)
        if (inner[d].begin < outer[d].begin || inner[d].end > outer[d].end)
            return false;
    return true;
}

static void box_of_place(const struct jd_planning *p,
                         const struct jd_plan_side *side, int place,
                         jd_range *ret_box)
{
    int at[JD_MAX_NDIM];
    jd__plan_coordinates(side, p->spec->ndim, side->sharding->blocks[place],
                         at);
    jd__plan_box(p, side, at, ret_box);
}

static bool member_has_all(const struct jd_planning *p,
                           const struct jd_plan_member *m)
{
    int ndim = p->spec->ndim;
    jd_range wanted[JD_MAX_NDIM], held[JD_MAX_NDIM];
    if (m->to < 0)
        return true;
    box_of_place(p, &p->to, m->to, wanted);
    if (jd__box_count(wanted, ndim) == 0)
        return true;
    if (m->from < 0)
        return false;
    box_of_place(p, &p->from, m->from, held);
    return contains_box(held, wanted, ndim);
}

static bool is_local(const struct jd_planning *p)
{
    bool is_local = true;
    if (p->count == 0 || p->members[0].process_end == p->num_members)
        return true;
    for (int i = 0; i < p->num_members && is_local; i++)
        is_local = member_has_all(p, &p->members[i]);
    return is_local;
}

/* ---- collectives on rows of members ------------------------------------- */

/* Which dimension is cut more before, which after, and how many times; -1 for
 * none. False where that is not all. */
struct change {
    int concat, split;
    int group;
};

static bool find_change(const struct jd_planning *p, struct change *ret_change)
{
    struct change c = { -1, -1, 0 };
    for (int d = 0; d < p->spec->ndim; d++) {
        int from = p->from.ways[d], to = p->to.ways[d];
        if (from == to)
            continue;
        int *which = from > to ? &c.concat : &c.split;
        int more = from > to ? from : to, less = from > to ? to : from;
        if (*which >= 0 || more % less || p->spec->shape[d] % more ||
            (c.group && c.group != more / less))
            return false;
        *which = d;
        c.group = more / less;
    }
    *ret_change = c;
    return c.concat >= 0;
}

/* A device's place: its row has those that have the parts of one block without
 * the cut, in their order. -1 where its new block is not what the collective
 * would give it. */
static int find_place(const struct jd_planning *p, const struct change *c,
                      const struct jd_plan_member *m)
{
    const jd_sharding *from = p->from.sharding, *to = p->to.sharding;
    int old[JD_MAX_NDIM], new[JD_MAX_NDIM], ndim = p->spec->ndim;
    jd__plan_coordinates(&p->from, ndim, from->blocks[m->from], old);
    jd__plan_coordinates(&p->to, ndim, to->blocks[m->to], new);
    int number = old[c->concat] % c->group;
    old[c->concat] /= c->group;
    int row = 0;
    for (int d = 0; d < ndim; d++) {
        int ways = p->from.ways[d] / (d == c->concat ? c->group : 1);
        int wanted = d == c->split ? old[d] * c->group + number : old[d];
        row = row * ways + old[d];
        if (new[d] != wanted)
            return -1;
    }
    row = row * p->from.replicas + from->replica_ids[m->from];
    return row * c->group + number;
}

static bool find_order(const struct jd_planning *p, const struct change *c)
{
    if (p->from.sharding->num_devices != p->num_members ||
        p->to.sharding->num_devices != p->num_members)
        return false;
    for (int i = 0; i < p->num_members; i++) {
        int place = find_place(p, c, &p->members[i]);
        if (place < 0)
            return false;
        p->order[place] = i;
    }
    return true;
}

/* How many calls an all_to_all_2d takes: the dimensions before both. */
static bool is_worth_it(const struct jd_planning *p, const struct change *c)
{
    int first = c->split < c->concat ? c->split : c->concat;
    int64_t calls = 1, bytes = (int64_t)p->spec->element;
    for (int d = 0; d < p->spec->ndim; d++) {
        if (d < first)
            calls *= p->from.size[d];
        else
            bytes *= p->from.size[d];
    }
    return calls == 1 || bytes >= LEAST_CALL_BYTES;
}

static bool is_one_collective(const struct jd_planning *p)
{
    struct jd_plan *plan = p->plan;
    struct change c;
    if (!find_change(p, &c) || (c.split >= 0 && !is_worth_it(p, &c)) ||
        !find_order(p, &c))
        return false;
    plan->kind = c.split < 0 ? JD_PLAN_GATHER : JD_PLAN_SWAP;
    plan->split = c.split;
    plan->concat = c.concat;
    plan->group_size = c.group;
    return true;
}

/* ---- blocks that change place ------------------------------------------- */

static bool has_same_blocks(const struct jd_planning *p)
{
    if (p->from.sharding->num_devices != p->num_members ||
        p->to.sharding->num_devices != p->num_members)
        return false;
    for (int d = 0; d < p->spec->ndim; d++)
        if (p->from.ways[d] != p->to.ways[d] ||
            p->spec->shape[d] % p->from.ways[d])
            return false;
    return true;
}

/* False where a member would have to send twice. */
static bool find_routes(struct jd_planning *p, bool *seen)
{
    const jd_sharding *to = p->to.sharding;
    for (int i = 0; i < p->num_members; i++) {
        int place = p->members[i].to;
        int from =
            jd__plan_choose(p, to->blocks[place], i, to->replica_ids[place]);
        if (seen[from])
            return false;
        seen[from] = true;
        p->plan->routes[i] = (struct jd_route){ .from = from, .to = i };
    }
    p->plan->num_routes = p->num_members;
    return true;
}

static jd_status find_permutation(struct jd_planning *p)
{
    size_t count = (size_t)p->num_members;
    if (!has_same_blocks(p))
        return JD_OK;
    bool *seen = calloc(count, sizeof *seen);
    p->plan->routes = calloc(count, sizeof *p->plan->routes);
    if (seen && p->plan->routes && find_routes(p, seen))
        p->plan->kind = JD_PLAN_PERMUTE;
    bool has_memory = seen && p->plan->routes;
    free(seen);
    return has_memory ? JD_OK
                      : jd__fail_no_memory(p->spec->operation,
                                           count * sizeof *p->plan->routes);
}

static void keep_order(struct jd_planning *p)
{
    for (int i = 0; i < p->num_members; i++)
        p->order[i] = i;
    p->plan->group_size = p->num_members;
}

jd_status jd__plan_find_kind(struct jd_planning *p)
{
    p->plan->kind = JD_PLAN_LOCAL;
    bool is_done = is_local(p);
    if (!is_done && is_one_collective(p))
        return JD_OK;
    keep_order(p);
    if (is_done)
        return JD_OK;
    p->plan->kind = JD_PLAN_EXCHANGE;
    return find_permutation(p);
}

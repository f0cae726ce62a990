/* SPDX-License-Identifier: BSD-3-Clause */
/* plan.c - what has to move when an array gets another sharding: in which
 * order it is found out, and in how many rounds it moves. */
#include "arrays/reshard/plan_private.h"
#include "base/digest.h"
#include "base/status.h"
#include "jd_collectives.h"

#include <stdlib.h>

/* ---- blocks ------------------------------------------------------------- */

void jd__plan_coordinates(const struct jd_plan_side *side, int ndim, int block,
                          int *ret_at)
{
    for (int d = ndim - 1; d >= 0; d--) {
        ret_at[d] = block % side->ways[d];
        block /= side->ways[d];
    }
}

int jd__plan_block(const struct jd_plan_side *side, int ndim, const int *at)
{
    int block = 0;
    for (int d = 0; d < ndim; d++)
        block = block * side->ways[d] + at[d];
    return block;
}

/* Unsigned: the last blocks may begin past what an int64_t counts. */
void jd__plan_box(const struct jd_planning *p, const struct jd_plan_side *side,
                  const int *at, jd_range *ret_box)
{
    for (int d = 0; d < p->spec->ndim; d++) {
        uint64_t length = (uint64_t)p->spec->shape[d];
        uint64_t size = (uint64_t)side->size[d];
        uint64_t begin = (uint64_t)at[d] * size, end = begin + size;
        ret_box[d].begin = (int64_t)(begin < length ? begin : length);
        ret_box[d].end = (int64_t)(end < length ? end : length);
    }
}

static void cut_side(struct jd_planning *p, struct jd_plan_side *side,
                     const jd_sharding *sharding)
{
    side->sharding = sharding;
    side->replicas = sharding->num_devices / sharding->ways;
    for (int d = 0; d < p->spec->ndim; d++) {
        int64_t length = p->spec->shape[d];
        int ways = sharding->cuts[d].ways;
        side->ways[d] = ways;
        side->size[d] = length / ways + (length % ways != 0);
    }
}

/* ---- rounds ------------------------------------------------------------- */

int64_t jd__plan_share(int64_t count, int round, int rounds)
{
    return count / rounds * round + count % rounds * round / rounds;
}

/* A share is at most one element more than its piece divided by the rounds:
 * that is what number makes room for. */
int64_t jd__plan_place(const struct jd_spot *spot, int64_t begin, int rounds)
{
    if (!spot->is_packed)
        return spot->at + begin;
    return spot->at / rounds + (rounds > 1 ? spot->number : 0);
}

/* Whether a block may be cut so that its pieces have gaps. */
static bool may_pack(const struct jd_planning *p,
                     const struct jd_plan_side *side,
                     const struct jd_plan_side *other)
{
    bool is_cut = false, may_pack = p->spec->packs && side == &p->from;
    for (int d = p->spec->ndim - 1; d >= 0; d--) {
        may_pack |= is_cut && side->size[d] > 1 && other->size[d] > 1;
        is_cut |= other->ways[d] > 1 &&
                  (side->size[d] == 0 || other->size[d] % side->size[d] != 0);
    }
    return may_pack;
}

/* The elements of the longest block, and how many of the other side's blocks
 * one may meet. */
static int64_t longest_block(const struct jd_planning *p,
                             const struct jd_plan_side *side,
                             const struct jd_plan_side *other,
                             int64_t *ret_pieces)
{
    int64_t count = 1, pieces = 1;
    for (int d = 0; d < p->spec->ndim; d++) {
        int64_t size = side->size[d], unit = other->size[d];
        int64_t met = unit ? size / unit + 2 : 1;
        count *= size;
        pieces *= met < other->ways[d] ? met : other->ways[d];
    }
    *ret_pieces = pieces;
    return count;
}

/* From the longest blocks that there may be: the same everywhere. */
static int count_rounds(const struct jd_planning *p)
{
    int64_t sent, received;
    int64_t pack = longest_block(p, &p->from, &p->to, &sent);
    int64_t unpack = longest_block(p, &p->to, &p->from, &received);
    int64_t count = (may_pack(p, &p->from, &p->to) ? pack : 0) +
                    (may_pack(p, &p->to, &p->from) ? unpack : 0);
    int64_t room = (int64_t)(p->spec->memory / p->spec->element);
    if (count <= room)
        return 1;
    int64_t least = room / 2 > 0 ? room / 2 : 1;
    room -= sent + received;
    if (room < least)
        room = least;
    int64_t rounds = count / room + (count % room != 0);
    return rounds < INT32_MAX ? (int)rounds : INT32_MAX;
}

/* ---- what it is for ----------------------------------------------------- */

static uint64_t digest_sharding(uint64_t digest, const jd_sharding *s, int ndim)
{
    for (int d = 0; d < ndim; d++)
        digest = jd__digest(digest, &s->cuts[d].ways, sizeof s->cuts[d].ways);
    for (int i = 0; i < s->num_devices; i++)
        digest = jd__digest(digest, &s->devices[i]->id, sizeof(int64_t));
    return jd__digest(digest, s->blocks,
                      (size_t)s->num_devices * sizeof *s->blocks);
}

uint64_t jd__plan_digest(const struct jd_plan_spec *spec)
{
    uint64_t sizes[] = { (uint64_t)spec->ndim, spec->element, spec->memory,
                         spec->packs };
    uint64_t digest = jd__digest(0, sizes, sizeof sizes);
    for (int d = 0; d < spec->ndim; d++)
        digest = jd__digest(digest, &spec->shape[d], sizeof spec->shape[d]);
    digest = digest_sharding(digest, spec->from, spec->ndim);
    return digest_sharding(digest, spec->to, spec->ndim);
}

/* ---- the plan ----------------------------------------------------------- */

static jd_status set_members(struct jd_planning *p)
{
    struct jd_plan *plan = p->plan;
    size_t bytes = (size_t)p->num_members * sizeof *plan->members;
    plan->members = malloc(bytes);
    if (!plan->members)
        return jd__fail_no_memory(p->spec->operation, bytes);
    plan->num_members = p->num_members;
    for (int i = 0; i < p->num_members; i++)
        plan->members[i] = p->members[p->order[i]].device;
    return JD_OK;
}

static jd_status fill_plan(struct jd_planning *p)
{
    jd_status status = jd__plan_list_members(p);
    if (status == JD_OK)
        status = jd__plan_list_owners(p);
    if (status != JD_OK)
        return status;
    size_t bytes = (size_t)p->num_members * sizeof *p->order;
    p->order = malloc(bytes);
    if (!p->order)
        return jd__fail_no_memory(p->spec->operation, bytes);
    status = jd__plan_find_kind(p);
    if (status == JD_OK)
        status = set_members(p);
    if (p->plan->kind == JD_PLAN_EXCHANGE)
        p->plan->rounds = count_rounds(p);
    return status == JD_OK ? jd__plan_list_pieces(p) : status;
}

static void finish_planning(struct jd_planning *p)
{
    free(p->from.owners);
    free(p->to.owners);
    free(p->members);
    free(p->order);
}

jd_status jd__plan_create(const struct jd_plan_spec *spec,
                          struct jd_plan **ret_plan)
{
    struct jd_planning p = { .spec = spec, .count = 1 };
    struct jd_plan *plan = calloc(1, sizeof *plan);
    if (!plan)
        return jd__fail_no_memory(spec->operation, sizeof *plan);
    plan->ndim = spec->ndim;
    plan->rounds = 1;
    plan->digest = jd__plan_digest(spec);
    p.plan = plan;
    cut_side(&p, &p.from, spec->from);
    cut_side(&p, &p.to, spec->to);
    for (int d = 0; d < spec->ndim; d++)
        p.count *= spec->shape[d];
    jd_status status = fill_plan(&p);
    finish_planning(&p);
    if (status == JD_OK)
        *ret_plan = plan;
    else
        jd__plan_destroy(plan);
    return status;
}

void jd__plan_destroy(struct jd_plan *plan)
{
    if (!plan)
        return;
    for (int i = 0; i < plan->num_devices; i++) {
        free(plan->devices[i].receives);
        free(plan->devices[i].sent);
        free(plan->devices[i].sends);
        free(plan->devices[i].received_ranges);
        free(plan->devices[i].sent_ranges);
    }
    free(plan->devices);
    free(plan->members);
    free(plan->routes);
    free(plan);
}

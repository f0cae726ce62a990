/* SPDX-License-Identifier: BSD-3-Clause */
/* shm_levels.c - how a large group meets. */
#include "collectives/cpu/shm/shm_levels.h"
#include "collectives/cpu/shm/shm_private.h"

#include <stdlib.h>

/* ---- the plan ----------------------------------------------------------- */

/* A subgroup of fewer saves its members nothing. */
#define LEAST 4

static int compare_localities(const void *a, const void *b)
{
    const struct jd_shm_locality *x = a, *y = b;
    if (x->numa_node != y->numa_node)
        return x->numa_node < y->numa_node ? -1 : 1;
    if (x->cache != y->cache)
        return x->cache < y->cache ? -1 : 1;
    return x->member < y->member ? -1 : x->member > y->member;
}

/* The members [begin, end) of the sorted ones. */
struct run {
    int begin, end;
};

/* Those of one cache, and of the next ones of the node while they are few; and
 * of the rest of the node where that is fewer still. */
static struct run next_run(const struct jd_shm_locality *where, int size,
                           int begin)
{
    int end = begin, node_end = begin;
    while (node_end < size &&
           where[node_end].numa_node == where[begin].numa_node)
        node_end++;
    while (end < node_end && end - begin < LEAST) {
        int cache = where[end].cache;
        while (end < node_end && where[end].cache == cache)
            end++;
    }
    if (node_end - end < LEAST)
        end = node_end;
    return (struct run){ begin, end };
}

/* The smallest number whose square is not below size. */
static int root_above(int size)
{
    int root = 1;
    while (root * root < size)
        root++;
    return root;
}

static int cut_run(const struct jd_shm_locality *where, struct run run,
                   int longest, int first, int *ret_subgroups)
{
    int length = run.end - run.begin;
    int parts = (length + longest - 1) / longest;
    for (int i = 0; i < length; i++)
        ret_subgroups[where[run.begin + i].member] =
            first + (int)((long)i * parts / length);
    return parts;
}

static int join_all(int size, int *ret_subgroups)
{
    for (int i = 0; i < size; i++)
        ret_subgroups[i] = 0;
    return 1;
}

int jd__shm_levels_plan(struct jd_shm_locality *where, int size,
                        int *ret_subgroups)
{
    int count = 0, longest = root_above(size);
    struct run run = { 0, 0 };
    if (size < JD_SHM_LEVELS_FROM)
        return join_all(size, ret_subgroups);
    qsort(where, (size_t)size, sizeof *where, compare_localities);
    while (run.end < size) {
        run = next_run(where, size, run.end);
        count += cut_run(where, run, longest, count, ret_subgroups);
    }
    return 2 * count > size ? join_all(size, ret_subgroups) : count;
}

int jd__shm_levels_cut(int size, int length, int *ret_subgroups)
{
    for (int i = 0; i < size; i++)
        ret_subgroups[i] = i / length;
    return (size + length - 1) / length;
}

/* ---- a group ------------------------------------------------------------ */

/* The lowest member of a subgroup leads it. */
static int leader_of(const struct jd_shm_spec *spec, int subgroup)
{
    int member = 0;
    while (member < spec->size && spec->subgroups[member] != subgroup)
        member++;
    return member;
}

struct jd_shm_levels *jd__shm_levels_create(const struct jd_shm_spec *spec)
{
    int own = spec->subgroups[spec->index], size = spec->size;
    struct jd_shm_levels *levels =
        calloc(1, sizeof *levels + 2 * (size_t)size * sizeof *levels->numbers);
    if (!levels)
        return NULL;
    levels->leader = leader_of(spec, own);
    for (int i = 0; i < size && levels->leader == spec->index; i++)
        if (spec->subgroups[i] == own)
            levels->numbers[levels->num_own++] = i;
    levels->leaders = levels->numbers + levels->num_own;
    for (int leader; (leader = leader_of(spec, levels->num_leaders)) < size;)
        levels->leaders[levels->num_leaders++] = leader;
    return levels;
}

/* ---- a meeting ---------------------------------------------------------- */

static struct jd_handover *gathered_by(const struct jd_shm_group *group,
                                       int leader)
{
    return &group->members[leader].control->gathered[group->round % 2];
}

const struct jd_handover *
jd__shm_levels_released(const struct jd_shm_group *group)
{
    return &group->members[group->levels->leader]
                .control->released[group->round % 2];
}

static bool subgroup_agrees(const struct jd_shm_group *group)
{
    const struct jd_shm_levels *levels = group->levels;
    uint64_t turn = group->round % 2, own = group->digests[turn];
    for (int i = 0; i < levels->num_own; i++) {
        const struct jd_shm_member *m = &group->members[levels->numbers[i]];
        if (m->control->slots[turn].digest != own)
            return false;
    }
    return true;
}

static void hand_on(const struct jd_shm_group *group,
                    struct jd_handover *handover)
{
    atomic_store_explicit(&handover->round, group->round, memory_order_release);
}

/* What the subgroup came with, for the other leaders. */
static void hand_up(const struct jd_shm_group *group,
                    const struct jd_shm_merge *merge)
{
    const struct jd_shm_levels *levels = group->levels;
    struct jd_handover *own = gathered_by(group, group->index);
    own->digest = group->digests[group->round % 2];
    own->agrees = subgroup_agrees(group);
    own->has_data =
        merge && own->agrees &&
        merge->gather(merge->arg, levels->numbers, levels->num_own, own->data);
    hand_on(group, own);
}

/* What all came with, for the subgroup. */
static void hand_down(const struct jd_shm_group *group,
                      const struct jd_shm_merge *merge)
{
    const struct jd_shm_levels *levels = group->levels;
    struct jd_handover *own = &group->own->released[group->round % 2];
    own->digest = group->digests[group->round % 2];
    own->agrees = true;
    own->has_data = merge != NULL;
    for (int i = 0; i < levels->num_leaders; i++) {
        const struct jd_handover *theirs =
            gathered_by(group, levels->leaders[i]);
        own->agrees &= theirs->agrees && theirs->digest == own->digest;
        own->has_data &= theirs->has_data;
        group->ins[i] = theirs->data;
    }
    own->has_data &= own->agrees;
    if (own->has_data)
        merge->finish(merge->arg, group->ins, levels->num_leaders, own->data);
    hand_on(group, own);
}

static jd_status lead_subgroup(struct jd_shm_group *group,
                               const struct jd_shm_merge *merge)
{
    const struct jd_shm_levels *levels = group->levels;
    jd_status status = jd__shm_await_members(group, JD_FLAG_ROUND,
                                             levels->numbers, levels->num_own);
    if (status != JD_OK)
        return status;
    hand_up(group, merge);
    status = jd__shm_await_members(group, JD_FLAG_GATHERED, levels->leaders,
                                   levels->num_leaders);
    if (status == JD_OK)
        hand_down(group, merge);
    return status;
}

/* Where a member has given up after its leader saw it come, the others hear of
 * it from itself. */
jd_status jd__shm_levels_meet(struct jd_shm_group *group,
                              const struct jd_shm_merge *merge)
{
    const struct jd_shm_levels *levels = group->levels;
    jd_status status = levels->num_own
                           ? lead_subgroup(group, merge)
                           : jd__shm_await_members(group, JD_FLAG_RELEASED,
                                                   &levels->leader, 1);
    return status == JD_OK ? jd__shm_check_told(group) : status;
}

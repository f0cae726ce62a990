/* SPDX-License-Identifier: BSD-3-Clause */
/* gather_parts.c - a part of each member in one jd_ragged_all_to_all. */
#include "arrays/gather/gather.h"
#include "collectives/multihost/leaves.h"
#include "jd_collectives.h"

jd_status jd__gather_exchange(const struct jd_gather *g, const void *in,
                              size_t count, void *out, size_t room)
{
    const struct jd_gather_lists *lists = &g->lists;
    return jd_ragged_all_to_all(g->me, NULL, in, count, out, room, 1,
                                lists->from, lists->sent, lists->to,
                                lists->received, g->size, g->array->dtype);
}

/* The one part that a member gives; none is 0 elements long. */
static struct jd_block_range part_of(const struct jd_gather *g, int member)
{
    struct jd_cursor cursor = { 0 };
    struct jd_block_range range;
    if (member >= g->owners.num_members ||
        !jd__owners_next(&g->owners, g->array, member, &cursor, SIZE_MAX,
                         &range))
        range.count = 0;
    return range;
}

static bool gets_all(const struct jd_gather *g, int member)
{
    return g->root < 0 || g->root == member;
}

jd_status jd__gather_parts(const struct jd_gather *g)
{
    struct jd_block_range own = part_of(g, g->index);
    const void *in = own.count ? jd__gather_own_range(g, &own) : NULL;
    size_t place = own.count ? jd__gather_offset(g->array, &own) : 0;
    bool takes = gets_all(g, g->index);
    for (int m = 0; m < g->size; m++) {
        if (gets_all(g, m)) {
            g->lists.sent[m] = (int64_t)own.count;
            g->lists.to[m] = (int64_t)place;
        }
        g->lists.received[m] = takes ? (int64_t)part_of(g, m).count : 0;
    }
    return jd__gather_exchange(g, in, own.count, takes ? g->out->data : NULL,
                               takes ? jd__leaf_elements(g->out) : 0);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* tags.c - ranges of MPI's tags. */
#include "collectives/channel/tags.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The first range that ends behind the tag. */
static int find_range(const struct jd_tags *tags, int tag)
{
    int low = 0, high = tags->num_ranges;
    while (low < high) {
        int middle = low + (high - low) / 2;
        const struct jd_tag_range *range = &tags->ranges[middle];
        if (range->first + range->count <= tag)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The begin of the first gap of count tags in [from, end), or -1. */
static int find_gap(const struct jd_tags *tags, int from, int end, int count)
{
    for (int i = find_range(tags, from); end - from >= count; i++) {
        int gap_end = i < tags->num_ranges && tags->ranges[i].first < end
                          ? tags->ranges[i].first
                          : end;
        if (gap_end - from >= count)
            return from;
        if (i >= tags->num_ranges)
            break;
        from = tags->ranges[i].first + tags->ranges[i].count;
    }
    return -1;
}

static bool has_room(struct jd_tags *tags)
{
    if (tags->num_ranges < tags->capacity)
        return true;
    int capacity = tags->capacity ? 2 * tags->capacity : 16;
    struct jd_tag_range *larger =
        realloc(tags->ranges, (size_t)capacity * sizeof *larger);
    if (!larger)
        return false;
    tags->ranges = larger;
    tags->capacity = capacity;
    return true;
}

static void insert_range(struct jd_tags *tags, int first, int count)
{
    int at = find_range(tags, first);
    memmove(&tags->ranges[at + 1], &tags->ranges[at],
            (size_t)(tags->num_ranges - at) * sizeof *tags->ranges);
    tags->ranges[at] = (struct jd_tag_range){ first, count };
    tags->num_ranges++;
    tags->next = first + count;
}

static jd_status fail_none(const struct jd_tags *tags,
                           struct jd_tag_range space, int count,
                           const char *operation)
{
    return jd_fail(JD_RESOURCE_EXHAUSTED,
                   "%s: no %d tags in a row are left of the %d that this MPI "
                   "has for the messages of meshes (%d ranges are in use); "
                   "destroy meshes that are not used any more "
                   "(jd_mesh_destroy)",
                   operation, count, space.count, tags->num_ranges);
}

jd_status jd__tags_take(struct jd_tags *tags, struct jd_tag_range space,
                        int count, const char *operation, int *ret_first)
{
    int end = space.first + space.count, first = -1;
    jd_status status = JD_OK;
    pthread_mutex_lock(&tags->lock);
    if (tags->next > space.first)
        first = find_gap(tags, tags->next, end, count);
    if (first < 0)
        first = find_gap(tags, space.first, end, count);
    if (first < 0)
        status = fail_none(tags, space, count, operation);
    else if (!has_room(tags))
        status = jd__fail_no_memory(operation, sizeof *tags->ranges);
    else
        insert_range(tags, first, count);
    pthread_mutex_unlock(&tags->lock);
    if (status == JD_OK)
        *ret_first = first;
    return status;
}

void jd__tags_give(struct jd_tags *tags, int first)
{
    pthread_mutex_lock(&tags->lock);
    int at = find_range(tags, first);
    assert(at < tags->num_ranges && tags->ranges[at].first == first);
    tags->num_ranges--;
    memmove(&tags->ranges[at], &tags->ranges[at + 1],
            (size_t)(tags->num_ranges - at) * sizeof *tags->ranges);
    pthread_mutex_unlock(&tags->lock);
}

int jd__tags_lent(struct jd_tags *tags)
{
    pthread_mutex_lock(&tags->lock);
    int lent = tags->num_ranges;
    pthread_mutex_unlock(&tags->lock);
    return lent;
}

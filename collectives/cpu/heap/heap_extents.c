/* SPDX-License-Identifier: BSD-3-Clause */
/* heap_extents.c - sorted lists of extents, first fit. */
#include "collectives/cpu/heap/heap_extents.h"

#include <stdlib.h>
#include <string.h>

bool jd__heap_extents_reserve(struct jd_extents *list, size_t capacity)
{
    if (capacity <= list->capacity)
        return true;
    size_t doubled = 2 * list->capacity;
    size_t wanted = capacity > doubled ? capacity : doubled;
    struct jd_extent *at = realloc(list->at, wanted * sizeof *at);
    if (!at)
        return false;
    list->at = at;
    list->capacity = wanted;
    return true;
}

void jd__heap_extents_finish(struct jd_extents *list)
{
    free(list->at);
    *list = (struct jd_extents){ .at = NULL };
}

/* The number of extents that begin at the offset or before it. */
static size_t count_up_to(const struct jd_extents *list, uint64_t offset)
{
    size_t low = 0, high = list->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (list->at[middle].begin <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static uint64_t end_of(const struct jd_extent *extent)
{
    return extent->begin + extent->bytes;
}

struct jd_extent *jd__heap_extents_find(const struct jd_extents *list,
                                        uint64_t offset)
{
    size_t count = count_up_to(list, offset);
    struct jd_extent *extent = count ? &list->at[count - 1] : NULL;
    return extent && offset < end_of(extent) ? extent : NULL;
}

void jd__heap_extents_insert(struct jd_extents *list,
                             const struct jd_extent *extent)
{
    size_t place = count_up_to(list, extent->begin);
    struct jd_extent *at = list->at + place;
    memmove(at + 1, at, (list->count - place) * sizeof *at);
    *at = *extent;
    list->count++;
}

void jd__heap_extents_remove(struct jd_extents *list, struct jd_extent *extent)
{
    size_t behind = (size_t)(list->at + list->count - extent) - 1;
    memmove(extent, extent + 1, behind * sizeof *extent);
    list->count--;
}

/* Where the part begins in the extent; false where it does not fit. */
static bool place_in(const struct jd_extent *extent,
                     const struct jd_extent_cut *cut, uint64_t *ret_begin)
{
    uint64_t mask = cut->alignment - 1;
    uint64_t skipped = -(cut->base + extent->begin) & mask;
    if (skipped > extent->bytes || extent->bytes - skipped < cut->bytes)
        return false;
    *ret_begin = extent->begin + skipped;
    return true;
}

bool jd__heap_extents_cut(struct jd_extents *list,
                          const struct jd_extent_cut *cut, uint64_t *ret_begin)
{
    uint64_t begin = 0;
    size_t i = 0;
    while (i < list->count && !place_in(&list->at[i], cut, &begin))
        i++;
    if (i == list->count)
        return false;
    struct jd_extent *whole = &list->at[i];
    struct jd_extent rest = { .begin = begin + cut->bytes,
                              .bytes = end_of(whole) - begin - cut->bytes };
    whole->bytes = begin - whole->begin;
    if (whole->bytes == 0)
        jd__heap_extents_remove(list, whole);
    if (rest.bytes)
        jd__heap_extents_insert(list, &rest);
    *ret_begin = begin;
    return true;
}

void jd__heap_extents_put_back(struct jd_extents *list, uint64_t begin,
                               uint64_t bytes)
{
    size_t place = count_up_to(list, begin);
    struct jd_extent *before = place ? &list->at[place - 1] : NULL;
    struct jd_extent *behind = place < list->count ? &list->at[place] : NULL;
    bool joins_before = before && end_of(before) == begin;
    bool joins_behind = behind && behind->begin == begin + bytes;

    if (joins_before && joins_behind) {
        before->bytes += bytes + behind->bytes;
        jd__heap_extents_remove(list, behind);
    } else if (joins_before) {
        before->bytes += bytes;
    } else if (joins_behind) {
        behind->begin = begin;
        behind->bytes += bytes;
    } else {
        jd__heap_extents_insert(
            list, &(struct jd_extent){ .begin = begin, .bytes = bytes });
    }
}

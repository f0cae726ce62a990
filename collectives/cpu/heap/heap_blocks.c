/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * heap_blocks.c - whole extents of the range: found and entered under the
 * lock, their pages taken and given without it. While that is under way the
 * extent is in the list of the used ones, and nobody's.
 */
#include "collectives/cpu/heap/heap_private.h"

#include <inttypes.h>

static uint64_t round_up(uint64_t value, uint64_t unit)
{
    return (value + unit - 1) & ~(unit - 1);
}

static jd_status fail_range(const struct jd_arena *arena, const char *operation,
                            uint64_t bytes)
{
    return jd_fail(JD_RESOURCE_EXHAUSTED,
                   "%s: %" PRIu64 " bytes are needed in one piece, and the "
                   "%" PRIu64 " bytes of addresses that this process shares "
                   "with its host's others have none so long (%zu bytes are "
                   "in use); free memory, or raise the limits that keep the "
                   "range small (ulimit -v, ulimit -f)",
                   operation, bytes, arena->size, arena->bytes);
}

/* With the lock. Each used extent may leave a free one behind it. */
static jd_status cut_extent(struct jd_arena *arena, const char *operation,
                            const struct jd_extent_cut *cut,
                            uint64_t *ret_begin)
{
    size_t used = arena->used.count + 1;
    if (!jd__extents_reserve(&arena->used, used) ||
        !jd__extents_reserve(&arena->free, used + 2))
        return jd__fail_no_memory(operation, used * sizeof *arena->used.at);
    if (!jd__extents_cut(&arena->free, cut, ret_begin))
        return fail_range(arena, operation, cut->bytes);
    jd__extents_insert(
        &arena->used,
        &(struct jd_extent){ .begin = *ret_begin, .bytes = cut->bytes });
    return JD_OK;
}

/* With the lock: the rest of the huge pages at the ends, where it is free. */
static void give_ends(struct jd_arena *arena, uint64_t begin, uint64_t end)
{
    const struct jd_extent *hole = jd__extents_find(&arena->free, begin);
    uint64_t first = begin & ~(JD_ARENA_HUGE - 1);
    uint64_t last = round_up(end, JD_ARENA_HUGE);
    if (first < hole->begin)
        first = hole->begin;
    if (last > hole->begin + hole->bytes)
        last = hole->begin + hole->bytes;
    if (first < begin)
        jd__pages_give(arena, first, begin - first);
    if (last > end)
        jd__pages_give(arena, end, last - end);
}

static void put_back(struct jd_arena *arena, uint64_t begin)
{
    pthread_mutex_lock(&arena->lock);
    struct jd_extent *extent = jd__extents_find(&arena->used, begin);
    uint64_t bytes = extent->bytes;
    jd__extents_remove(&arena->used, extent);
    jd__extents_put_back(&arena->free, begin, bytes);
    if (arena->gets_huge)
        give_ends(arena, begin, begin + bytes);
    pthread_mutex_unlock(&arena->lock);
}

static uint64_t alignment_of(const struct jd_arena *arena,
                             const struct jd_arena_request *request)
{
    uint64_t least =
        request->bytes >= JD_ARENA_HUGE ? JD_ARENA_HUGE : arena->page;
    return request->alignment > least ? request->alignment : least;
}

jd_status jd__block_take(struct jd_arena *arena,
                         const struct jd_arena_request *request,
                         uint64_t *ret_begin)
{
    if (request->bytes > arena->size)
        return fail_range(arena, request->operation, request->bytes);
    struct jd_extent_cut cut = {
        .base = (uintptr_t)arena->base,
        .bytes = round_up(request->bytes, arena->page),
        .alignment = alignment_of(arena, request),
    };
    uint64_t begin = 0;
    pthread_mutex_lock(&arena->lock);
    jd_status status = cut_extent(arena, request->operation, &cut, &begin);
    pthread_mutex_unlock(&arena->lock);
    if (status != JD_OK)
        return status;
    struct jd_pages pages = { .operation = request->operation,
                              .begin = begin,
                              .bytes = cut.bytes,
                              .numa_node = request->numa_node };
    status = jd__pages_take(arena, &pages);
    if (status == JD_OK)
        *ret_begin = begin;
    else
        put_back(arena, begin);
    return status;
}

void jd__block_give(struct jd_arena *arena, uint64_t begin)
{
    pthread_mutex_lock(&arena->lock);
    uint64_t bytes = jd__extents_find(&arena->used, begin)->bytes;
    pthread_mutex_unlock(&arena->lock);
    jd__pages_give(arena, begin, bytes);
    put_back(arena, begin);
}

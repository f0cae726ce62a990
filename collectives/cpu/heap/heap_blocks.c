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

static jd_status fail_range(const struct jd_heap *heap, const char *operation,
                            uint64_t bytes)
{
    return jd_fail(JD_RESOURCE_EXHAUSTED,
                   "%s: %" PRIu64 " bytes are needed in one piece, and the "
                   "%" PRIu64 " bytes of addresses that this process shares "
                   "with its host's others have none so long (%zu bytes are "
                   "in use); free memory, or raise the limits that keep the "
                   "range small (ulimit -v, ulimit -f)",
                   operation, bytes, heap->size, heap->bytes);
}

/* With the lock. Each used extent may leave a free one behind it. */
static jd_status cut_extent(struct jd_heap *heap, const char *operation,
                            const struct jd_extent_cut *cut,
                            uint64_t *ret_begin)
{
    size_t used = heap->used.count + 1;
    if (!jd__heap_extents_reserve(&heap->used, used) ||
        !jd__heap_extents_reserve(&heap->free, used + 2))
        return jd__fail_no_memory(operation, used * sizeof *heap->used.at);
    if (!jd__heap_extents_cut(&heap->free, cut, ret_begin))
        return fail_range(heap, operation, cut->bytes);
    jd__heap_extents_insert(
        &heap->used,
        &(struct jd_extent){ .begin = *ret_begin, .bytes = cut->bytes });
    return JD_OK;
}

/* With the lock: the rest of the huge pages at the ends, where it is free. */
static void give_ends(struct jd_heap *heap, uint64_t begin, uint64_t end)
{
    const struct jd_extent *hole = jd__heap_extents_find(&heap->free, begin);
    uint64_t first = begin & ~(JD_HEAP_HUGE - 1);
    uint64_t last = round_up(end, JD_HEAP_HUGE);
    if (first < hole->begin)
        first = hole->begin;
    if (last > hole->begin + hole->bytes)
        last = hole->begin + hole->bytes;
    if (first < begin)
        jd__heap_pages_give(heap, first, begin - first);
    if (last > end)
        jd__heap_pages_give(heap, end, last - end);
}

static void put_back(struct jd_heap *heap, uint64_t begin)
{
    pthread_mutex_lock(&heap->lock);
    struct jd_extent *extent = jd__heap_extents_find(&heap->used, begin);
    uint64_t bytes = extent->bytes;
    jd__heap_extents_remove(&heap->used, extent);
    jd__heap_extents_put_back(&heap->free, begin, bytes);
    if (heap->gets_huge)
        give_ends(heap, begin, begin + bytes);
    pthread_mutex_unlock(&heap->lock);
}

static uint64_t alignment_of(const struct jd_heap *heap,
                             const struct jd_heap_request *request)
{
    uint64_t least = request->bytes >= JD_HEAP_HUGE ? JD_HEAP_HUGE : heap->page;
    return request->alignment > least ? request->alignment : least;
}

jd_status jd__heap_block_take(struct jd_heap *heap,
                              const struct jd_heap_request *request,
                              uint64_t *ret_begin)
{
    if (request->bytes > heap->size)
        return fail_range(heap, request->operation, request->bytes);
    struct jd_extent_cut cut = {
        .base = (uintptr_t)heap->base,
        .bytes = round_up(request->bytes, heap->page),
        .alignment = alignment_of(heap, request),
    };
    uint64_t begin = 0;
    pthread_mutex_lock(&heap->lock);
    jd_status status = cut_extent(heap, request->operation, &cut, &begin);
    pthread_mutex_unlock(&heap->lock);
    if (status != JD_OK)
        return status;
    struct jd_pages pages = { .operation = request->operation,
                              .begin = begin,
                              .bytes = cut.bytes,
                              .numa_node = request->numa_node };
    status = jd__heap_pages_take(heap, &pages);
    if (status == JD_OK)
        *ret_begin = begin;
    else
        put_back(heap, begin);
    return status;
}

void jd__heap_block_give(struct jd_heap *heap, uint64_t begin)
{
    pthread_mutex_lock(&heap->lock);
    uint64_t bytes = jd__heap_extents_find(&heap->used, begin)->bytes;
    pthread_mutex_unlock(&heap->lock);
    jd__heap_pages_give(heap, begin, bytes);
    put_back(heap, begin);
}

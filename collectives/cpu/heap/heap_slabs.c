/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * heap_slabs.c - small allocations: a slab is a block of the range that is
 * cut into objects of one size, a power of two, so that each is aligned to its
 * size. What is known of them stands beside the range, not in it: neighbours
 * can write there.
 *
 * One empty slab of each size is kept, so that a program that takes and
 * gives the same thing over and over does not ask the system each time.
 */
#include "collectives/cpu/heap/heap_private.h"

#include <stdlib.h>
#include <string.h>

#define SMALLEST ((size_t)64)
#define FEWEST_OBJECTS 16

struct jd_slab {
    struct jd_slab *next, *previous; /* of those of its size with room */
    uint64_t begin;
    size_t object; /* bytes */
    int class;
    bool is_listed;
    uint32_t capacity, used;
    uint32_t fresh; /* from this one on none was ever handed out */
    uint32_t num_returned;
    uint32_t *returned; /* those before fresh that are free */
    uint32_t asked[];   /* of each object; 0: free */
};

static int class_of(const struct jd_heap_request *request)
{
    size_t bytes = request->bytes > request->alignment ? request->bytes
                                                       : request->alignment;
    int class = 0;
    while (SMALLEST << class < bytes)
        class ++;
    return class;
}

static size_t slab_bytes(size_t object)
{
    size_t several = FEWEST_OBJECTS * object;
    return several > JD_HEAP_SMALL ? several : JD_HEAP_SMALL;
}

/* ---- those with room ---------------------------------------------------- */

static void list_slab(struct jd_heap *heap, struct jd_slab *slab)
{
    struct jd_slab **first = &heap->with_room[slab->class];
    slab->previous = NULL;
    slab->next = *first;
    if (*first)
        (*first)->previous = slab;
    *first = slab;
    slab->is_listed = true;
}

static void unlist_slab(struct jd_heap *heap, struct jd_slab *slab)
{
    if (slab->previous)
        slab->previous->next = slab->next;
    else
        heap->with_room[slab->class] = slab->next;
    if (slab->next)
        slab->next->previous = slab->previous;
    slab->is_listed = false;
}

/* ---- a slab ------------------------------------------------------------- */

static struct jd_slab *make_slab(int class)
{
    size_t object = SMALLEST << class;
    uint32_t capacity = (uint32_t)(slab_bytes(object) / object);
    struct jd_slab *slab =
        calloc(1, sizeof *slab + 2 * capacity * sizeof *slab->asked);
    if (!slab)
        return NULL;
    slab->object = object;
    slab->class = class;
    slab->capacity = capacity;
    slab->returned = slab->asked + capacity;
    return slab;
}

void jd__heap_slab_destroy(struct jd_slab *slab)
{
    free(slab);
}

/* Adds a slab with its block to those with room. Without the lock. */
static jd_status add_slab(struct jd_heap *heap, int class,
                          const char *operation)
{
    struct jd_slab *slab = make_slab(class);
    if (!slab)
        return jd__fail_no_memory(operation, sizeof *slab);
    struct jd_heap_request request = {
        .operation = operation,
        .bytes = slab_bytes(slab->object),
        .alignment = slab->object,
        .numa_node = -1,
    };
    jd_status status = jd__heap_block_take(heap, &request, &slab->begin);
    if (status != JD_OK) {
        jd__heap_slab_destroy(slab);
        return status;
    }
    pthread_mutex_lock(&heap->lock);
    jd__heap_extents_find(&heap->used, slab->begin)->slab = slab;
    list_slab(heap, slab);
    pthread_mutex_unlock(&heap->lock);
    return JD_OK;
}

/* ---- objects ------------------------------------------------------------ */

/* With the lock. */
static void *take_object(struct jd_heap *heap, struct jd_slab *slab,
                         size_t bytes, bool *ret_is_fresh)
{
    *ret_is_fresh = slab->num_returned == 0;
    uint32_t number =
        *ret_is_fresh ? slab->fresh++ : slab->returned[--slab->num_returned];
    slab->asked[number] = (uint32_t)bytes;
    if (++slab->used == slab->capacity)
        unlist_slab(heap, slab);
    heap->bytes += bytes;
    heap->allocations++;
    return heap->base + slab->begin + number * slab->object;
}

jd_status jd__heap_slab_alloc(struct jd_heap *heap,
                              const struct jd_heap_request *request,
                              void **ret_memory)
{
    int class = class_of(request);
    struct jd_slab *slab;
    bool is_fresh;

    pthread_mutex_lock(&heap->lock);
    while (!(slab = heap->with_room[class])) {
        pthread_mutex_unlock(&heap->lock);
        jd_status status = add_slab(heap, class, request->operation);
        if (status != JD_OK)
            return status;
        pthread_mutex_lock(&heap->lock);
    }
    void *memory = take_object(heap, slab, request->bytes, &is_fresh);
    pthread_mutex_unlock(&heap->lock);
    if (!is_fresh || heap->keeps_pages)
        memset(memory, 0, request->bytes);
    *ret_memory = memory;
    return JD_OK;
}

size_t jd__heap_slab_size_of(const struct jd_slab *slab, uint64_t offset)
{
    uint64_t inside = offset - slab->begin;
    return inside % slab->object ? 0 : slab->asked[inside / slab->object];
}

/* With the lock: an empty one is kept where it is the only one with room. */
static bool is_superfluous(const struct jd_heap *heap,
                           const struct jd_slab *slab)
{
    const struct jd_slab *first = heap->with_room[slab->class];
    return slab->used == 0 && (first != slab || slab->next);
}

bool jd__heap_slab_free(struct jd_heap *heap, struct jd_slab *slab,
                        uint64_t offset)
{
    uint32_t number = (uint32_t)((offset - slab->begin) / slab->object);
    heap->bytes -= slab->asked[number];
    heap->allocations--;
    slab->asked[number] = 0;
    slab->returned[slab->num_returned++] = number;
    slab->used--;
    if (!slab->is_listed)
        list_slab(heap, slab);
    if (!is_superfluous(heap, slab))
        return false;
    unlist_slab(heap, slab);
    return true;
}

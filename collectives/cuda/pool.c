/* SPDX-License-Identifier: BSD-3-Clause */
/* pool.c - which slots of which slabs are free. */
#include "collectives/cuda/pool.h"

#include <stdlib.h>

enum {
    STEP = 256,          /* the alignment, and the smallest difference */
    STEPS = 4,           /* sizes to a doubling */
    FIRST = STEPS * STEP /* up to here sizes are multiples of the step */
};

size_t jd__cuda_pool_round(size_t bytes, int *ret_class)
{
    size_t step = STEP, top = FIRST;
    int class = 0;
    for (; bytes > top; top *= 2, class += STEPS)
        if (top > FIRST)
            step *= 2;
    size_t steps = (bytes + step - 1) / step;
    size_t below = top > FIRST ? STEPS : 0;
    *ret_class = class + (int)(steps - below) - 1;
    return steps * step;
}

/* ---- the list of those with a free slot --------------------------------- */

static void open_slab(struct jd_cuda_pool *pool, struct jd_cuda_slab *slab)
{
    struct jd_cuda_slab **first = &pool->open[slab->class];
    slab->next = *first;
    slab->link = first;
    if (slab->next)
        slab->next->link = &slab->next;
    *first = slab;
}

static void close_slab(struct jd_cuda_slab *slab)
{
    *slab->link = slab->next;
    if (slab->next)
        slab->next->link = slab->link;
}

struct jd_cuda_slab *jd__cuda_pool_find(const struct jd_cuda_pool *pool,
                                        size_t bytes)
{
    int class;
    jd__cuda_pool_round(bytes, &class);
    return pool->open[class];
}

bool jd__cuda_slab_is_last(const struct jd_cuda_pool *pool,
                           const struct jd_cuda_slab *slab)
{
    return pool->open[slab->class] == slab && !slab->next;
}

/* ---- slabs -------------------------------------------------------------- */

static void free_slab(struct jd_cuda_slab *slab)
{
    free(slab->sizes);
    free(slab->free_slots);
    free(slab);
}

struct jd_cuda_slab *jd__cuda_pool_add(struct jd_cuda_pool *pool, void *memory,
                                       size_t bytes)
{
    struct jd_cuda_slab *slab = calloc(1, sizeof *slab);
    if (!slab)
        return NULL;
    slab->memory = memory;
    slab->slot_bytes = jd__cuda_pool_round(bytes, &slab->class);
    slab->num_slots = (uint16_t)(JD_CUDA_SLAB / slab->slot_bytes);
    slab->sizes = calloc(slab->num_slots, sizeof *slab->sizes);
    slab->free_slots = calloc(slab->num_slots, sizeof *slab->free_slots);
    if (!slab->sizes || !slab->free_slots) {
        free_slab(slab);
        return NULL;
    }
    slab->num_free = slab->num_slots;
    for (uint16_t i = 0; i < slab->num_slots; i++)
        slab->free_slots[i] = (uint16_t)(slab->num_slots - 1 - i);
    open_slab(pool, slab);
    return slab;
}

void jd__cuda_pool_remove(struct jd_cuda_slab *slab)
{
    close_slab(slab);
    free_slab(slab);
}

bool jd__cuda_slab_is_empty(const struct jd_cuda_slab *slab)
{
    return slab->num_free == slab->num_slots;
}

/* ---- slots -------------------------------------------------------------- */

void *jd__cuda_slab_take(struct jd_cuda_slab *slab, size_t bytes)
{
    uint16_t slot = slab->free_slots[--slab->num_free];
    slab->sizes[slot] = (uint32_t)bytes;
    if (slab->num_free == 0)
        close_slab(slab);
    return slab->memory + slot * slab->slot_bytes;
}

size_t jd__cuda_slab_size(const struct jd_cuda_slab *slab, const void *memory)
{
    size_t offset = (size_t)((const char *)memory - slab->memory);
    size_t slot = offset / slab->slot_bytes;
    if (offset % slab->slot_bytes != 0 || slot >= slab->num_slots)
        return 0;
    return slab->sizes[slot];
}

void jd__cuda_slab_give(struct jd_cuda_pool *pool, struct jd_cuda_slab *slab,
                        const void *memory)
{
    size_t offset = (size_t)((const char *)memory - slab->memory);
    uint16_t slot = (uint16_t)(offset / slab->slot_bytes);
    slab->sizes[slot] = 0;
    slab->free_slots[slab->num_free++] = slot;
    if (slab->num_free == 1)
        open_slab(pool, slab);
}

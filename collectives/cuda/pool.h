/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pool.h - small pieces of device memory, out of slabs of 2 MiB. What is known
 * of them is kept in host memory; nothing here calls CUDA.
 *
 *     struct jd_cuda_slab *slab = jd__cuda_pool_find(&pool, bytes);
 *     if (!slab)
 *         slab = jd__cuda_pool_add(&pool, memory, bytes);
 *     void *piece = jd__cuda_slab_take(slab, bytes);
 *
 * The cpu's heap (collectives/cpu/heap/heap_slabs.c) has slabs too, on its own:
 * its objects are powers of two, for their alignment, it remembers what each was
 * asked for, and it lies in the library, which this module cannot call.
 *
 * A slab has slots of one size, four sizes to a doubling, so that at most a
 * fifth of a slot is not used. Slots are aligned to 256 bytes. Threads: one at
 * a time.
 */
#ifndef COLLECTIVES_CUDA_POOL_H
#define COLLECTIVES_CUDA_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JD_CUDA_SLAB ((size_t)2 << 20)
#define JD_CUDA_LARGE ((size_t)1 << 20) /* pieces are smaller than this */

enum { JD_CUDA_CLASSES = 44 };

struct jd_cuda_slab {
    struct jd_cuda_slab *next, **link; /* among those with a free slot */
    char *memory;
    size_t slot_bytes;
    int class;
    uint16_t num_slots, num_free;
    uint32_t *sizes;      /* of each slot, as asked for; 0: it is free */
    uint16_t *free_slots; /* num_free of them */
};

/* One device's; all zero: empty. */
struct jd_cuda_pool {
    struct jd_cuda_slab *open[JD_CUDA_CLASSES]; /* with a free slot */
};

/* The slot's bytes for 0 < bytes < JD_CUDA_LARGE, and their class. */
size_t jd__cuda_pool_round(size_t bytes, int *ret_class);

/* A slab with a free slot for bytes; NULL. */
struct jd_cuda_slab *jd__cuda_pool_find(const struct jd_cuda_pool *pool,
                                        size_t bytes);

/* Makes a slab of JD_CUDA_SLAB bytes of device memory; NULL without memory. */
struct jd_cuda_slab *jd__cuda_pool_add(struct jd_cuda_pool *pool, void *memory,
                                       size_t bytes);

/* Takes a free slot of it. */
void *jd__cuda_slab_take(struct jd_cuda_slab *slab, size_t bytes);

/* The bytes that were asked for; 0 where no taken slot begins there. */
size_t jd__cuda_slab_size(const struct jd_cuda_slab *slab, const void *memory);

/* Gives a taken slot back. */
void jd__cuda_slab_give(struct jd_cuda_pool *pool, struct jd_cuda_slab *slab,
                        const void *memory);

bool jd__cuda_slab_is_empty(const struct jd_cuda_slab *slab);

/* Whether it is the only one of its class with a free slot. */
bool jd__cuda_slab_is_last(const struct jd_cuda_pool *pool,
                           const struct jd_cuda_slab *slab);

/* Forgets an empty slab; its memory is the caller's. */
void jd__cuda_pool_remove(struct jd_cuda_slab *slab);

#endif

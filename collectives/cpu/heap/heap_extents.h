/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * heap_extents.h - which parts of a heap's range are used and which are
 * free: two lists of extents, each in the order of their offsets.
 *
 *     if (jd__heap_extents_reserve(&free, 1)) {
 *         jd__heap_extents_put_back(&free, 4096, size - 4096);
 *         found = jd__heap_extents_cut(&free, &(struct jd_extent_cut){ ... },
 * &offset);
 *     }
 *
 * Nothing here touches the range itself. Threads: the caller's lock.
 */
#ifndef COLLECTIVES_CPU_HEAP_HEAP_EXTENTS_H
#define COLLECTIVES_CPU_HEAP_HEAP_EXTENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct jd_slab;

struct jd_extent {
    uint64_t begin, bytes;
    size_t asked;         /* what its user asked for; 0: none has it (yet) */
    struct jd_slab *slab; /* that it serves; or NULL */
};

/* All zeros is an empty list. */
struct jd_extents {
    struct jd_extent *at;
    size_t count, capacity;
};

/* Room for so many extents; false where there is no memory for it. The
 * functions below need room for one more than there are. */
bool jd__heap_extents_reserve(struct jd_extents *list, size_t capacity);
void jd__heap_extents_finish(struct jd_extents *list);

/* The extent in which the offset lies, or NULL. */
struct jd_extent *jd__heap_extents_find(const struct jd_extents *list,
                                        uint64_t offset);

void jd__heap_extents_insert(struct jd_extents *list,
                             const struct jd_extent *extent);
void jd__heap_extents_remove(struct jd_extents *list, struct jd_extent *extent);

struct jd_extent_cut {
    uint64_t base; /* the address of offset 0, for the alignment */
    uint64_t bytes;
    uint64_t alignment; /* a power of two */
};

/* Cuts a part out of the first free extent that has it. */
bool jd__heap_extents_cut(struct jd_extents *list,
                          const struct jd_extent_cut *cut, uint64_t *ret_begin);

/* Makes it free, one with what is free before and behind it. */
void jd__heap_extents_put_back(struct jd_extents *list, uint64_t begin,
                               uint64_t bytes);

#endif

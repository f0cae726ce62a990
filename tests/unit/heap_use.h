/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * heap_use.h - an arena of a test's own, what is taken from it, and what the
 * system has given it.
 */
#ifndef TESTS_UNIT_HEAP_USE_H
#define TESTS_UNIT_HEAP_USE_H

#include "collectives/cpu/heap/heap_private.h"
#include "tests/unit/unit.h"

#include <sys/stat.h>

static inline struct jd_heap *make_heap(const struct jd_heap_spec *spec)
{
    struct jd_heap *heap = NULL;
    UNIT_OK(jd__heap_create(spec, "test", &heap));
    return heap;
}

static inline struct jd_heap *make_small_heap(void)
{
    return make_heap(&(struct jd_heap_spec){ .size = 256 << 20 });
}

static inline char *take(struct jd_heap *heap, size_t bytes, size_t alignment)
{
    void *memory = NULL;
    UNIT_OK(jd__heap_alloc(heap,
                           &(struct jd_heap_request){
                               .operation = "test",
                               .bytes = bytes,
                               .alignment = alignment,
                               .numa_node = -1,
                           },
                           &memory));
    ck_assert_ptr_nonnull(memory);
    return memory;
}

/* What the file behind it has of the system's memory. */
static inline uint64_t file_bytes(const struct jd_heap *heap)
{
    struct stat facts;
    ck_assert_int_eq(fstat(heap->fd, &facts), 0);
    return (uint64_t)facts.st_blocks * 512;
}

#endif

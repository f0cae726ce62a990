/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * block_cache.h - memory that resharding has let go, for its next call: pages
 * that the system has to find, clear and map cost several times what the move
 * does.
 *
 *     struct jd_block_cache_request request = { world, limit, device, bytes };
 *     status = jd__block_cache_take(&request, &memory);
 *     ...
 *     jd__block_cache_give(world, device, bytes, memory);
 *
 * It keeps whole pieces of any platform's memory, by their size. The slabs of a
 * platform (collectives/cpu/heap, collectives/cuda/pool.h) share pieces among
 * small requests, and give to the system what nobody has: they cannot know that
 * the next call wants the same again.
 *
 * At most limit bytes of each device are kept, those that came last. Those of
 * a world that has ended go at the next take.
 *
 * Threads: any.
 */
#ifndef ARRAYS_ARRAY_BLOCK_CACHE_H
#define ARRAYS_ARRAY_BLOCK_CACHE_H

#include "jd_device.h"
#include "jd_status.h"

#include <stddef.h>
#include <stdint.h>

struct jd_block_cache_request {
    uint64_t world; /* the runtime's number */
    size_t limit;   /* bytes of each device that may be kept */
    const jd_device *device;
    size_t bytes; /* 0: a NULL */
};

/* Memory of any content. Returns as jd_device_alloc(). */
jd_status jd__block_cache_take(const struct jd_block_cache_request *request,
                               void **ret_memory);

/* Keeps it, or gives it to jd_device_free(); NULL is allowed. Also memory that
 * jd_device_alloc() gave; the device is not looked at. */
void jd__block_cache_give(uint64_t world, const jd_device *device, size_t bytes,
                          void *memory);

/* For tests: bytes that are kept of all devices. */
size_t jd__block_cache_bytes(void);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* block_cache.c - memory that resharding has let go, the last one first. */
#include "arrays/array/block_cache.h"
#include "collectives/platform/device_memory.h"
#include "jd_memory.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

struct cache {
    struct cache *next; /* let go before this one */
    const jd_device *device;
    size_t bytes;
    void *memory;
};

static struct {
    pthread_mutex_t lock;
    uint64_t world; /* that they are all of */
    size_t limit;
    struct cache *first;
} caches = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* With the lock: takes it out of the list. */
static void *take_out(struct cache **link)
{
    struct cache *cache = *link;
    void *memory = cache->memory;
    *link = cache->next;
    free(cache);
    return memory;
}

/* With the lock: those of the device, or of all, that are more than limit
 * bytes together, go; the last ones stay. */
static void shorten_cache(const jd_device *device, size_t limit)
{
    struct cache **link = &caches.first;
    size_t kept = 0;
    while (*link) {
        bool is_meant = !device || (*link)->device == device;
        if (is_meant && (*link)->bytes > limit - kept) {
            jd__device_memory_free_taken(take_out(link));
            continue;
        }
        kept += is_meant ? (*link)->bytes : 0;
        link = &(*link)->next;
    }
}

/* With the lock. NULL where none is of that size, or a little longer. */
static void *find_block(const struct jd_block_cache_request *request)
{
    for (struct cache **link = &caches.first; *link; link = &(*link)->next)
        if ((*link)->device == request->device &&
            (*link)->bytes >= request->bytes &&
            (*link)->bytes - request->bytes <= request->bytes / 8)
            return take_out(link);
    return NULL;
}

/* What a result gets, it has as an array. */
static jd_status allocate_block(const struct jd_block_cache_request *request,
                                void **ret_memory)
{
    void *memory;
    jd_status status =
        jd_device_alloc(request->device, request->bytes, &memory);
    if (status == JD_OK)
        status = jd__device_memory_take("jd_device_alloc", memory);
    if (status == JD_OK)
        *ret_memory = memory;
    return status;
}

jd_status jd__block_cache_take(const struct jd_block_cache_request *request,
                               void **ret_memory)
{
    pthread_mutex_lock(&caches.lock);
    if (caches.world != request->world)
        shorten_cache(NULL, 0);
    caches.world = request->world;
    caches.limit = request->limit;
    void *memory = request->bytes ? find_block(request) : NULL;
    pthread_mutex_unlock(&caches.lock);
    if (memory) {
        *ret_memory = memory;
        return JD_OK;
    }
    jd_status status = allocate_block(request, ret_memory);
    if (status != JD_RESOURCE_EXHAUSTED)
        return status;
    pthread_mutex_lock(&caches.lock);
    shorten_cache(NULL, 0);
    pthread_mutex_unlock(&caches.lock);
    return allocate_block(request, ret_memory);
}

/* With the lock; false where it is not kept. */
static bool keep_block(uint64_t world, const struct cache *given)
{
    if (world != caches.world || given->bytes > caches.limit)
        return false;
    struct cache *cache = malloc(sizeof *cache);
    if (!cache)
        return false;
    *cache = *given;
    cache->next = caches.first;
    caches.first = cache;
    shorten_cache(given->device, caches.limit);
    return true;
}

void jd__block_cache_give(uint64_t world, const jd_device *device, size_t bytes,
                          void *memory)
{
    const struct cache given = { NULL, device, bytes, memory };
    if (!memory)
        return;
    pthread_mutex_lock(&caches.lock);
    bool is_kept = keep_block(world, &given);
    pthread_mutex_unlock(&caches.lock);
    if (!is_kept)
        jd__device_memory_free_taken(memory);
}

size_t jd__block_cache_bytes(void)
{
    size_t bytes = 0;
    pthread_mutex_lock(&caches.lock);
    for (const struct cache *s = caches.first; s; s = s->next)
        bytes += s->bytes;
    pthread_mutex_unlock(&caches.lock);
    return bytes;
}

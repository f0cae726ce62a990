/* SPDX-License-Identifier: BSD-3-Clause */
/* heap.c - the process's arena, and allocations in it. */
#include "collectives/cpu/heap/heap.h"
#include "collectives/cpu/heap/heap_private.h"

#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

pthread_mutex_t jd__arena_globals = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t watch_once = PTHREAD_ONCE_INIT;
static _Atomic(struct jd_arena *) own;
static atomic_int processes_here;
static struct jd_arena *inherited; /* from the process that forked this one */

/* ---- the process's ------------------------------------------------------ */

static void before_fork(void)
{
    pthread_mutex_lock(&jd__arena_globals);
}

static void after_fork(void)
{
    pthread_mutex_unlock(&jd__arena_globals);
}

/* The parent's arena stays mapped, as data that the child may read, but it is
 * not the child's to cut from. */
static void begin_child(void)
{
    struct jd_arena *parents = atomic_exchange(&own, NULL);
    if (parents) {
        if (jd__arena_has_file(parents))
            close(parents->fd);
        parents->fd = -1;
        parents->inherited = inherited;
        inherited = parents;
    }
    pthread_mutex_unlock(&jd__arena_globals);
}

static void watch_forks(void)
{
    pthread_atfork(before_fork, after_fork, begin_child);
}

void jd__arena_watch_forks(void)
{
    pthread_once(&watch_once, watch_forks);
}

void jd__arena_expect(int processes)
{
    atomic_store(&processes_here, processes);
}

struct jd_arena *jd__arena_existing(void)
{
    return atomic_load_explicit(&own, memory_order_acquire);
}

struct jd_arena *jd__arena_get(const char *operation)
{
    struct jd_arena *arena = jd__arena_existing();
    if (arena)
        return arena;
    jd__arena_watch_forks();
    pthread_mutex_lock(&jd__arena_globals);
    arena = jd__arena_existing();
    struct jd_arena_spec spec = { .processes = atomic_load(&processes_here) };
    if (!arena && jd__arena_create(&spec, operation, &arena) == JD_OK)
        atomic_store_explicit(&own, arena, memory_order_release);
    pthread_mutex_unlock(&jd__arena_globals);
    return arena;
}

/* ---- allocations -------------------------------------------------------- */

static jd_status alloc_block(struct jd_arena *arena,
                             const struct jd_arena_request *request,
                             void **ret_memory)
{
    uint64_t begin;
    jd_status status = jd__block_take(arena, request, &begin);
    if (status != JD_OK)
        return status;
    if (arena->keeps_pages)
        memset(arena->base + begin, 0, request->bytes);
    pthread_mutex_lock(&arena->lock);
    jd__extents_find(&arena->used, begin)->asked = request->bytes;
    arena->bytes += request->bytes;
    arena->allocations++;
    pthread_mutex_unlock(&arena->lock);
    *ret_memory = arena->base + begin;
    return JD_OK;
}

jd_status jd__arena_alloc(struct jd_arena *arena,
                          const struct jd_arena_request *request,
                          void **ret_memory)
{
    if (request->bytes <= JD_ARENA_SMALL &&
        request->alignment <= JD_ARENA_SMALL)
        return jd__slab_alloc(arena, request, ret_memory);
    return alloc_block(arena, request, ret_memory);
}

/* With the lock: the extent that has memory in it, where an allocation begins
 * there; its bytes. */
static struct jd_extent *find_allocation(const struct jd_arena *arena,
                                         const void *memory, size_t *ret_bytes)
{
    uint64_t offset;
    *ret_bytes = 0;
    if (!jd__arena_offset(arena, memory, 1, &offset))
        return NULL;
    struct jd_extent *extent = jd__extents_find(&arena->used, offset);
    if (!extent)
        return NULL;
    if (extent->slab)
        *ret_bytes = jd__slab_size_of(extent->slab, offset);
    else if (extent->begin == offset)
        *ret_bytes = extent->asked;
    return *ret_bytes ? extent : NULL;
}

size_t jd__arena_size_of(struct jd_arena *arena, const void *memory)
{
    size_t bytes;
    pthread_mutex_lock(&arena->lock);
    find_allocation(arena, memory, &bytes);
    pthread_mutex_unlock(&arena->lock);
    return bytes;
}

/* With the lock: ends the allocation; true where its whole extent goes. */
static bool end_allocation(struct jd_arena *arena, struct jd_extent *extent,
                           const void *memory)
{
    if (extent->slab)
        return jd__slab_free(arena, extent->slab,
                             (uint64_t)((const char *)memory - arena->base));
    arena->bytes -= extent->asked;
    arena->allocations--;
    return true;
}

bool jd__arena_free(struct jd_arena *arena, void *memory)
{
    size_t bytes;
    uint64_t begin = 0;
    struct jd_slab *slab = NULL;
    if (!memory)
        return true;
    pthread_mutex_lock(&arena->lock);
    struct jd_extent *extent = find_allocation(arena, memory, &bytes);
    bool goes = extent && end_allocation(arena, extent, memory);
    if (goes) {
        begin = extent->begin;
        slab = extent->slab;
        extent->asked = 0;
        extent->slab = NULL;
    }
    pthread_mutex_unlock(&arena->lock);
    if (goes)
        jd__block_give(arena, begin);
    jd__slab_destroy(slab);
    return extent != NULL;
}

bool jd__arena_offset(const struct jd_arena *arena, const void *data,
                      size_t bytes, uint64_t *ret_offset)
{
    if (!arena)
        return false;
    uintptr_t offset = (uintptr_t)data - (uintptr_t)arena->base;
    if (offset > arena->size || bytes > arena->size - offset)
        return false;
    *ret_offset = offset;
    return true;
}

void jd__arena_usage(struct jd_arena *arena, size_t *ret_bytes,
                     size_t *ret_allocations)
{
    pthread_mutex_lock(&arena->lock);
    *ret_bytes = arena->bytes;
    *ret_allocations = arena->allocations;
    pthread_mutex_unlock(&arena->lock);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* heap.c - the process's heap, and allocations in it. */
#include "collectives/cpu/heap/heap.h"
#include "collectives/cpu/heap/heap_private.h"

#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

pthread_mutex_t jd__heap_globals = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t watch_once = PTHREAD_ONCE_INIT;
static _Atomic(struct jd_heap *) own;
static atomic_int processes_here;
static struct jd_heap *inherited; /* from the process that forked this one */

/* ---- the process's ------------------------------------------------------ */

static void before_fork(void)
{
    pthread_mutex_lock(&jd__heap_globals);
}

static void after_fork(void)
{
    pthread_mutex_unlock(&jd__heap_globals);
}

/* The parent's heap stays mapped, as data that the child may read, but it is
 * not the child's to cut from. */
static void begin_child(void)
{
    struct jd_heap *parents = atomic_exchange(&own, NULL);
    if (parents) {
        if (jd__heap_has_file(parents))
            close(parents->fd);
        parents->fd = -1;
        parents->inherited = inherited;
        inherited = parents;
    }
    pthread_mutex_unlock(&jd__heap_globals);
}

static void watch_forks(void)
{
    pthread_atfork(before_fork, after_fork, begin_child);
}

void jd__heap_watch_forks(void)
{
    pthread_once(&watch_once, watch_forks);
}

void jd__heap_expect(int processes)
{
    atomic_store(&processes_here, processes);
}

struct jd_heap *jd__heap_existing(void)
{
    return atomic_load_explicit(&own, memory_order_acquire);
}

struct jd_heap *jd__heap_get(const char *operation)
{
    struct jd_heap *heap = jd__heap_existing();
    if (heap)
        return heap;
    jd__heap_watch_forks();
    pthread_mutex_lock(&jd__heap_globals);
    heap = jd__heap_existing();
    struct jd_heap_spec spec = { .processes = atomic_load(&processes_here) };
    if (!heap && jd__heap_create(&spec, operation, &heap) == JD_OK)
        atomic_store_explicit(&own, heap, memory_order_release);
    pthread_mutex_unlock(&jd__heap_globals);
    return heap;
}

/* ---- allocations -------------------------------------------------------- */

static jd_status alloc_block(struct jd_heap *heap,
                             const struct jd_heap_request *request,
                             void **ret_memory)
{
    uint64_t begin;
    jd_status status = jd__heap_block_take(heap, request, &begin);
    if (status != JD_OK)
        return status;
    if (heap->keeps_pages)
        memset(heap->base + begin, 0, request->bytes);
    pthread_mutex_lock(&heap->lock);
    jd__heap_extents_find(&heap->used, begin)->asked = request->bytes;
    heap->bytes += request->bytes;
    heap->allocations++;
    pthread_mutex_unlock(&heap->lock);
    *ret_memory = heap->base + begin;
    return JD_OK;
}

jd_status jd__heap_alloc(struct jd_heap *heap,
                         const struct jd_heap_request *request,
                         void **ret_memory)
{
    if (request->bytes <= JD_HEAP_SMALL && request->alignment <= JD_HEAP_SMALL)
        return jd__heap_slab_alloc(heap, request, ret_memory);
    return alloc_block(heap, request, ret_memory);
}

/* With the lock: the extent that has memory in it, where an allocation begins
 * there; its bytes. */
static struct jd_extent *find_allocation(const struct jd_heap *heap,
                                         const void *memory, size_t *ret_bytes)
{
    uint64_t offset;
    *ret_bytes = 0;
    if (!jd__heap_offset(heap, memory, 1, &offset))
        return NULL;
    struct jd_extent *extent = jd__heap_extents_find(&heap->used, offset);
    if (!extent)
        return NULL;
    if (extent->slab)
        *ret_bytes = jd__heap_slab_size_of(extent->slab, offset);
    else if (extent->begin == offset)
        *ret_bytes = extent->asked;
    return *ret_bytes ? extent : NULL;
}

size_t jd__heap_size_of(struct jd_heap *heap, const void *memory)
{
    size_t bytes;
    pthread_mutex_lock(&heap->lock);
    find_allocation(heap, memory, &bytes);
    pthread_mutex_unlock(&heap->lock);
    return bytes;
}

/* With the lock: ends the allocation; true where its whole extent goes. */
static bool end_allocation(struct jd_heap *heap, struct jd_extent *extent,
                           const void *memory)
{
    if (extent->slab)
        return jd__heap_slab_free(
            heap, extent->slab, (uint64_t)((const char *)memory - heap->base));
    heap->bytes -= extent->asked;
    heap->allocations--;
    return true;
}

bool jd__heap_free(struct jd_heap *heap, void *memory)
{
    size_t bytes;
    uint64_t begin = 0;
    struct jd_slab *slab = NULL;
    if (!memory)
        return true;
    pthread_mutex_lock(&heap->lock);
    struct jd_extent *extent = find_allocation(heap, memory, &bytes);
    bool goes = extent && end_allocation(heap, extent, memory);
    if (goes) {
        begin = extent->begin;
        slab = extent->slab;
        extent->asked = 0;
        extent->slab = NULL;
    }
    pthread_mutex_unlock(&heap->lock);
    if (goes)
        jd__heap_block_give(heap, begin);
    jd__heap_slab_destroy(slab);
    return extent != NULL;
}

bool jd__heap_offset(const struct jd_heap *heap, const void *data, size_t bytes,
                     uint64_t *ret_offset)
{
    if (!heap)
        return false;
    uintptr_t offset = (uintptr_t)data - (uintptr_t)heap->base;
    if (offset > heap->size || bytes > heap->size - offset)
        return false;
    *ret_offset = offset;
    return true;
}

void jd__heap_usage(struct jd_heap *heap, size_t *ret_bytes,
                    size_t *ret_allocations)
{
    pthread_mutex_lock(&heap->lock);
    *ret_bytes = heap->bytes;
    *ret_allocations = heap->allocations;
    pthread_mutex_unlock(&heap->lock);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memory.c - a cpu device's memory: a part of this process's heap; plain
 * memory where the system allows no heap.
 */
#include "collectives/cpu/memory.h"
#include "base/log.h"
#include "collectives/cpu/heap/heap_private.h"
#include "collectives/cpu/heap/heap_space.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define ALLOC "jd_device_alloc"

/* ---- plain memory ------------------------------------------------------- */

struct plain {
    struct plain *next;
    void *memory;
    size_t bytes;
};

static struct plain *plains; /* under jd__heap_globals */

/* The system is asked what there is, and the pages are written, for the same
 * promise as the heap's: no signal later. */
static jd_status get_pages(size_t bytes, void **ret_memory)
{
    struct jd_space_request space = {
        .operation = ALLOC, .root = "", .file = -1, .bytes = bytes
    };
    size_t alignment = bytes >= JD_HEAP_HUGE ? (size_t)JD_HEAP_HUGE : 64;
    jd_status status = jd__heap_space_check(&space, NULL);
    if (status != JD_OK)
        return status;
    if (posix_memalign(ret_memory, alignment, bytes) != 0)
        return jd__fail_no_memory(ALLOC, bytes);
    memset(*ret_memory, 0, bytes);
    return JD_OK;
}

static jd_status alloc_plain(size_t bytes, void **ret_memory)
{
    struct plain *plain = malloc(sizeof *plain);
    if (!plain)
        return jd__fail_no_memory(ALLOC, sizeof *plain);
    jd_status status = get_pages(bytes, &plain->memory);
    if (status != JD_OK) {
        free(plain);
        return status;
    }
    *ret_memory = plain->memory;
    plain->bytes = bytes;
    jd__heap_watch_forks();
    pthread_mutex_lock(&jd__heap_globals);
    plain->next = plains;
    plains = plain;
    pthread_mutex_unlock(&jd__heap_globals);
    return JD_OK;
}

static bool free_plain(void *memory)
{
    pthread_mutex_lock(&jd__heap_globals);
    struct plain **link = &plains, *plain;
    while (*link && (*link)->memory != memory)
        link = &(*link)->next;
    plain = *link;
    if (plain)
        *link = plain->next;
    pthread_mutex_unlock(&jd__heap_globals);
    if (!plain)
        return false;
    free(memory);
    free(plain);
    return true;
}

static size_t plain_size(const void *memory)
{
    pthread_mutex_lock(&jd__heap_globals);
    const struct plain *plain = plains;
    while (plain && plain->memory != memory)
        plain = plain->next;
    size_t bytes = plain ? plain->bytes : 0;
    pthread_mutex_unlock(&jd__heap_globals);
    return bytes;
}

/* ---- the table ---------------------------------------------------------- */

static int count_processes_here(const struct jd_runtime *runtime)
{
    const struct jd_topology *topology = runtime->topology;
    int host = topology->processes[runtime->world.index].host;
    return topology->hosts[host].num_processes;
}

/* The process's heap; NULL where there is none, said once. */
static struct jd_heap *find_heap(const struct jd_runtime *runtime)
{
    static atomic_flag said = ATOMIC_FLAG_INIT;
    jd__heap_expect(count_processes_here(runtime));
    struct jd_heap *heap = jd__heap_get(ALLOC);
    if (!heap && !atomic_flag_test_and_set(&said))
        jd__log(JD_LOG_INFO,
                "%s; device memory is this process's alone, and collectives "
                "copy it by MPI",
                jd_error_message());
    return heap;
}

static jd_status alloc_memory(const struct jd_runtime *runtime,
                              const jd_device *device, size_t bytes,
                              void **ret_memory)
{
    struct jd_heap *heap = find_heap(runtime);
    struct jd_heap_request request = { .operation = ALLOC,
                                       .bytes = bytes,
                                       .numa_node = device->numa_node };
    return heap ? jd__heap_alloc(heap, &request, ret_memory)
                : alloc_plain(bytes, ret_memory);
}

static bool free_memory(void *memory)
{
    struct jd_heap *heap = jd__heap_existing();
    return (heap && jd__heap_free(heap, memory)) || free_plain(memory);
}

static size_t size_of(const void *memory)
{
    struct jd_heap *heap = jd__heap_existing();
    size_t bytes = heap ? jd__heap_size_of(heap, memory) : 0;
    return bytes ? bytes : plain_size(memory);
}

const struct jd_device_memory jd__memory_cpu = {
    .alloc = alloc_memory,
    .free = free_memory,
    .size = size_of,
};

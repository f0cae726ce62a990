/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * device_memory.c - a device's memory: on cpu a part of this process's arena;
 * plain memory where the system allows no arena.
 */
#include "collectives/device_memory.h"
#include "collectives/arena_private.h"
#include "collectives/arena_space.h"
#include "jd_memory.h"
#include "runtime/log.h"
#include "runtime/runtime.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define ALLOC "jd_device_alloc"
#define FREE "jd_device_free"
#define COPY "jd_device_copy"

/* ---- plain memory ------------------------------------------------------- */

struct plain {
    struct plain *next;
    void *memory;
    size_t bytes;
};

static struct plain *plains; /* under jd__arena_globals */

/* The system is asked what there is, and the pages are written, for the same
 * promise as the arena's: no signal later. */
static jd_status get_pages(size_t bytes, void **ret_memory)
{
    struct jd_space_request space = {
        .operation = ALLOC, .root = "", .file = -1, .bytes = bytes
    };
    size_t alignment = bytes >= JD_ARENA_HUGE ? (size_t)JD_ARENA_HUGE : 64;
    jd_status status = jd__space_check(&space, NULL);
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
    jd__arena_watch_forks();
    pthread_mutex_lock(&jd__arena_globals);
    plain->next = plains;
    plains = plain;
    pthread_mutex_unlock(&jd__arena_globals);
    return JD_OK;
}

static bool free_plain(void *memory)
{
    pthread_mutex_lock(&jd__arena_globals);
    struct plain **link = &plains, *plain;
    while (*link && (*link)->memory != memory)
        link = &(*link)->next;
    plain = *link;
    if (plain)
        *link = plain->next;
    pthread_mutex_unlock(&jd__arena_globals);
    if (!plain)
        return false;
    free(memory);
    free(plain);
    return true;
}

static size_t plain_size(const void *memory)
{
    pthread_mutex_lock(&jd__arena_globals);
    const struct plain *plain = plains;
    while (plain && plain->memory != memory)
        plain = plain->next;
    size_t bytes = plain ? plain->bytes : 0;
    pthread_mutex_unlock(&jd__arena_globals);
    return bytes;
}

/* ---- arguments ---------------------------------------------------------- */

static bool is_of_job(const struct jd_topology *topology,
                      const jd_device *device)
{
    for (int i = 0; i < topology->num_devices; i++)
        if (device == &topology->devices[i])
            return true;
    return false;
}

static jd_status check_device(const struct jd_runtime *runtime,
                              const jd_device *device)
{
    int own = runtime->world.index;
    if (!is_of_job(runtime->topology, device))
        return jd_fail(JD_INVALID_ARGUMENT,
                       ALLOC ": device is %s; take the pointer from "
                             "jd_local_devices()",
                       device ? "no device of this job" : "NULL");
    if (device->process_index == own)
        return JD_OK;
    return jd_fail(JD_INVALID_ARGUMENT,
                   ALLOC ": device %lld (\"%s\") is one of process %d, on "
                         "host %s, and this is process %d; a process has "
                         "memory of its own devices: take one of "
                         "jd_local_devices()",
                   (long long)device->id, device->platform,
                   device->process_index, device->host, own);
}

/* ---- the public calls --------------------------------------------------- */

static int count_processes_here(const struct jd_runtime *runtime)
{
    const struct jd_topology *topology = runtime->topology;
    int host = topology->processes[runtime->world.index].host;
    return topology->hosts[host].num_processes;
}

/* The process's arena; NULL where there is none, said once. */
static struct jd_arena *find_arena(const struct jd_runtime *runtime)
{
    static atomic_flag said = ATOMIC_FLAG_INIT;
    jd__arena_expect(count_processes_here(runtime));
    struct jd_arena *arena = jd__arena_get(ALLOC);
    if (!arena && !atomic_flag_test_and_set(&said))
        jd__log(JD_LOG_INFO,
                "%s; device memory is this process's alone, and collectives "
                "copy it by MPI",
                jd_error_message());
    return arena;
}

jd_status jd_device_alloc(const jd_device *device, size_t bytes,
                          void **ret_memory)
{
    const struct jd_runtime *runtime;
    void *memory = NULL;
    jd_status status = jd__runtime_get(&runtime, ALLOC);
    if (status == JD_OK && !ret_memory)
        status = jd_fail(JD_INVALID_ARGUMENT,
                         ALLOC ": ret_memory is NULL; it gets the pointer");
    if (status == JD_OK)
        status = check_device(runtime, device);
    if (status != JD_OK)
        return status;
    struct jd_arena *arena = bytes ? find_arena(runtime) : NULL;
    struct jd_arena_request request = { .operation = ALLOC,
                                        .bytes = bytes,
                                        .numa_node = device->numa_node };
    if (arena)
        status = jd__arena_alloc(arena, &request, &memory);
    else if (bytes)
        status = alloc_plain(bytes, &memory);
    if (status == JD_OK)
        *ret_memory = memory;
    return status;
}

jd_status jd_device_free(void *memory)
{
    struct jd_arena *arena = jd__arena_existing();
    if (!memory || (arena && jd__arena_free(arena, memory)) ||
        free_plain(memory))
        return JD_OK;
    return jd_fail(JD_INVALID_ARGUMENT,
                   FREE ": %p is not memory that jd_device_alloc() gave, or "
                        "it was given back already; give each pointer back "
                        "once, as it came",
                   memory);
}

size_t jd__device_memory_size(const void *memory)
{
    struct jd_arena *arena = jd__arena_existing();
    size_t bytes = memory && arena ? jd__arena_size_of(arena, memory) : 0;
    return bytes || !memory ? bytes : plain_size(memory);
}

static jd_status check_copy(const void *to, const void *from, size_t bytes)
{
    uintptr_t a = (uintptr_t)to, b = (uintptr_t)from;
    if (!to || !from)
        return jd_fail(JD_INVALID_ARGUMENT,
                       COPY ": %s is NULL, and %zu bytes are to be copied",
                       to ? "from" : "to", bytes);
    if (a < b ? b - a >= bytes : a - b >= bytes)
        return JD_OK;
    return jd_fail(JD_INVALID_ARGUMENT,
                   COPY ": to and from overlap: they begin %zu bytes apart "
                        "and have %zu; copy by way of a third buffer",
                   (size_t)(a < b ? b - a : a - b), bytes);
}

jd_status jd_device_copy(void *to, const void *from, size_t bytes)
{
    jd_status status = bytes ? check_copy(to, from, bytes) : JD_OK;
    if (status == JD_OK && bytes)
        memcpy(to, from, bytes);
    return status;
}

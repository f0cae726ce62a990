/* SPDX-License-Identifier: BSD-3-Clause */
/* device_memory.c - the public calls on a device's memory: what they are given,
 * and whose memory it is. */
#include "base/forked.h"
#include "collectives/platform/device_memory.h"
#include "collectives/platform/platform.h"
#include "runtime/process/runtime.h"

#include <pthread.h>
#include <search.h>
#include <stdint.h>
#include <string.h>

#define ALLOC "jd_device_alloc"
#define FREE "jd_device_free"
#define COPY "jd_device_copy"

/* ---- arguments ---------------------------------------------------------- */

static jd_status check_device(const struct jd_runtime *runtime,
                              const jd_device *device)
{
    int own = runtime->world.index;
    if (!jd__topology_has_device(runtime->topology, device))
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

/* ---- what belongs to an array ------------------------------------------- */

static struct {
    pthread_mutex_t lock;
    void *tree; /* tsearch()'s, of pointers */
} taken = { .lock = PTHREAD_MUTEX_INITIALIZER };

static int compare_pointers(const void *one, const void *other)
{
    uintptr_t a = (uintptr_t)one, b = (uintptr_t)other;
    return a < b ? -1 : a > b;
}

jd_status jd__device_memory_take(const char *operation, void *memory)
{
    if (!memory)
        return JD_OK;
    pthread_mutex_lock(&taken.lock);
    bool is_noted = tsearch(memory, &taken.tree, compare_pointers) != NULL;
    pthread_mutex_unlock(&taken.lock);
    return is_noted ? JD_OK : jd__fail_no_memory(operation, 4 * sizeof memory);
}

bool jd__device_memory_is_taken(const void *memory)
{
    pthread_mutex_lock(&taken.lock);
    bool is_taken = tfind(memory, &taken.tree, compare_pointers) != NULL;
    pthread_mutex_unlock(&taken.lock);
    return is_taken;
}

void jd__device_memory_leave(void *memory)
{
    pthread_mutex_lock(&taken.lock);
    tdelete(memory, &taken.tree, compare_pointers);
    pthread_mutex_unlock(&taken.lock);
}

void jd__device_memory_free_taken(void *memory)
{
    if (!memory)
        return;
    jd__device_memory_leave(memory);
    jd_device_free(memory);
}

/* ---- the public calls --------------------------------------------------- */

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
    if (status == JD_OK && bytes)
        status = jd__platform_find(device->platform)
                     ->memory->alloc(runtime, device, bytes, &memory);
    if (status == JD_OK)
        *ret_memory = memory;
    return status;
}

jd_status jd_device_free(void *memory)
{
    const struct jd_platform *platform;
    if (jd__forked_check(FREE) != JD_OK)
        return JD_FAILED_PRECONDITION;
    if (memory && jd__device_memory_is_taken(memory))
        return jd_fail(JD_INVALID_ARGUMENT,
                       FREE ": %p belongs to an array, which gives it back "
                            "itself; jd_array_release() ends the array",
                       memory);
    for (int i = 0; memory && (platform = jd__platform_at(i)); i++)
        if (platform->memory->free(memory))
            return JD_OK;
    if (!memory)
        return JD_OK;
    return jd_fail(JD_INVALID_ARGUMENT,
                   FREE ": %p is not memory that jd_device_alloc() gave, or "
                        "it was given back already; give each pointer back "
                        "once, as it came",
                   memory);
}

size_t jd__device_memory_size(const void *memory)
{
    const struct jd_platform *platform;
    size_t bytes = 0;
    for (int i = 0; memory && !bytes && (platform = jd__platform_at(i)); i++)
        bytes = platform->memory->size(memory);
    return bytes;
}

/* The memory that the host cannot touch itself; NULL: it can. */
static const struct jd_device_memory *find_apart(const void *memory)
{
    const struct jd_platform *platform;
    for (int i = 0; (platform = jd__platform_at(i)); i++)
        if (platform->memory->is_apart && platform->memory->is_apart(memory))
            return platform->memory;
    return NULL;
}

bool jd__device_memory_is_apart(const void *memory)
{
    return find_apart(memory) != NULL;
}

jd_status jd__device_memory_view(const void *memory, size_t bytes, void *buffer,
                                 const void **ret_bytes)
{
    bool is_apart = jd__device_memory_is_apart(memory);
    *ret_bytes = is_apart ? buffer : memory;
    return is_apart ? jd_device_copy(buffer, memory, bytes) : JD_OK;
}

jd_status jd__device_memory_copy_nest(const struct jd_nest *nest,
                                      struct jd_stream *stream)
{
    const struct jd_device_memory *apart = find_apart(nest->rows.to);
    if (!apart)
        apart = find_apart(nest->rows.from);
    return apart->copy_nest(nest, stream);
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
    jd_status status = jd__forked_check(COPY);
    if (status == JD_OK && bytes)
        status = check_copy(to, from, bytes);
    if (status != JD_OK || bytes == 0)
        return status;
    const struct jd_device_memory *apart = find_apart(to);
    if (!apart)
        apart = find_apart(from);
    if (apart)
        return apart->copy(to, from, bytes);
    memcpy(to, from, bytes);
    return JD_OK;
}

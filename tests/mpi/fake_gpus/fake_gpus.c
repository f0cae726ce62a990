/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fake_gpus.c - a module that has nothing but devices, for tests of who gets
 * which: FAKE_GPUS=acd, three GPUs whose UUIDs end in these letters. With
 * FAKE_REFUSES set it takes this jd for another version.
 */
#include "collectives/platform/platform_module.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int settled[32], num_settled;

static jd_status enumerate(const struct jd_settings *settings,
                           const struct jd_host_facts *host,
                           struct jd_found_devices *found)
{
    const char *letters = getenv("FAKE_GPUS");
    (void)settings, (void)host;
    if (!letters || !letters[0]) {
        strcpy(found->why_none, "FAKE_GPUS is not set");
        return JD_OK;
    }
    found->count = (int)strlen(letters);
    found->items = calloc((size_t)found->count, sizeof *found->items);
    for (int i = 0; i < found->count; i++) {
        struct jd_local_device *d = &found->items[i];
        strcpy(d->kind, "fake GPU");
        strcpy(d->detail, "compute capability 0.1");
        snprintf(d->uuid, sizeof d->uuid, "GPU-%c", letters[i]);
        snprintf(d->pci_bus_id, sizeof d->pci_bus_id, "0000:%02x:00.0",
                 letters[i]);
        d->native = i;
        d->numa_node = -1;
        d->memory_bytes = 1u << 30;
    }
    return JD_OK;
}

static void settle(const int *natives, int count)
{
    for (int i = 0; i < count; i++)
        settled[i] = natives[i];
    num_settled = count;
}

static const struct jd_device_source source = { .platform = "cuda",
                                                .enumerate = enumerate,
                                                .settle = settle };

/* Gives nothing but what the test wants to see: a device's native number. */
static jd_status alloc(const struct jd_runtime *runtime,
                       const jd_device *device, size_t bytes, void **ret_memory)
{
    (void)runtime, (void)bytes;
    if (device->local_ordinal >= num_settled)
        return JD_INTERNAL;
    *ret_memory = &settled[device->local_ordinal];
    return JD_OK;
}

static bool give_back(void *memory)
{
    return (int *)memory >= settled && (int *)memory < settled + num_settled;
}

static size_t size(const void *memory)
{
    (void)memory;
    return 0;
}

static const struct jd_device_memory memory = { .alloc = alloc,
                                                .free = give_back,
                                                .size = size };
static const struct jd_platform platform = { .source = &source,
                                             .memory = &memory };

const struct jd_platform *
jd__platform_module(const struct jd_platform_host *host);

__attribute__((visibility("default"))) const struct jd_platform *
jd__platform_module(const struct jd_platform_host *host)
{
    if (!getenv("FAKE_REFUSES"))
        return &platform;
    host->fail(JD_FAILED_PRECONDITION, "it is of jd 0.0.1");
    return NULL;
}

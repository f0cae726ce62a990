/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * device_source.h - the little that the runtime needs of a platform: its
 * name and this process's devices. The platforms themselves live a layer
 * above (collectives/platform.h) and are listed there.
 */
#ifndef RUNTIME_DEVICE_SOURCE_H
#define RUNTIME_DEVICE_SOURCE_H

#include "runtime/options.h"
#include "runtime/status.h"

#include <stdint.h>

/* One device as its own process sees it. Strings are cut to fit. */
struct jd_local_device {
    char kind[96];
    char pci_bus_id[32];
    char uuid[48];
    int numa_node; /* -1: not known, or spans several */
    uint64_t memory_bytes;
};

/* What the host says of itself, for a platform whose devices are its cores. */
struct jd_host_facts {
    char cpu_model[96];
    uint64_t memory_bytes;
    int numa_node; /* the one this process is bound to; -1: several */
};

struct jd_device_source {
    const char *platform; /* "cpu" */

    /*
     * Gives this process's devices as a malloc'ed array, in the order of
     * their local ordinals. Called once per jd_initialize, on its thread.
     * No devices is JD_OK with a count of 0.
     */
    jd_status (*enumerate)(const struct jd_settings *settings,
                           const struct jd_host_facts *host,
                           struct jd_local_device **ret_devices,
                           int *ret_count);
};

/* Every platform's, the default platform first; NULL-terminated. Defined
 * where the platforms are. */
extern const struct jd_device_source *const jd__device_sources[];

#endif

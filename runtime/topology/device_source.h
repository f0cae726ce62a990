/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * device_source.h - the little that the runtime needs of a platform: its
 * name and this process's devices. The platforms themselves live a layer
 * above (collectives/platform/platform.h) and are listed there.
 */
#ifndef RUNTIME_TOPOLOGY_DEVICE_SOURCE_H
#define RUNTIME_TOPOLOGY_DEVICE_SOURCE_H

#include "base/options.h"
#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

/* One device as its own process sees it. Strings are cut to fit. */
struct jd_local_device {
    char kind[96];
    char pci_bus_id[32];
    char uuid[48];    /* "": no other process can see the device */
    char detail[128]; /* more for people: "compute capability 9.0" */
    int native;       /* the platform's own number of it */
    int numa_node;    /* -1: not known, or spans several */
    uint64_t memory_bytes;
};

/* What a platform finds in this process. */
struct jd_found_devices {
    struct jd_local_device *items; /* malloc'ed, in the platform's order */
    int count;
    char why_none[320]; /* where count is 0: "no NVIDIA driver is loaded" */
    bool is_fault;      /* then: their driver is there, and cannot be used */
};

/* What the host says of itself, for a platform whose devices are its cores. */
struct jd_host_facts {
    char cpu_model[96];
    uint64_t memory_bytes;
    int numa_node; /* the one this process is bound to; -1: several */
};

/* Hears one thing of several: "nccl", "2.28.9". */
typedef void (*jd_describe_f)(void *arg, const char *name, const char *value);

struct jd_device_source {
    const char *platform; /* "cpu" */

    /*
     * Adds the devices that this process sees to found, which is all zero.
     * Called once per jd_initialize, on its thread. No devices is JD_OK with a
     * count of 0 and the reason.
     */
    jd_status (*enumerate)(const struct jd_settings *settings,
                           const struct jd_host_facts *host,
                           struct jd_found_devices *found);

    /*
     * Tells which of them are this process's own: its local ordinal i is the
     * native device natives[i]. Called after all processes have compared what
     * they see (device_choice.h), with a count of 0 too. NULL: all are its own.
     */
    void (*settle)(const int *natives, int count);

    /* The world ends: what the platform does beside the program's calls ends
     * before its runtime does. NULL: nothing. */
    void (*leave)(void);

    /* Tells what this process has of the libraries behind it; NULL: nothing. */
    void (*describe)(jd_describe_f say, void *arg);
};

/* Every platform's, that which is the default where every process has a device
 * of it first; NULL-terminated. Defined where the platforms are. */
extern const struct jd_device_source *const jd__device_sources[];

#endif

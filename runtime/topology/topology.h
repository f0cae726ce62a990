/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * topology.h - the job as all processes see it: hosts, processes, devices.
 * Each process packs what it knows of itself into one record; the records
 * are gathered once, and every process builds the same tables from them.
 * Threads: immutable once built.
 */
#ifndef RUNTIME_TOPOLOGY_TOPOLOGY_H
#define RUNTIME_TOPOLOGY_TOPOLOGY_H

#include "base/status.h"
#include "jd_device.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct jd_process_info {
    int index;
    int host;        /* into hosts */
    int local_index; /* among those of its host, by process index */
    int slice;
    int pid;
    uint64_t pid_namespace; /* pids of equal ones can be compared */
    int cores_allowed;
    const char *cores;   /* the list, "0-3,8" */
    const char *program; /* its name */
    int num_devices;     /* of all platforms */
};

struct jd_host {
    const char *name;
    const char *boot_id;
    int num_processes;
    int num_packages;
    int num_numa_nodes;
    int num_cores;
    int num_threads;   /* hardware threads */
    int cores_allowed; /* hardware threads that this job may use there */
    uint64_t memory_bytes;
    const char *caches; /* "L1d 48 KiB, L2 2 MiB, L3 260 MiB" */
};

/* The devices of one platform, by process index, then local ordinal. */
struct jd_device_list {
    const char *platform;
    int count;
    int num_local;
    const jd_device **devices;
    const jd_device **local;
};

struct jd_topology {
    int num_hosts;
    struct jd_host *hosts;
    int num_processes;
    struct jd_process_info *processes;
    int num_slices;
    struct jd_records *records; /* the texts stand there */
    int num_platforms;
    struct jd_device_list *platforms; /* the first is the default */
    jd_device *devices;               /* all, behind the lists */
    int num_devices;
    const jd_device **pointers; /* all, behind the lists */
};

struct jd_records;

/*
 * Builds the tables from verified records, the same on every process but for
 * the lists of local devices. platform is the default one; NULL: the first of
 * jd__device_sources that somebody has. The topology keeps the records: its
 * texts stand there. Returns JD_OK, RESOURCE_EXHAUSTED; on failure the records
 * stay the caller's.
 */
jd_status jd__topology_build(struct jd_records *records, const char *platform,
                             struct jd_topology **ret_topology);
void jd__topology_destroy(struct jd_topology *topology);

/* The list of a platform, or NULL. */
const struct jd_device_list *
jd__topology_platform(const struct jd_topology *topology, const char *name);

/* Where the process's devices of the platform of that number begin in its list,
 * and how many they are. */
int jd__topology_devices_of(const struct jd_topology *topology, int platform,
                            int process, int *ret_first);

/* What its process knows of a device beside. */
const struct jd_local_device *
jd__topology_local_device(const struct jd_topology *topology,
                          const jd_device *device);

/* The UUID of the process's device of that number among those that it sees and
 * does not use; NULL beyond the last. */
const char *jd__topology_spare(const struct jd_topology *topology, int process,
                               int number);

/*
 * One sentence about what is uneven and may surprise (numbers of devices per
 * process, kinds of devices), or "" where all is even.
 */
void jd__topology_describe_uneven(const struct jd_topology *topology,
                                  char *text, size_t size);

#endif

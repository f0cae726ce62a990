/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * topology.h - the job as all processes see it: hosts, processes, devices.
 * Each process packs what it knows of itself into one record; the records
 * are gathered once, and every process builds the same tables from them.
 * Threads: immutable once built.
 */
#ifndef RUNTIME_TOPOLOGY_H
#define RUNTIME_TOPOLOGY_H

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
    char *cores;     /* the list, "0-3,8" */
    char *program;   /* its name */
    int num_devices; /* of all platforms */
};

struct jd_host {
    char *name;
    char *boot_id;
    int num_processes;
    int num_packages;
    int num_numa_nodes;
    int num_cores;
    int num_threads;   /* hardware threads */
    int cores_allowed; /* hardware threads that this job may use there */
    uint64_t memory_bytes;
    char *caches; /* "L1d 48 KiB, L2 2 MiB, L3 260 MiB" */
};

/* The devices of one platform, by process index, then local ordinal. */
struct jd_device_list {
    char *platform;
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
    int num_platforms;
    struct jd_device_list *platforms; /* the first is the default */
    jd_device *devices;               /* all, behind the lists */
    int num_devices;
};

#endif

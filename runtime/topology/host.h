/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * host.h - what this process can learn of its host and of itself, alone:
 * names, boot id, hwloc's packages, NUMA nodes, caches and allowed cores.
 *
 *     struct jd_local_facts facts;
 *     status = jd__host_discover(&facts);
 *
 * Plain data, so that it travels as it is. Texts are cut to fit.
 */
#ifndef RUNTIME_TOPOLOGY_HOST_H
#define RUNTIME_TOPOLOGY_HOST_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

struct jd_local_facts {
    char host[72];    /* gethostname() */
    char boot_id[40]; /* of the kernel; "" where there is none */
    char program[64]; /* the name this process was started by */
    char cpu_model[96];
    char cores[96];  /* hardware threads this process may use, "0-3,8" */
    char caches[96]; /* "L1d 48 KiB, L2 2 MiB, L3 260 MiB" */
    uint64_t memory_bytes;
    uint64_t pid_namespace; /* 0: not known */
    int32_t pid;
    int32_t num_packages;
    int32_t num_numa_nodes;
    int32_t num_cores;
    int32_t num_threads;
    int32_t cores_allowed;      /* hardware threads in cores */
    int32_t host_cores_allowed; /* those that the host's job may use */
    int32_t numa_node;          /* the one that has cores; -1: several */
    int32_t cache; /* the last-level cache that all cores share; -1: none */
};

/*
 * Fills in the facts; takes some 2 ms. What cannot be found out is "" or 0.
 * Returns JD_OK; INTERNAL where hwloc fails, naming its call.
 */
jd_status jd__host_discover(struct jd_local_facts *ret_facts);

/* The first line of a file, without its end; "" where it cannot be read. root
 * is put before the path: "", or a folder of a test. Threads: any. */
void jd__host_read_line(const char *root, const char *path, char *text,
                        size_t size);

/* Which start of a kernel this is; "" where that is not known. Threads: any. */
void jd__host_boot_id(char *text, size_t size);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * table.h - the job as one piece of memory, which the processes of a host map
 * (table_spread.h): rows of fixed size, and a pool in which each text stands
 * once. No row has a pointer. What programs are given, the structs of
 * jd_devices(), must have some: those in the table are right where it lies at
 * its base address, which a process tries to map it at.
 *
 *     struct jd_table *table;
 *     status = jd__table_create(records, platform, &table);
 *     const struct jd_process_info *rows = jd__table_at(table, processes);
 *     jd__table_destroy(table);
 *
 * A text of a row is its place in the pool; place 0 is "".
 * Threads: immutable once made.
 */
#ifndef RUNTIME_TOPOLOGY_TABLE_H
#define RUNTIME_TOPOLOGY_TABLE_H

#include "jd_device.h"
#include "runtime/topology/records.h"

#include <stdbool.h>
#include <stdint.h>

#define JD_TABLE_MAGIC "jd-table"

struct jd_process_info {
    int32_t index;
    int32_t host;        /* into hosts */
    int32_t local_index; /* among those of its host, by process index */
    int32_t slice;
    int32_t pid;
    int32_t cores_allowed;
    int32_t numa_node; /* of all its cores; -1: several */
    int32_t cache;     /* the last-level one of all its cores; -1: several */
    uint64_t pid_namespace;  /* pids of equal ones can be compared */
    uint32_t cores;          /* text: the list, "0-3,8" */
    uint32_t program;        /* text: its name */
    int32_t num_devices;     /* of all platforms */
    int32_t num_unowned;     /* those that it sees, and does not use */
    uint32_t first_unowned;  /* into unowned */
    uint32_t absent;         /* text: a platform that it has no device of */
    uint32_t why_absent;     /* text */
    int32_t absent_is_fault; /* its driver is there, and cannot be used */
};

struct jd_host {
    uint32_t name;    /* text */
    uint32_t boot_id; /* text */
    uint32_t caches;  /* text: "L1d 48 KiB, L2 2 MiB, L3 260 MiB" */
    int32_t num_processes;
    int32_t num_packages;
    int32_t num_numa_nodes;
    int32_t num_cores;
    int32_t num_threads;   /* hardware threads */
    int32_t cores_allowed; /* hardware threads that this job may use there */
    uint64_t memory_bytes;
};

/* A platform's rows stand side by side, by process, then local ordinal. */
struct jd_device_row {
    int32_t process;
    int32_t local_ordinal;
    uint32_t kind, pci_bus_id, uuid, detail; /* texts */
    int32_t native;                          /* the platform's own number */
    int32_t numa_node;
    uint64_t memory_bytes;
};

struct jd_platform_row {
    uint32_t name; /* text */
    int32_t first; /* into devices */
    int32_t count; /* of the job */
};

/* The begin of the memory. The second half: where the parts begin, in bytes
 * from here. */
struct jd_table {
    char magic[8];
    unsigned char nonce[16];
    uint64_t bytes;
    int32_t num_slices;
    int32_t num_hosts, num_processes, num_devices, num_platforms;
    int32_t is_in_order; /* rank and process index were the same order */
    uint64_t base;       /* the address at which the structs are right */
    uint64_t structs;    /* jd_device, one for each row of devices */
    uint64_t hosts, processes, devices, platforms;
    uint64_t unowned; /* a text each: the UUIDs */
    uint64_t texts;
};

/* The begin of a part, named as the member is. */
#define jd__table_at(table, part)                                              \
    ((const void *)((const char *)(table) + (table)->part))

/*
 * Makes the table of verified records whose devices have been shared out; the
 * same on every process but for its nonce. platform is the default one; NULL:
 * the first of jd__device_sources that somebody has.
 * Owns: the caller destroys it. Returns JD_OK, RESOURCE_EXHAUSTED.
 */
jd_status jd__table_create(const struct jd_records *records,
                           const char *platform, struct jd_table **ret_table);

/* Memory of this process alone for a table of so many bytes, at an address that
 * is likely to be free in others; NULL where there is none. */
struct jd_table *jd__table_allocate(uint64_t bytes);

/* The structs, where they are right; else NULL. */
static inline const jd_device *jd__table_structs(const struct jd_table *table)
{
    return table->base == (uint64_t)(uintptr_t)table
               ? jd__table_at(table, structs)
               : NULL;
}

/* The struct of a row, the index-th of its platform, for the table where it is.
 */
jd_device jd__table_make_struct(const struct jd_table *table,
                                const struct jd_device_row *row,
                                const char *platform, int index);

/* Of one that was made, allocated or mapped. */
void jd__table_destroy(struct jd_table *table);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * topology.h - the job as all processes see it: hosts, processes, devices.
 * Each process packs what it knows of itself into one record (records.h); out
 * of all of them a table is made (table.h), which the processes of a host
 * share. What a process has of its own beside it is small, until somebody asks
 * for the list of devices.
 *
 *     status = jd__topology_open(table, self, &topology);
 *     int host = topology->processes[index].host;
 *     puts(jd__topology_host_name(topology, host));
 *
 * Threads: immutable once opened, but for the lists of devices, which the
 * first that asks makes.
 */
#ifndef RUNTIME_TOPOLOGY_TOPOLOGY_H
#define RUNTIME_TOPOLOGY_TOPOLOGY_H

#include "base/status.h"
#include "jd_device.h"
#include "runtime/topology/absent.h"
#include "runtime/topology/table.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The devices of one platform, by process index, then local ordinal. */
struct jd_device_list {
    const char *platform;
    int first; /* the number of its first among the job's */
    int count;
    int num_local;
    const jd_device **devices; /* made by jd__topology_list() */
    const jd_device **local;   /* in there, and always made */
};

struct jd_topology {
    int num_hosts;
    const struct jd_host *hosts;
    int num_processes;
    const struct jd_process_info *processes;
    int num_slices;
    const char *texts; /* of the rows */
    int num_platforms;
    struct jd_device_list *platforms; /* the first is the default */
    int num_devices;
    const struct jd_device_row *rows;
    int self;
    struct jd_table *table;   /* where all of them stand */
    const jd_device *devices; /* the table's, or the own */
    /* Addresses for the lists' pointers, and for all devices where the table's
     * are not right here. Pages that nobody has written to take no memory. */
    const jd_device **pointers;
    jd_device *own_devices;
    size_t list_bytes; /* of both */
    pthread_mutex_t lock;
    atomic_bool is_listed; /* else only the local ones are made */
};

/*
 * Opens a table as process self sees it, and takes it; on failure it stays the
 * caller's. Returns JD_OK, RESOURCE_EXHAUSTED.
 */
jd_status jd__topology_open(struct jd_table *table, int self,
                            struct jd_topology **ret_topology);

/* A table of these records (jd__table_create()), opened as records->self. */
jd_status jd__topology_build(const struct jd_records *records,
                             const char *platform,
                             struct jd_topology **ret_topology);
void jd__topology_destroy(struct jd_topology *topology);

/* The text of a row. */
static inline const char *jd__topology_text(const struct jd_topology *topology,
                                            uint32_t text)
{
    return topology->texts + text;
}

static inline const char *
jd__topology_host_name(const struct jd_topology *topology, int host)
{
    return jd__topology_text(topology, topology->hosts[host].name);
}

/* The list of a platform, or NULL. Its devices: jd__topology_list(). */
const struct jd_device_list *
jd__topology_platform(const struct jd_topology *topology, const char *name);

/* Makes the lists of all devices, where that has not been done: 8 bytes for
 * each, and 72 more where the table is not at its base. */
void jd__topology_list(struct jd_topology *topology);

/* Is it one of this job's? Any pointer may be asked for. */
bool jd__topology_has_device(const struct jd_topology *topology,
                             const jd_device *device);

/* What is known of a device beside what its struct says. */
const struct jd_device_row *jd__topology_row(const struct jd_topology *topology,
                                             const jd_device *device);

/* Where the process's devices of the platform of that number begin in its list,
 * and how many they are. Takes log(devices). */
int jd__topology_devices_of(const struct jd_topology *topology, int platform,
                            int process, int *ret_first);

/* The UUID of the process's device of that number among those that it sees and
 * does not use; NULL beyond the last. */
const char *jd__topology_unowned(const struct jd_topology *topology,
                                 int process, int number);

/* Whether any process has such devices. */
bool jd__topology_has_spare(const struct jd_topology *topology);

/* Whether any process has no device of a platform whose driver is there. */
bool jd__topology_has_fault(const struct jd_topology *topology);

/* Who has no device of a platform, and why. */
struct jd_absent jd__topology_absent(const struct jd_topology *topology);

/* Tells each platform which native devices are this process's own. Returns
 * JD_OK; RESOURCE_EXHAUSTED. */
jd_status jd__topology_settle(const struct jd_topology *topology);

/*
 * One sentence about what is uneven and may surprise (numbers of devices per
 * process, kinds of devices), or "" where all is even.
 */
void jd__topology_describe_uneven(const struct jd_topology *topology,
                                  char *text, size_t size);

#endif

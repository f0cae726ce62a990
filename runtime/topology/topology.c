/* SPDX-License-Identifier: BSD-3-Clause */
/* topology.c - hosts, processes and devices out of the records. */
#include "runtime/topology/topology.h"
#include "runtime/topology/records.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEVICE_ID_SHIFT 17 /* the local ordinal's bits in a device's id */

/* ---- hosts -------------------------------------------------------------- */

static bool is_same_host(const struct jd_host *host,
                         const struct jd_local_facts *facts)
{
    return strcmp(host->name, facts->host) == 0 &&
           strcmp(host->boot_id, facts->boot_id) == 0;
}

static struct jd_host make_host(const struct jd_local_facts *facts)
{
    return (struct jd_host){
        .name = facts->host,
        .boot_id = facts->boot_id,
        .num_packages = facts->num_packages,
        .num_numa_nodes = facts->num_numa_nodes,
        .num_cores = facts->num_cores,
        .num_threads = facts->num_threads,
        .memory_bytes = facts->memory_bytes,
        .caches = facts->caches,
    };
}

/* The host's number; processes of a host mostly follow each other, so the
 * last one is tried first. */
static int host_of(struct jd_topology *t, const struct jd_local_facts *facts)
{
    for (int i = t->num_hosts - 1; i >= 0; i--)
        if (is_same_host(&t->hosts[i], facts))
            return i;
    t->hosts[t->num_hosts] = make_host(facts);
    return t->num_hosts++;
}

static void add_process(struct jd_topology *t, int index,
                        const struct jd_record *record)
{
    const struct jd_local_facts *facts = &record->facts;
    int number = host_of(t, facts);
    struct jd_host *host = &t->hosts[number];
    if (facts->host_cores_allowed > host->cores_allowed)
        host->cores_allowed = facts->host_cores_allowed;
    t->processes[index] = (struct jd_process_info){
        .index = index,
        .host = number,
        .local_index = host->num_processes++,
        .slice = record->slice_index >= 0 ? record->slice_index : number,
        .pid = facts->pid,
        .pid_namespace = facts->pid_namespace,
        .cores_allowed = facts->cores_allowed,
        .cores = facts->cores,
        .program = facts->program,
        .num_devices = record->num_devices,
    };
}

static int count_slices(const struct jd_topology *t,
                        const struct jd_record *record)
{
    return record->num_slices ? record->num_slices : t->num_hosts;
}

/* ---- devices ------------------------------------------------------------ */

static jd_device make_device(const struct jd_topology *t, int process,
                             int ordinal, const struct jd_device_record *r)
{
    const struct jd_process_info *info = &t->processes[process];
    return (jd_device){
        .id = (int64_t)process << DEVICE_ID_SHIFT | ordinal,
        .process_index = process,
        .local_ordinal = ordinal,
        .platform = r->platform,
        .kind = r->device.kind,
        .host = t->hosts[info->host].name,
        .slice_index = info->slice,
        .numa_node = r->device.numa_node,
        .pci_bus_id = r->device.pci_bus_id,
        .uuid = r->device.uuid,
        .memory_bytes = r->device.memory_bytes,
    };
}

/* Appends the platform's devices of one process. */
static void add_devices(struct jd_topology *t, struct jd_device_list *list,
                        int process, bool is_self)
{
    const struct jd_record *record = t->records->items[process];
    int ordinal = 0;
    for (int i = 0; i < record->num_devices; i++) {
        const struct jd_device_record *r = &record->devices[i];
        if (strcmp(r->platform, list->platform) != 0)
            continue;
        jd_device *device = &t->devices[t->num_devices];
        *device = make_device(t, process, ordinal++, r);
        t->pointers[t->num_devices++] = device;
        list->count++;
        if (is_self && list->num_local++ == 0)
            list->local = &t->pointers[t->num_devices - 1];
    }
}

/* The platform's devices stand side by side, so do those of a process. */
static void add_platform(struct jd_topology *t, const char *name)
{
    struct jd_device_list *list = &t->platforms[t->num_platforms];
    list->platform = name;
    list->devices = &t->pointers[t->num_devices];
    list->local = list->devices;
    for (int i = 0; i < t->num_processes; i++)
        add_devices(t, list, i, i == t->records->self);
    if (list->count)
        t->num_platforms++;
}

static int count_devices(const struct jd_records *records)
{
    int count = 0;
    for (int i = 0; i < records->count; i++)
        count += records->items[i]->num_devices;
    return count;
}

static int count_sources(void)
{
    int count = 0;
    while (jd__device_sources[count])
        count++;
    return count;
}

/* ---- the whole ---------------------------------------------------------- */

static bool allocate(struct jd_topology *t, const struct jd_records *records)
{
    size_t processes = (size_t)records->count;
    size_t devices = (size_t)count_devices(records) + 1;
    t->hosts = calloc(processes, sizeof *t->hosts);
    t->processes = calloc(processes, sizeof *t->processes);
    t->devices = calloc(devices, sizeof *t->devices);
    t->pointers = calloc(devices, sizeof *t->pointers);
    t->platforms = calloc((size_t)count_sources() + 1, sizeof *t->platforms);
    return t->hosts && t->processes && t->devices && t->pointers &&
           t->platforms;
}

/* The default one comes first. */
static void add_platforms(struct jd_topology *t, const char *first)
{
    if (first)
        add_platform(t, first);
    for (int i = 0; jd__device_sources[i]; i++) {
        const char *name = jd__device_sources[i]->platform;
        if (!first || strcmp(name, first) != 0)
            add_platform(t, name);
    }
}

jd_status jd__topology_build(struct jd_records *records, const char *platform,
                             struct jd_topology **ret_topology)
{
    struct jd_topology *t = calloc(1, sizeof *t);
    if (!t || !allocate(t, records)) {
        jd__topology_destroy(t);
        return jd__fail_no_memory("jd_initialize",
                                  (size_t)records->count * sizeof *t);
    }
    t->records = records;
    t->num_processes = records->count;
    for (int i = 0; i < records->count; i++)
        add_process(t, i, records->items[i]);
    t->num_slices = count_slices(t, records->items[0]);
    add_platforms(t, platform);
    *ret_topology = t;
    return JD_OK;
}

void jd__topology_destroy(struct jd_topology *t)
{
    if (!t)
        return;
    jd__records_destroy(t->records);
    free(t->hosts);
    free(t->processes);
    free(t->devices);
    free(t->pointers);
    free(t->platforms);
    free(t);
}

const struct jd_device_list *jd__topology_platform(const struct jd_topology *t,
                                                   const char *name)
{
    for (int i = 0; i < t->num_platforms; i++)
        if (strcmp(t->platforms[i].platform, name) == 0)
            return &t->platforms[i];
    return NULL;
}

/* The first place in the list that is the process's, or a later one's. */
static int lower_bound(const struct jd_device_list *list, int process)
{
    int low = 0, high = list->count;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (list->devices[middle]->process_index < process)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int jd__topology_devices_of(const struct jd_topology *t, int platform,
                            int process, int *ret_first)
{
    *ret_first = lower_bound(&t->platforms[platform], process);
    return lower_bound(&t->platforms[platform], process + 1) - *ret_first;
}

const struct jd_local_device *
jd__topology_local_device(const struct jd_topology *t, const jd_device *d)
{
    const struct jd_record *record = t->records->items[d->process_index];
    int ordinal = 0;
    for (int i = 0; i < record->num_devices; i++)
        if (strcmp(record->devices[i].platform, d->platform) == 0 &&
            ordinal++ == d->local_ordinal)
            return &record->devices[i].device;
    return NULL;
}

const char *jd__topology_spare(const struct jd_topology *t, int process,
                               int number)
{
    const struct jd_record *record = t->records->items[process];
    return number < record->num_spare
               ? record->devices[record->num_devices + number].device.uuid
               : NULL;
}

/* The first process whose number of devices is not that of process 0. */
static int find_uneven_process(const struct jd_topology *t)
{
    for (int i = 1; i < t->num_processes; i++)
        if (t->processes[i].num_devices != t->processes[0].num_devices)
            return i;
    return -1;
}

/* The first device of a list whose kind is not that of the first. */
static const jd_device *find_other_kind(const struct jd_device_list *list)
{
    for (int i = 1; i < list->count; i++)
        if (strcmp(list->devices[i]->kind, list->devices[0]->kind) != 0)
            return list->devices[i];
    return NULL;
}

void jd__topology_describe_uneven(const struct jd_topology *t, char *text,
                                  size_t size)
{
    int uneven = find_uneven_process(t);
    size_t length = 0;
    text[0] = '\0';
    if (uneven > 0)
        length = (size_t)snprintf(
            text, size,
            "process 0 has %d devices and process %d has %d: meshes over all "
            "devices work, but the work per process is uneven",
            t->processes[0].num_devices, uneven,
            t->processes[uneven].num_devices);
    for (int i = 0; i < t->num_platforms && length < size; i++) {
        const struct jd_device *other = find_other_kind(&t->platforms[i]);
        const struct jd_device *first = t->platforms[i].devices[0];
        if (other)
            length += (size_t)snprintf(
                text + length, size - length,
                "%sprocess %d on %s has \"%s\" and process %d on %s has "
                "\"%s\": the slowest device sets the pace of a collective",
                length ? "; " : "", first->process_index, first->host,
                first->kind, other->process_index, other->host, other->kind);
    }
}

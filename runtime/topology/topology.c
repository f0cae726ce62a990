/* SPDX-License-Identifier: BSD-3-Clause */
/* topology.c - a job's table as one process sees it. */
#include "runtime/topology/topology.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* ---- devices ------------------------------------------------------------ */

/* Those of a list from one place up to another. */
static void make_devices(struct jd_topology *t,
                         const struct jd_device_list *list, int from, int to)
{
    for (int i = list->first + from; i < list->first + to; i++) {
        if (t->own_devices)
            t->own_devices[i] = jd__table_make_struct(
                t->table, &t->rows[i], list->platform, i - list->first);
        t->pointers[i] = &t->devices[i];
    }
}

/* The local ones are in use already. */
static void list_platform(struct jd_topology *t,
                          const struct jd_device_list *list)
{
    int local = (int)(list->local - list->devices);
    make_devices(t, list, 0, local);
    make_devices(t, list, local + list->num_local, list->count);
}

void jd__topology_list(struct jd_topology *t)
{
    if (atomic_load(&t->is_listed))
        return;
    pthread_mutex_lock(&t->lock);
    for (int i = 0; i < t->num_platforms && !t->is_listed; i++)
        list_platform(t, &t->platforms[i]);
    atomic_store(&t->is_listed, true);
    pthread_mutex_unlock(&t->lock);
}

/* ---- the whole ---------------------------------------------------------- */

/* Of the own memory for lists and, where they are needed, structs. */
static size_t bytes_of_lists(const struct jd_topology *t)
{
    size_t each = sizeof *t->pointers;
    if (!jd__table_structs(t->table))
        each += sizeof *t->own_devices;
    return ((size_t)t->num_devices + 1) * each;
}

static void open_rows(struct jd_topology *t, struct jd_table *table, int self)
{
    t->table = table;
    t->self = self;
    t->num_slices = table->num_slices;
    t->num_hosts = table->num_hosts;
    t->num_processes = table->num_processes;
    t->num_devices = table->num_devices;
    t->num_platforms = table->num_platforms;
    t->hosts = jd__table_at(table, hosts);
    t->processes = jd__table_at(table, processes);
    t->rows = jd__table_at(table, devices);
    t->texts = jd__table_at(table, texts);
}

static bool reserve_lists(struct jd_topology *t)
{
    t->list_bytes = bytes_of_lists(t);
    void *addresses = mmap(NULL, t->list_bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (addresses == MAP_FAILED)
        return false;
    t->pointers = addresses;
    t->devices = jd__table_structs(t->table);
    if (!t->devices)
        t->devices = t->own_devices =
            (void *)(t->pointers + t->num_devices + 1);
    t->platforms = calloc((size_t)t->num_platforms + 1, sizeof *t->platforms);
    return t->platforms;
}

static void open_platform(struct jd_topology *t, int number)
{
    const struct jd_platform_row *rows = jd__table_at(t->table, platforms);
    struct jd_device_list *list = &t->platforms[number];
    int first;
    *list = (struct jd_device_list){
        .platform = jd__topology_text(t, rows[number].name),
        .first = rows[number].first,
        .count = rows[number].count,
        .devices = t->pointers + rows[number].first,
    };
    list->num_local = jd__topology_devices_of(t, number, t->self, &first);
    list->local = list->devices + first;
    make_devices(t, list, first, first + list->num_local);
}

jd_status jd__topology_open(struct jd_table *table, int self,
                            struct jd_topology **ret_topology)
{
    struct jd_topology *t = calloc(1, sizeof *t);
    if (!t)
        return jd__fail_no_memory("jd_initialize", sizeof *t);
    pthread_mutex_init(&t->lock, NULL);
    open_rows(t, table, self);
    if (!reserve_lists(t)) {
        t->table = NULL;
        jd__topology_destroy(t);
        return jd__fail_no_memory("jd_initialize",
                                  (size_t)table->num_devices * sizeof(void *));
    }
    for (int i = 0; i < t->num_platforms; i++)
        open_platform(t, i);
    *ret_topology = t;
    return JD_OK;
}

jd_status jd__topology_build(const struct jd_records *records,
                             const char *platform,
                             struct jd_topology **ret_topology)
{
    struct jd_table *table = NULL;
    jd_status status = jd__table_create(records, platform, &table);
    if (status == JD_OK)
        status = jd__topology_open(table, records->self, ret_topology);
    if (status != JD_OK)
        jd__table_destroy(table);
    return status;
}

void jd__topology_destroy(struct jd_topology *t)
{
    if (!t)
        return;
    if (t->pointers)
        munmap(t->pointers, t->list_bytes);
    jd__table_destroy(t->table);
    pthread_mutex_destroy(&t->lock);
    free(t->platforms);
    free(t);
}

/* ---- to find one -------------------------------------------------------- */

const struct jd_device_list *jd__topology_platform(const struct jd_topology *t,
                                                   const char *name)
{
    for (int i = 0; i < t->num_platforms; i++)
        if (strcmp(t->platforms[i].platform, name) == 0)
            return &t->platforms[i];
    return NULL;
}

bool jd__topology_has_device(const struct jd_topology *t,
                             const jd_device *device)
{
    uintptr_t first = (uintptr_t)t->devices, at = (uintptr_t)device;
    return at >= first &&
           at - first < (size_t)t->num_devices * sizeof *device &&
           (at - first) % sizeof *device == 0;
}

const struct jd_device_row *jd__topology_row(const struct jd_topology *t,
                                             const jd_device *device)
{
    return &t->rows[device - t->devices];
}

/* The first of the platform's rows that is the process's, or a later one's. */
static int lower_bound(const struct jd_topology *t,
                       const struct jd_device_list *list, int process)
{
    int low = list->first, high = list->first + list->count;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (t->rows[middle].process < process)
            low = middle + 1;
        else
            high = middle;
    }
    return low - list->first;
}

int jd__topology_devices_of(const struct jd_topology *t, int platform,
                            int process, int *ret_first)
{
    const struct jd_device_list *list = &t->platforms[platform];
    *ret_first = lower_bound(t, list, process);
    return lower_bound(t, list, process + 1) - *ret_first;
}

const char *jd__topology_unowned(const struct jd_topology *t, int process,
                                 int number)
{
    const struct jd_process_info *info = &t->processes[process];
    const uint32_t *unowned = jd__table_at(t->table, unowned);
    return number < info->num_unowned
               ? jd__topology_text(
                     t, unowned[info->first_unowned + (uint32_t)number])
               : NULL;
}

bool jd__topology_has_spare(const struct jd_topology *t)
{
    for (int i = 0; i < t->num_processes; i++)
        if (t->processes[i].num_unowned)
            return true;
    return false;
}

bool jd__topology_has_fault(const struct jd_topology *t)
{
    for (int i = 0; i < t->num_processes; i++)
        if (t->processes[i].absent_is_fault)
            return true;
    return false;
}

/* ---- who has none ------------------------------------------------------- */

static const char *why_absent(const void *of, int process, const char *platform)
{
    const struct jd_topology *t = of;
    const struct jd_process_info *info = &t->processes[process];
    const struct jd_device_list *list = jd__topology_platform(t, platform);
    int first;
    if (list &&
        jd__topology_devices_of(t, (int)(list - t->platforms), process, &first))
        return NULL;
    return strcmp(jd__topology_text(t, info->absent), platform) == 0
               ? jd__topology_text(t, info->why_absent)
               : "";
}

struct jd_absent jd__topology_absent(const struct jd_topology *t)
{
    return (struct jd_absent){ t->num_processes, why_absent, t };
}

/* ---- the platforms' part ------------------------------------------------ */

static void settle_natives(const struct jd_topology *t,
                           const struct jd_device_source *source, int *natives)
{
    const struct jd_device_list *list =
        jd__topology_platform(t, source->platform);
    int count = list ? list->num_local : 0;
    for (int i = 0; i < count; i++)
        natives[i] = jd__topology_row(t, list->local[i])->native;
    source->settle(natives, count);
}

jd_status jd__topology_settle(const struct jd_topology *t)
{
    size_t bytes =
        ((size_t)t->processes[t->self].num_devices + 1) * sizeof(int);
    int *natives = malloc(bytes);
    if (!natives)
        return jd__fail_no_memory("jd_initialize", bytes);
    for (int i = 0; jd__device_sources[i]; i++)
        if (jd__device_sources[i]->settle)
            settle_natives(t, jd__device_sources[i], natives);
    free(natives);
    return JD_OK;
}

/* ---- what is uneven ----------------------------------------------------- */

/* The first process whose number of devices is not that of process 0. */
static int find_uneven_process(const struct jd_topology *t)
{
    for (int i = 1; i < t->num_processes; i++)
        if (t->processes[i].num_devices != t->processes[0].num_devices)
            return i;
    return -1;
}

/* The first device of a list whose kind is not that of the first. */
static const struct jd_device_row *
find_other_kind(const struct jd_topology *t, const struct jd_device_list *list)
{
    const struct jd_device_row *rows = t->rows + list->first;
    for (int i = 1; i < list->count; i++)
        if (rows[i].kind != rows[0].kind)
            return &rows[i];
    return NULL;
}

static const char *host_of(const struct jd_topology *t, int process)
{
    return jd__topology_host_name(t, t->processes[process].host);
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
            "process 0 has %d device%s and process %d has %d: meshes over all "
            "devices work, but the work per process is uneven",
            t->processes[0].num_devices,
            jd__text_s(t->processes[0].num_devices), uneven,
            t->processes[uneven].num_devices);
    for (int i = 0; i < t->num_platforms && length < size; i++) {
        const struct jd_device_row *first = t->rows + t->platforms[i].first;
        const struct jd_device_row *other =
            find_other_kind(t, &t->platforms[i]);
        if (other)
            length += (size_t)snprintf(
                text + length, size - length,
                "%sprocess %d on %s has \"%s\" and process %d on %s has "
                "\"%s\": the slowest device sets the pace of a collective",
                length ? "; " : "", first->process, host_of(t, first->process),
                jd__topology_text(t, first->kind), other->process,
                host_of(t, other->process), jd__topology_text(t, other->kind));
    }
}

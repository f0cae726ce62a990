/* SPDX-License-Identifier: BSD-3-Clause */
/* table.c - hosts, processes and devices out of the records, as one piece. */
#include "runtime/topology/table.h"
#include "base/digest.h"
#include "runtime/topology/table_texts.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>

#define DEVICE_ID_SHIFT 17 /* the local ordinal's bits in a device's id */

/* Addresses of which processes have few: above a program, below libraries. */
#define LOWEST_BASE ((uint64_t)0x20 << 40)
#define BASES ((uint64_t)0x20 << 40)

/* The parts while they are made. */
struct making {
    const struct jd_records *records;
    int num_hosts, num_platforms, num_unowned, num_devices;
    struct jd_host *hosts;
    int *host_slots; /* by digest: a host's number plus 1; 0: free */
    size_t num_host_slots;
    struct jd_process_info *processes;
    struct jd_platform_row *platforms;
    struct jd_device_row *devices;
    uint32_t *unowned;
    struct jd_table_texts texts;
};

static uint32_t add_text(struct making *m, const char *text)
{
    return jd__table_texts_add(&m->texts, text);
}

/* ---- hosts -------------------------------------------------------------- */

static struct jd_host make_host(struct making *m,
                                const struct jd_local_facts *facts)
{
    return (struct jd_host){
        .name = add_text(m, facts->host),
        .boot_id = add_text(m, facts->boot_id),
        .caches = add_text(m, facts->caches),
        .num_packages = facts->num_packages,
        .num_numa_nodes = facts->num_numa_nodes,
        .num_cores = facts->num_cores,
        .num_threads = facts->num_threads,
        .memory_bytes = facts->memory_bytes,
    };
}

/* The slot of the host of that name and boot, or the free one for it. */
static int *find_host_slot(const struct making *m, uint32_t name, uint32_t boot)
{
    uint32_t key[] = { name, boot };
    size_t mask = m->num_host_slots - 1;
    size_t at = (size_t)jd__digest(0, key, sizeof key) & mask;
    for (; m->host_slots[at]; at = (at + 1) & mask) {
        const struct jd_host *host = &m->hosts[m->host_slots[at] - 1];
        if (host->name == name && host->boot_id == boot)
            break;
    }
    return &m->host_slots[at];
}

/* The host's number; a host is its name and its boot. */
static int host_of(struct making *m, const struct jd_local_facts *facts)
{
    int *slot = find_host_slot(m, add_text(m, facts->host),
                               add_text(m, facts->boot_id));
    if (*slot == 0) {
        m->hosts[m->num_hosts] = make_host(m, facts);
        *slot = ++m->num_hosts;
    }
    return *slot - 1;
}

/* ---- processes ---------------------------------------------------------- */

static void add_unowned(struct making *m, const struct jd_record *record)
{
    for (int i = 0; i < record->num_unowned; i++)
        m->unowned[m->num_unowned++] =
            add_text(m, record->devices[record->num_devices + i].device.uuid);
}

static void add_process(struct making *m, int index)
{
    const struct jd_record *record = m->records->items[index];
    const struct jd_local_facts *facts = &record->facts;
    int number = host_of(m, facts);
    struct jd_host *host = &m->hosts[number];
    if (facts->host_cores_allowed > host->cores_allowed)
        host->cores_allowed = facts->host_cores_allowed;
    m->processes[index] = (struct jd_process_info){
        .index = index,
        .host = number,
        .local_index = host->num_processes++,
        .slice = record->slice_index >= 0 ? record->slice_index : number,
        .pid = facts->pid,
        .pid_namespace = facts->pid_namespace,
        .cores_allowed = facts->cores_allowed,
        .numa_node = facts->numa_node,
        .cache = facts->cache,
        .cores = add_text(m, facts->cores),
        .program = add_text(m, facts->program),
        .num_devices = record->num_devices,
        .num_unowned = record->num_unowned,
        .first_unowned = (uint32_t)m->num_unowned,
        .absent = add_text(m, record->absent),
        .why_absent = add_text(m, record->why_absent),
        .absent_is_fault = record->absent_is_fault,
    };
    add_unowned(m, record);
}

/* ---- devices ------------------------------------------------------------ */

static struct jd_device_row make_row(struct making *m, int process, int ordinal,
                                     const struct jd_local_device *device)
{
    return (struct jd_device_row){
        .process = process,
        .local_ordinal = ordinal,
        .kind = add_text(m, device->kind),
        .pci_bus_id = add_text(m, device->pci_bus_id),
        .uuid = add_text(m, device->uuid),
        .detail = add_text(m, device->detail),
        .native = device->native,
        .numa_node = device->numa_node,
        .memory_bytes = device->memory_bytes,
    };
}

/* Appends the platform's devices of one process. */
static void add_devices(struct making *m, const char *platform, int process)
{
    const struct jd_record *record = m->records->items[process];
    int ordinal = 0;
    for (int i = 0; i < record->num_devices; i++)
        if (strcmp(record->devices[i].platform, platform) == 0)
            m->devices[m->num_devices++] =
                make_row(m, process, ordinal++, &record->devices[i].device);
}

static void add_platform(struct making *m, const char *name)
{
    int first = m->num_devices;
    for (int i = 0; i < m->records->count; i++)
        add_devices(m, name, i);
    if (m->num_devices > first)
        m->platforms[m->num_platforms++] = (struct jd_platform_row){
            .name = add_text(m, name),
            .first = first,
            .count = m->num_devices - first,
        };
}

/* The default one comes first. */
static void add_platforms(struct making *m, const char *first)
{
    if (first)
        add_platform(m, first);
    for (int i = 0; jd__device_sources[i]; i++) {
        const char *name = jd__device_sources[i]->platform;
        if (!first || strcmp(name, first) != 0)
            add_platform(m, name);
    }
}

/* ---- the whole ---------------------------------------------------------- */

static size_t count_sources(void)
{
    size_t count = 0;
    while (jd__device_sources[count])
        count++;
    return count;
}

static bool allocate_parts(struct making *m)
{
    size_t processes = (size_t)m->records->count, devices = 1, unowned = 1;
    for (int i = 0; i < m->records->count; i++) {
        devices += (size_t)m->records->items[i]->num_devices;
        unowned += (size_t)m->records->items[i]->num_unowned;
    }
    for (m->num_host_slots = 16; m->num_host_slots < 2 * processes;)
        m->num_host_slots *= 2;
    m->hosts = calloc(processes, sizeof *m->hosts);
    m->host_slots = calloc(m->num_host_slots, sizeof *m->host_slots);
    m->processes = calloc(processes, sizeof *m->processes);
    m->platforms = calloc(count_sources() + 1, sizeof *m->platforms);
    m->devices = calloc(devices, sizeof *m->devices);
    m->unowned = calloc(unowned, sizeof *m->unowned);
    return m->hosts && m->host_slots && m->processes && m->platforms &&
           m->devices && m->unowned;
}

static void finish_making(struct making *m)
{
    free(m->hosts);
    free(m->host_slots);
    free(m->processes);
    free(m->platforms);
    free(m->devices);
    free(m->unowned);
    jd__table_texts_finish(&m->texts);
}

static struct jd_table describe_table(const struct making *m)
{
    const struct jd_record *first = m->records->items[0];
    struct jd_table table = {
        .bytes = sizeof table,
        .num_slices = first->num_slices ? first->num_slices : m->num_hosts,
        .num_hosts = m->num_hosts,
        .num_processes = m->records->count,
        .num_devices = m->num_devices,
        .num_platforms = m->num_platforms,
        .is_in_order = m->records->in_order,
    };
    memcpy(table.magic, JD_TABLE_MAGIC, sizeof table.magic);
    if (getrandom(table.nonce, sizeof table.nonce, GRND_NONBLOCK) < 0)
        memcpy(table.nonce, &first->facts.pid, sizeof first->facts.pid);
    return table;
}

/* Gives a part its place, and its bytes where there is memory for them. */
static uint64_t place_part(struct jd_table *table, char *memory,
                           const void *part, size_t count, size_t each)
{
    uint64_t begin = (table->bytes + 7) / 8 * 8;
    table->bytes = begin + count * each;
    if (memory)
        memcpy(memory + begin, part, count * each);
    return begin;
}

/* The structs are made where the memory is. */
static struct jd_table lay_out(const struct making *m, struct jd_table table,
                               char *memory)
{
    table.hosts = place_part(&table, memory, m->hosts, (size_t)m->num_hosts,
                             sizeof *m->hosts);
    table.processes =
        place_part(&table, memory, m->processes, (size_t)m->records->count,
                   sizeof *m->processes);
    table.devices = place_part(&table, memory, m->devices,
                               (size_t)m->num_devices, sizeof *m->devices);
    table.platforms =
        place_part(&table, memory, m->platforms, (size_t)m->num_platforms,
                   sizeof *m->platforms);
    table.unowned = place_part(&table, memory, m->unowned,
                               (size_t)m->num_unowned, sizeof *m->unowned);
    table.texts = place_part(&table, memory, m->texts.pool, m->texts.bytes, 1);
    table.structs = place_part(&table, NULL, NULL, (size_t)m->num_devices,
                               sizeof(jd_device));
    return table;
}

jd_device jd__table_make_struct(const struct jd_table *table,
                                const struct jd_device_row *row,
                                const char *platform, int index)
{
    const struct jd_process_info *processes = jd__table_at(table, processes);
    const struct jd_host *hosts = jd__table_at(table, hosts);
    const struct jd_process_info *info = &processes[row->process];
    const char *texts = jd__table_at(table, texts);
    return (jd_device){
        .id = (int64_t)row->process << DEVICE_ID_SHIFT | row->local_ordinal,
        .process_index = row->process,
        .local_ordinal = row->local_ordinal,
        .platform = platform,
        .kind = texts + row->kind,
        .host = texts + hosts[info->host].name,
        .slice_index = info->slice,
        .numa_node = row->numa_node,
        .pci_bus_id = texts + row->pci_bus_id,
        .uuid = texts + row->uuid,
        .memory_bytes = row->memory_bytes,
        .index = index,
    };
}

static void make_structs(struct jd_table *table)
{
    const struct jd_platform_row *platforms = jd__table_at(table, platforms);
    const struct jd_device_row *rows = jd__table_at(table, devices);
    const char *texts = jd__table_at(table, texts);
    jd_device *structs = (void *)((char *)table + table->structs);
    for (int k = 0; k < table->num_platforms; k++)
        for (int i = 0; i < platforms[k].count; i++) {
            int number = platforms[k].first + i;
            structs[number] = jd__table_make_struct(
                table, &rows[number], texts + platforms[k].name, i);
        }
    table->base = (uint64_t)(uintptr_t)table;
}

static jd_status pack_table(const struct making *m, struct jd_table **ret_table)
{
    struct jd_table head = describe_table(m);
    uint64_t bytes = lay_out(m, head, NULL).bytes;
    struct jd_table *table = jd__table_allocate(bytes);
    if (!table)
        return jd__fail_no_memory("jd_initialize", bytes);
    *table = lay_out(m, head, (char *)table);
    make_structs(table);
    *ret_table = table;
    return JD_OK;
}

jd_status jd__table_create(const struct jd_records *records,
                           const char *platform, struct jd_table **ret_table)
{
    struct making m = { .records = records };
    bool is_whole = allocate_parts(&m);
    for (int i = 0; is_whole && i < records->count; i++)
        add_process(&m, i);
    if (is_whole)
        add_platforms(&m, platform);
    jd_status status =
        is_whole && !m.texts.is_full
            ? pack_table(&m, ret_table)
            : jd__fail_no_memory("jd_initialize",
                                 (size_t)records->count * sizeof *m.processes);
    finish_making(&m);
    return status;
}

struct jd_table *jd__table_allocate(uint64_t bytes)
{
    uint64_t random = 0;
    if (getrandom(&random, sizeof random, GRND_NONBLOCK) < 0)
        random = (uint64_t)(uintptr_t)&random;
    uint64_t base = LOWEST_BASE + (random % BASES & ~(uint64_t)0xffff);
    void *table = mmap((void *)(uintptr_t)base, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return table == MAP_FAILED ? NULL : table;
}

void jd__table_destroy(struct jd_table *table)
{
    if (table)
        munmap(table, table->bytes);
}

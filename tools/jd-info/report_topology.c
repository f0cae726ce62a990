/* SPDX-License-Identifier: BSD-3-Clause */
/* report_topology.c - jd-info --topology: joins the job that started it and
 * prints its hosts, processes and devices, on process 0 alone. */
#include "runtime/process/runtime.h"
#include "runtime/topology/device_choice.h"
#include "tools/jd-info/jd_info.h"
#include "tools/jd-info/json.h"

#include <stdio.h>
#include <string.h>

/* ---- what the process's record knows beside ----------------------------- */

/* The platform's device of that number among the process's own. */
static const struct jd_local_device *find_own(const struct jd_topology *t,
                                              const jd_device *d)
{
    const struct jd_record *record = t->records->items[d->process_index];
    int ordinal = 0;
    for (int i = 0; i < record->num_devices; i++)
        if (strcmp(record->devices[i].platform, d->platform) == 0 &&
            ordinal++ == d->local_ordinal)
            return &record->devices[i].device;
    return NULL;
}

/* One of those that the process sees, and that are not its own. */
static const struct jd_local_device *find_spare(const struct jd_record *record,
                                                int number)
{
    return number < record->num_spare
               ? &record->devices[record->num_devices + number].device
               : NULL;
}

/* ---- as a tree ---------------------------------------------------------- */

static const char *plural(int count)
{
    return count == 1 ? "" : "s";
}

static void print_counted(int count, const char *what, const char *after)
{
    printf("%d %s%s%s", count, what, plural(count), after);
}

static void print_memory(uint64_t bytes)
{
    if (bytes)
        printf(", %.1f GiB", (double)bytes / (1 << 30));
}

/* Of one that other processes may see too. */
static void print_shareable(const struct jd_topology *t, const jd_device *d)
{
    const struct jd_local_device *own = find_own(t, d);
    if (!d->uuid[0])
        return;
    printf(", %s, number %d of those seen", d->uuid, own->native);
    if (own->detail[0])
        printf(", %s", own->detail);
}

static void print_device(const struct jd_topology *t, const jd_device *d)
{
    printf("    device %lld: %s %d, %s", (long long)d->id, d->platform,
           d->local_ordinal, d->kind);
    if (d->numa_node >= 0)
        printf(", NUMA node %d", d->numa_node);
    if (d->pci_bus_id[0])
        printf(", PCI %s", d->pci_bus_id);
    print_memory(d->memory_bytes);
    print_shareable(t, d);
    putchar('\n');
}

static void print_spare(const struct jd_record *record)
{
    const struct jd_local_device *spare;
    for (int i = 0; (spare = find_spare(record, i)); i++)
        printf("%s%s", i ? ", " : "    sees, and does not use: ", spare->uuid);
    if (record->num_spare)
        putchar('\n');
}

static void print_devices(const struct jd_topology *t, int process)
{
    for (int i = 0; i < t->num_devices; i++)
        if (t->devices[i].process_index == process)
            print_device(t, &t->devices[i]);
    print_spare(t->records->items[process]);
}

static void print_process(const struct jd_topology *t,
                          const struct jd_process_info *p)
{
    printf("  process %d (local %d, slice %d, pid %d, %s): ", p->index,
           p->local_index, p->slice, p->pid, p->program);
    print_counted(p->cores_allowed, "core", " allowed");
    printf(" (%s)\n", p->cores);
    print_devices(t, p->index);
}

static void print_host(const struct jd_topology *t, int number)
{
    const struct jd_host *h = &t->hosts[number];
    printf("host %s: ", h->name);
    print_counted(h->num_packages, "package", ", ");
    print_counted(h->num_numa_nodes, "NUMA node", ", ");
    print_counted(h->num_cores, "core", ", ");
    print_counted(h->num_threads, "hardware thread", ", ");
    printf("%d allowed", h->cores_allowed);
    print_memory(h->memory_bytes);
    printf("%s%s\n", h->caches[0] ? ", " : "", h->caches);
    for (int i = 0; i < t->num_processes; i++)
        if (t->processes[i].host == number)
            print_process(t, &t->processes[i]);
}

/* Which platforms somebody has no device of, and why. */
static void print_absent(const struct jd_topology *t)
{
    for (int i = 0; jd__device_sources[i]; i++) {
        const char *platform = jd__device_sources[i]->platform;
        if (!jd__device_choice_count_absent(t->records, platform))
            continue;
        printf("no %s devices: ", platform);
        jd__device_choice_print_absent(stdout, t->records, platform);
        putchar('\n');
    }
}

static void print_tree(const struct jd_topology *t)
{
    fputs("job: ", stdout);
    print_counted(t->num_hosts, "host", ", ");
    print_counted(t->num_slices, "slice", ", ");
    printf("%d process%s", t->num_processes, t->num_processes == 1 ? "" : "es");
    for (int i = 0; i < t->num_platforms; i++) {
        printf(", %d %s ", t->platforms[i].count, t->platforms[i].platform);
        printf("device%s", plural(t->platforms[i].count));
    }
    putchar('\n');
    for (int i = 0; i < t->num_hosts; i++)
        print_host(t, i);
    print_absent(t);
}

/* ---- as JSON ------------------------------------------------------------ */

/* "key": "text", with what follows it. */
static void write_text(const char *key, const char *text, const char *after)
{
    printf("\"%s\": ", key);
    json_write_string(stdout, text);
    fputs(after, stdout);
}

static void write_host(const struct jd_host *h)
{
    fputs("    {", stdout);
    write_text("name", h->name, ", ");
    write_text("boot_id", h->boot_id, ", ");
    write_text("caches", h->caches, ", ");
    printf("\"packages\": %d, \"numa_nodes\": %d, \"cores\": %d, "
           "\"hardware_threads\": %d, \"cores_allowed\": %d, "
           "\"memory_bytes\": %llu}",
           h->num_packages, h->num_numa_nodes, h->num_cores, h->num_threads,
           h->cores_allowed, (unsigned long long)h->memory_bytes);
}

static void write_absent(const struct jd_record *record)
{
    fputs("\"absent\": {", stdout);
    if (record->absent[0])
        write_text(record->absent, record->why_absent, "");
    fputs("}}", stdout);
}

static void write_spare(const struct jd_record *record)
{
    const struct jd_local_device *spare;
    fputs("\"unused_uuids\": [", stdout);
    for (int i = 0; (spare = find_spare(record, i)); i++) {
        fputs(i ? ", " : "", stdout);
        json_write_string(stdout, spare->uuid);
    }
    fputs("], ", stdout);
}

static void write_process(const struct jd_process_info *p,
                          const struct jd_record *record)
{
    fputs("    {", stdout);
    printf("\"index\": %d, \"host\": %d, \"local_index\": %d, \"slice\": %d, "
           "\"pid\": %d, \"cores_allowed\": %d, ",
           p->index, p->host, p->local_index, p->slice, p->pid,
           p->cores_allowed);
    write_text("cores", p->cores, ", ");
    write_text("program", p->program, ", ");
    write_spare(record);
    write_absent(record);
}

static void write_device(const struct jd_topology *t, const jd_device *d)
{
    const struct jd_local_device *own = find_own(t, d);
    printf("    {\"id\": %lld, \"process_index\": %d, \"local_ordinal\": %d, "
           "\"slice_index\": %d, \"numa_node\": %d, \"memory_bytes\": %llu, ",
           (long long)d->id, d->process_index, d->local_ordinal, d->slice_index,
           d->numa_node, (unsigned long long)d->memory_bytes);
    write_text("platform", d->platform, ", ");
    write_text("kind", d->kind, ", ");
    write_text("host", d->host, ", ");
    write_text("pci_bus_id", d->pci_bus_id, ", ");
    write_text("uuid", d->uuid, ", ");
    write_text("detail", own->detail, ", ");
    printf("\"native\": %d}", own->native);
}

static void end_item(int i, int count)
{
    fputs(i + 1 < count ? ",\n" : "\n", stdout);
}

static void write_json(const struct jd_topology *t)
{
    printf("{\n  \"num_slices\": %d,\n  \"platform\": \"%s\",\n"
           "  \"hosts\": [\n",
           t->num_slices, t->platforms[0].platform);
    for (int i = 0; i < t->num_hosts; i++) {
        write_host(&t->hosts[i]);
        end_item(i, t->num_hosts);
    }
    puts("  ],\n  \"processes\": [");
    for (int i = 0; i < t->num_processes; i++) {
        write_process(&t->processes[i], t->records->items[i]);
        end_item(i, t->num_processes);
    }
    puts("  ],\n  \"devices\": [");
    for (int i = 0; i < t->num_devices; i++) {
        write_device(t, &t->devices[i]);
        end_item(i, t->num_devices);
    }
    puts("  ]\n}");
}

int jd_info_topology(bool json)
{
    const struct jd_runtime *runtime;
    if (jd_initialize() != JD_OK ||
        jd__runtime_get(&runtime, "jd-info") != JD_OK)
        return jd_info_fail();
    if (runtime->world.index == 0) {
        if (json)
            write_json(runtime->topology);
        else
            print_tree(runtime->topology);
    }
    return jd_shutdown() == JD_OK ? 0 : jd_info_fail();
}

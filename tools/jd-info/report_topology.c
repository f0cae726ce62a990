/* SPDX-License-Identifier: BSD-3-Clause */
/* report_topology.c - jd-info --topology: joins the job that started it and
 * prints its hosts, processes and devices, on process 0 alone. */
#include "runtime/process/runtime.h"
#include "tools/jd-info/jd_info.h"
#include "tools/json.h"
#include "tools/jd-info/topology_svg.h"
#include "tools/jd-info/topology_tree.h"

#include <stdio.h>
#include <string.h>

/* ---- as JSON ------------------------------------------------------------ */

/* "key": "text", with what follows it. */
static void write_text(const char *key, const char *text, const char *after)
{
    printf("\"%s\": ", key);
    json_write_string(stdout, text);
    fputs(after, stdout);
}

static void write_host(const struct jd_topology *t, const struct jd_host *h)
{
    fputs("    {", stdout);
    write_text("name", jd__topology_text(t, h->name), ", ");
    write_text("boot_id", jd__topology_text(t, h->boot_id), ", ");
    write_text("caches", jd__topology_text(t, h->caches), ", ");
    printf("\"packages\": %d, \"numa_nodes\": %d, \"cores\": %d, "
           "\"hardware_threads\": %d, \"cores_allowed\": %d, "
           "\"memory_bytes\": %llu}",
           h->num_packages, h->num_numa_nodes, h->num_cores, h->num_threads,
           h->cores_allowed, (unsigned long long)h->memory_bytes);
}

static void write_absent(const struct jd_topology *t,
                         const struct jd_process_info *p)
{
    const char *platform = jd__topology_text(t, p->absent);
    fputs("\"absent\": {", stdout);
    if (platform[0])
        write_text(platform, jd__topology_text(t, p->why_absent), "");
    fputs("}}", stdout);
}

static void write_unowned(const struct jd_topology *t, int process)
{
    const char *uuid;
    fputs("\"unused_uuids\": [", stdout);
    for (int i = 0; (uuid = jd__topology_unowned(t, process, i)); i++) {
        fputs(i ? ", " : "", stdout);
        json_write_string(stdout, uuid);
    }
    fputs("], ", stdout);
}

static void write_process(const struct jd_topology *t, int process)
{
    const struct jd_process_info *p = &t->processes[process];
    fputs("    {", stdout);
    printf("\"index\": %d, \"host\": %d, \"local_index\": %d, \"slice\": %d, "
           "\"pid\": %d, \"cores_allowed\": %d, ",
           p->index, p->host, p->local_index, p->slice, p->pid,
           p->cores_allowed);
    write_text("cores", jd__topology_text(t, p->cores), ", ");
    write_text("program", jd__topology_text(t, p->program), ", ");
    write_unowned(t, process);
    write_absent(t, p);
}

static void write_device(const struct jd_topology *t, const jd_device *d)
{
    const struct jd_device_row *row = jd__topology_row(t, d);
    printf("    {\"id\": %lld, \"process_index\": %d, \"local_ordinal\": %d, "
           "\"slice_index\": %d, \"numa_node\": %d, \"memory_bytes\": %llu, ",
           (long long)d->id, d->process_index, d->local_ordinal, d->slice_index,
           d->numa_node, (unsigned long long)d->memory_bytes);
    write_text("platform", d->platform, ", ");
    write_text("kind", d->kind, ", ");
    write_text("host", d->host, ", ");
    write_text("pci_bus_id", d->pci_bus_id, ", ");
    write_text("uuid", d->uuid, ", ");
    write_text("detail", jd__topology_text(t, row->detail), ", ");
    printf("\"native\": %d}", row->native);
}

static void end_item(int i, int count)
{
    fputs(i + 1 < count ? ",\n" : "\n", stdout);
}

static void write_fact(void *arg, const char *name, const char *value)
{
    bool *is_first = arg;
    fputs(*is_first ? "" : ", ", stdout);
    *is_first = false;
    write_text(name, value, "");
}

/* "cuda": { "nccl": "2.28.9", ... }, of process 0. */
static void write_libraries(const struct jd_topology *t)
{
    const char *glue = "";
    fputs("  \"libraries\": {", stdout);
    for (int i = 0; jd__device_sources[i]; i++) {
        const struct jd_device_source *source = jd__device_sources[i];
        bool is_first = true;
        if (!source->describe || !jd__topology_platform(t, source->platform))
            continue;
        printf("%s\"%s\": {", glue, source->platform);
        source->describe(write_fact, &is_first);
        putchar('}');
        glue = ", ";
    }
    puts("},");
}

static void write_json(struct jd_topology *t)
{
    jd__topology_list(t);
    printf("{\n  \"num_slices\": %d,\n  \"platform\": \"%s\",\n", t->num_slices,
           t->platforms[0].platform);
    write_libraries(t);
    puts("  \"hosts\": [");
    for (int i = 0; i < t->num_hosts; i++) {
        write_host(t, &t->hosts[i]);
        end_item(i, t->num_hosts);
    }
    puts("  ],\n  \"processes\": [");
    for (int i = 0; i < t->num_processes; i++) {
        write_process(t, i);
        end_item(i, t->num_processes);
    }
    puts("  ],\n  \"devices\": [");
    for (int i = 0; i < t->num_devices; i++) {
        write_device(t, &t->devices[i]);
        end_item(i, t->num_devices);
    }
    puts("  ]\n}");
}

/* Returns 0, or the exit status after it has said what is wrong. */
static int write_topology(struct jd_topology *topology, bool json, bool svg)
{
    if (svg)
        return topology_svg_print(stdout, topology) == JD_OK ? 0
                                                             : jd_info_fail();
    if (json)
        write_json(topology);
    else if (!topology_tree_print(stdout, topology))
        fprintf(stderr, "jd-info: no memory for all of the job; --json needs "
                        "less\n");
    return 0;
}

int jd_info_topology(bool json, bool svg)
{
    const struct jd_runtime *runtime;
    int code = 0;
    if (jd_initialize() != JD_OK ||
        jd__runtime_get(&runtime, "jd-info") != JD_OK)
        return jd_info_fail();
    if (runtime->world.index == 0)
        code = write_topology(runtime->topology, json, svg);
    return jd_shutdown() == JD_OK ? code : jd_info_fail();
}

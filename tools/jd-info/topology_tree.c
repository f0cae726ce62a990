/* SPDX-License-Identifier: BSD-3-Clause */
/* topology_tree.c - a job's hosts, processes and devices, for people. */
#include "tools/jd-info/topology_tree.h"
#include "base/digest.h"
#include "base/env.h"
#include "base/ranges.h"
#include "base/text.h"
#include "runtime/topology/device_source.h"
#include "tools/jd-info/host_processes.h"
#include "tools/jd-info/host_ranges.h"

#include <stdlib.h>
#include <string.h>

struct tree {
    FILE *out;
    const struct jd_topology *topology;
    struct host_processes processes;
};

/* What a line says of a host beside its name. */
struct look {
    char *text; /* malloc'ed */
    uint64_t digest;
    int host;
    int group; /* the first host that looks so */
};

static int count_of(const struct tree *tree, int host)
{
    return host_processes_count(&tree->processes, host);
}

static const int *processes_of(const struct tree *tree, int host)
{
    return host_processes_of(&tree->processes, host);
}

/* ---- words -------------------------------------------------------------- */

static void print_counted(FILE *out, int count, const char *what,
                          const char *after)
{
    fprintf(out, "%d %s%s%s", count, what, jd__text_s(count), after);
}

static void print_memory(FILE *out, uint64_t bytes)
{
    if (bytes)
        fprintf(out, ", %.1f GiB", (double)bytes / (1 << 30));
}

void topology_tree_machine(FILE *out, const struct jd_topology *t, int host)
{
    const struct jd_host *h = &t->hosts[host];
    const char *caches = jd__topology_text(t, h->caches);
    print_counted(out, h->num_packages, "package", ", ");
    print_counted(out, h->num_numa_nodes, "NUMA node", ", ");
    print_counted(out, h->num_cores, "core", ", ");
    print_counted(out, h->num_threads, "hardware thread", ", ");
    fprintf(out, "%d allowed", h->cores_allowed);
    print_memory(out, h->memory_bytes);
    fprintf(out, "%s%s", caches[0] ? ", " : "", caches);
}

/* ---- one by one --------------------------------------------------------- */

/* Of one that other processes may see too. */
static void print_shareable(const struct tree *tree, const jd_device *d)
{
    const struct jd_device_row *row = jd__topology_row(tree->topology, d);
    const char *detail = jd__topology_text(tree->topology, row->detail);
    if (!d->uuid[0])
        return;
    fprintf(tree->out, ", %s, number %d of those seen", d->uuid, row->native);
    if (detail[0])
        fprintf(tree->out, ", %s", detail);
}

static void print_device(const struct tree *tree, const jd_device *d)
{
    fprintf(tree->out, "    device %lld: %s %d, %s", (long long)d->id,
            d->platform, d->local_ordinal, d->kind);
    if (d->numa_node >= 0)
        fprintf(tree->out, ", NUMA node %d", d->numa_node);
    if (d->pci_bus_id[0])
        fprintf(tree->out, ", PCI %s", d->pci_bus_id);
    print_memory(tree->out, d->memory_bytes);
    print_shareable(tree, d);
    putc('\n', tree->out);
}

static void print_unowned(const struct tree *tree, int process)
{
    const char *uuid;
    for (int i = 0; (uuid = jd__topology_unowned(tree->topology, process, i));
         i++)
        fprintf(tree->out, "%s%s",
                i ? ", " : "    sees, and does not use: ", uuid);
    if (jd__topology_unowned(tree->topology, process, 0))
        putc('\n', tree->out);
}

static void print_process(const struct tree *tree, int process)
{
    const struct jd_topology *t = tree->topology;
    const struct jd_process_info *p = &t->processes[process];
    fprintf(tree->out,
            "  process %d (local %d, slice %d, pid %d, %s): ", p->index,
            p->local_index, p->slice, p->pid, jd__topology_text(t, p->program));
    print_counted(tree->out, p->cores_allowed, "core", " allowed");
    fprintf(tree->out, " (%s)\n", jd__topology_text(t, p->cores));
    for (int i = 0, first; i < t->num_platforms; i++) {
        int count = jd__topology_devices_of(t, i, process, &first);
        for (int k = first; k < first + count; k++)
            print_device(tree, t->platforms[i].devices[k]);
    }
    print_unowned(tree, process);
}

static void print_host(const struct tree *tree, int host)
{
    fprintf(tree->out,
            "host %s: ", jd__topology_host_name(tree->topology, host));
    topology_tree_machine(tree->out, tree->topology, host);
    putc('\n', tree->out);
    for (int i = 0; i < count_of(tree, host); i++)
        print_process(tree, processes_of(tree, host)[i]);
}

/* ---- those that look alike ---------------------------------------------- */

static void print_cores(FILE *out, const struct tree *tree, int host)
{
    int least = 0, most = 0;
    for (int i = 0; i < count_of(tree, host); i++) {
        int process = processes_of(tree, host)[i];
        int cores = tree->topology->processes[process].cores_allowed;
        least = i == 0 || cores < least ? cores : least;
        most = cores > most ? cores : most;
    }
    if (least < most)
        fprintf(out, "%d to ", least);
    print_counted(out, most, "core", " allowed for each, ");
}

static void print_run(FILE *out, const jd_device *d, int count)
{
    fprintf(out, "%d %s device%s (%s", count, d->platform, jd__text_s(count),
            d->kind);
    print_memory(out, d->memory_bytes);
    fputs("), ", out);
}

static bool is_same_model(const jd_device *a, const jd_device *b)
{
    return a->memory_bytes == b->memory_bytes && strcmp(a->kind, b->kind) == 0;
}

/* Devices of one model that follow each other are counted. */
static void print_models(FILE *out, const struct tree *tree, int host,
                         int platform)
{
    const struct jd_device_list *list = &tree->topology->platforms[platform];
    const jd_device *model = NULL;
    int run = 0;
    for (int i = 0, first; i < count_of(tree, host); i++) {
        int count = jd__topology_devices_of(
            tree->topology, platform, processes_of(tree, host)[i], &first);
        for (int k = first; k < first + count; k++, run++) {
            if (model && !is_same_model(model, list->devices[k])) {
                print_run(out, model, run);
                run = 0;
            }
            model = list->devices[k];
        }
    }
    if (model)
        print_run(out, model, run);
}

static bool make_look(const struct tree *tree, int host, struct look *look)
{
    struct jd_text text;
    FILE *out = jd__text_begin(&text);
    int count = count_of(tree, host);
    if (!out)
        return false;
    fprintf(out, "%d process%s each, ", count, jd__text_es(count));
    for (int i = 0; i < tree->topology->num_platforms; i++)
        print_models(out, tree, host, i);
    print_cores(out, tree, host);
    topology_tree_machine(out, tree->topology, host);
    look->text = jd__text_end(&text);
    if (!look->text)
        return false;
    look->digest = jd__digest(0, look->text, text.length);
    look->host = look->group = host;
    return true;
}

static int compare_looks(const void *one, const void *other)
{
    const struct look *a = one, *b = other;
    if (a->digest != b->digest)
        return a->digest < b->digest ? -1 : 1;
    int order = strcmp(a->text, b->text);
    return order ? order : jd__ranges_compare(&a->host, &b->host);
}

static int compare_groups(const void *one, const void *other)
{
    const struct look *a = one, *b = other;
    int order = jd__ranges_compare(&a->group, &b->group);
    return order ? order : jd__ranges_compare(&a->host, &b->host);
}

/* Hosts that look alike stand together, in the order of their first. */
static void sort_looks(struct look *looks, int count)
{
    qsort(looks, (size_t)count, sizeof *looks, compare_looks);
    for (int i = 1; i < count; i++)
        if (looks[i].digest == looks[i - 1].digest &&
            strcmp(looks[i].text, looks[i - 1].text) == 0)
            looks[i].group = looks[i - 1].group;
    qsort(looks, (size_t)count, sizeof *looks, compare_groups);
}

static void print_numbers(const struct tree *tree, const char *what,
                          int *numbers, int count)
{
    qsort(numbers, (size_t)count, sizeof *numbers, jd__ranges_compare);
    fputs(what, tree->out);
    jd__ranges_print(tree->out, numbers, count);
}

/* The processes of all of them, as ranges. */
static bool print_processes(const struct tree *tree, const struct look *looks,
                            int count)
{
    int total = 0, each = count_of(tree, looks[0].host);
    size_t most = (size_t)each * (size_t)count;
    int *numbers = malloc((most + 1) * sizeof *numbers);
    if (!numbers)
        return false;
    for (int i = 0; i < count; i++)
        for (int k = 0; k < each; k++)
            numbers[total++] = processes_of(tree, looks[i].host)[k];
    print_numbers(tree, "; processes ", numbers, total);
    putc('\n', tree->out);
    free(numbers);
    return true;
}

static bool print_alike(const struct tree *tree, const struct look *looks,
                        int count)
{
    const char **names = malloc((size_t)count * sizeof *names);
    if (!names)
        return false;
    for (int i = 0; i < count; i++)
        names[i] = jd__topology_host_name(tree->topology, looks[i].host);
    fputs("hosts ", tree->out);
    host_ranges_print(tree->out, names, count);
    fprintf(tree->out, ": %s", looks[0].text);
    free(names);
    return print_processes(tree, looks, count);
}

static bool print_looks(const struct tree *tree, struct look *looks, int count)
{
    bool is_whole = true;
    sort_looks(looks, count);
    for (int i = 0, next; i < count && is_whole; i = next) {
        for (next = i + 1; next < count; next++)
            if (looks[next].group != looks[i].group)
                break;
        if (next - i == 1)
            print_host(tree, looks[i].host);
        else
            is_whole = print_alike(tree, looks + i, next - i);
    }
    return is_whole;
}

static bool print_many_hosts(const struct tree *tree)
{
    int count = tree->topology->num_hosts, made = 0;
    struct look *looks = calloc((size_t)count, sizeof *looks);
    while (looks && made < count && make_look(tree, made, &looks[made]))
        made++;
    bool is_whole = looks && made == count && print_looks(tree, looks, count);
    for (int i = 0; looks && i < count; i++)
        free(looks[i].text);
    free(looks);
    return is_whole;
}

/* ---- the whole ---------------------------------------------------------- */

/* Which platforms somebody has no device of, and why. */
static void print_absent(const struct tree *tree)
{
    const struct jd_absent absent = jd__topology_absent(tree->topology);
    for (int i = 0; jd__device_sources[i]; i++) {
        const char *platform = jd__device_sources[i]->platform;
        if (!jd__absent_count(&absent, platform))
            continue;
        fprintf(tree->out, "no %s devices: ", platform);
        jd__absent_print(tree->out, &absent, platform);
        putc('\n', tree->out);
    }
}

static void print_fact(void *arg, const char *name, const char *value)
{
    fprintf(arg, "  %s %s\n", name, value);
}

/* Those that NCCL reads. */
static void print_variables(FILE *out)
{
    struct jd_env *env;
    if (jd__env_from_process(&env) != JD_OK)
        return;
    for (size_t i = 0; i < jd__env_count(env); i++) {
        const struct jd_env_entry *entry = jd__env_at(env, i);
        if (strncmp(entry->name, "NCCL_", 5) == 0)
            fprintf(out, "  %s=%s\n", entry->name, entry->value);
    }
    jd__env_destroy(env);
}

/* Of the platforms that somebody has devices of. */
static void print_libraries(const struct tree *tree)
{
    for (int i = 0; jd__device_sources[i]; i++) {
        const struct jd_device_source *source = jd__device_sources[i];
        if (!source->describe ||
            !jd__topology_platform(tree->topology, source->platform))
            continue;
        fprintf(tree->out, "%s on process 0:\n", source->platform);
        source->describe(print_fact, tree->out);
        print_variables(tree->out);
    }
}

void topology_tree_job(FILE *out, const struct jd_topology *t)
{
    fputs("job: ", out);
    print_counted(out, t->num_hosts, "host", ", ");
    print_counted(out, t->num_slices, "slice", ", ");
    fprintf(out, "%d process%s", t->num_processes,
            jd__text_es(t->num_processes));
    for (int i = 0; i < t->num_platforms; i++)
        fprintf(out, ", %d %s device%s", t->platforms[i].count,
                t->platforms[i].platform, jd__text_s(t->platforms[i].count));
    putc('\n', out);
}

bool topology_tree_print(FILE *out, struct jd_topology *topology)
{
    jd__topology_list(topology);
    struct tree tree = { .out = out, .topology = topology };
    bool is_whole = host_processes_make(&tree.processes, topology);
    if (is_whole) {
        topology_tree_job(out, topology);
        if (topology->num_hosts > TOPOLOGY_TREE_FEW_HOSTS)
            is_whole = print_many_hosts(&tree);
        else
            for (int i = 0; i < topology->num_hosts; i++)
                print_host(&tree, i);
        print_absent(&tree);
        print_libraries(&tree);
    }
    host_processes_free(&tree.processes);
    return is_whole;
}

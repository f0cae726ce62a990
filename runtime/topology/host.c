/* SPDX-License-Identifier: BSD-3-Clause */
/* host.c - the host as hwloc and /proc show it. */
#include "runtime/topology/host.h"

#include <errno.h>
#include <fcntl.h>
#include <hwloc.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void jd__host_read_line(const char *root, const char *path, char *text,
                        size_t size)
{
    char full[PATH_MAX];
    snprintf(full, sizeof full, "%s%s", root, path);
    FILE *file = fopen(full, "re");
    text[0] = '\0';
    if (!file)
        return;
    if (!fgets(text, (int)size, file))
        text[0] = '\0';
    text[strcspn(text, "\n")] = '\0';
    fclose(file);
}

void jd__host_boot_id(char *text, size_t size)
{
    jd__host_read_line("", "/proc/sys/kernel/random/boot_id", text, size);
}

static void discover_process(struct jd_local_facts *facts)
{
    struct stat namespace;
    gethostname(facts->host, sizeof facts->host - 1);
    jd__host_boot_id(facts->boot_id, sizeof facts->boot_id);
    snprintf(facts->program, sizeof facts->program, "%.63s",
             program_invocation_short_name);
    facts->pid = (int32_t)getpid();
    if (stat("/proc/self/ns/pid", &namespace) == 0)
        facts->pid_namespace = namespace.st_ino;
}

static const char *info_of(hwloc_topology_t topology, hwloc_obj_type_t type,
                           const char *name)
{
    hwloc_obj_t object = hwloc_get_obj_by_type(topology, type, 0);
    return object ? hwloc_obj_get_info_by_name(object, name) : NULL;
}

static void copy_cpu_model(hwloc_topology_t topology, char *text, size_t size)
{
    const char *model = info_of(topology, HWLOC_OBJ_PACKAGE, "CPUModel");
    if (!model)
        model = info_of(topology, HWLOC_OBJ_MACHINE, "CPUModel");
    if (!model)
        model = info_of(topology, HWLOC_OBJ_MACHINE, "Architecture");
    snprintf(text, size, "%.*s", (int)size - 1, model ? model : "unknown");
}

/* "48 KiB", "2 MiB": caches come in whole binary units. */
static int print_size(char *text, size_t size, uint64_t bytes)
{
    uint64_t mi = 1u << 20;
    if (bytes >= mi && bytes % mi == 0)
        return snprintf(text, size, "%llu MiB",
                        (unsigned long long)(bytes / mi));
    return snprintf(text, size, "%llu KiB", (unsigned long long)(bytes / 1024));
}

static void describe_caches(hwloc_topology_t topology, char *text, size_t size)
{
    static const struct {
        hwloc_obj_type_t type;
        const char *name;
    } levels[] = { { HWLOC_OBJ_L1CACHE, "L1d" },
                   { HWLOC_OBJ_L2CACHE, "L2" },
                   { HWLOC_OBJ_L3CACHE, "L3" } };
    size_t length = 0;
    text[0] = '\0';
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        hwloc_obj_t cache = hwloc_get_obj_by_type(topology, levels[i].type, 0);
        char bytes[32];
        if (!cache || length >= size)
            continue;
        print_size(bytes, sizeof bytes, cache->attr->cache.size);
        length += (size_t)snprintf(text + length, size - length, "%s%s %s",
                                   length ? ", " : "", levels[i].name, bytes);
    }
}

/* The NUMA node that holds all of the set, -1 where several do. */
static int only_numa_node(hwloc_topology_t topology, hwloc_const_cpuset_t set)
{
    hwloc_nodeset_t nodes = hwloc_bitmap_alloc();
    int node = -1;
    if (!nodes)
        return node;
    hwloc_cpuset_to_nodeset(topology, set, nodes);
    if (hwloc_bitmap_weight(nodes) == 1)
        node = hwloc_bitmap_first(nodes);
    hwloc_bitmap_free(nodes);
    return node;
}

/* The last-level cache that is over all of the set, -1 where none is. */
static int only_cache(hwloc_topology_t topology, hwloc_const_cpuset_t set)
{
    hwloc_obj_t cache = hwloc_get_cache_covering_cpuset(topology, set);
    while (cache && cache->parent &&
           hwloc_obj_type_is_cache(cache->parent->type))
        cache = cache->parent;
    return cache ? (int)cache->logical_index : -1;
}

/*
 * What the host's job may use is bounded by its control group (hwloc's
 * allowed set) and by what the launcher itself was given: its children may
 * each be bound to one core of that.
 */
static int count_host_cores(hwloc_topology_t topology)
{
    hwloc_bitmap_t set =
        hwloc_bitmap_dup(hwloc_topology_get_allowed_cpuset(topology));
    hwloc_bitmap_t parent = hwloc_bitmap_alloc();
    int count = 0;
    if (set && parent) {
        int known = hwloc_get_proc_cpubind(topology, getppid(), parent, 0);
        if (known == 0 && hwloc_bitmap_intersects(set, parent))
            hwloc_bitmap_and(set, set, parent);
        count = hwloc_bitmap_weight(set);
    }
    hwloc_bitmap_free(set);
    hwloc_bitmap_free(parent);
    return count;
}

static jd_status describe_own_cores(hwloc_topology_t topology,
                                    struct jd_local_facts *facts)
{
    hwloc_bitmap_t own = hwloc_bitmap_alloc();
    if (!own)
        return jd__fail_no_memory("jd_initialize", sizeof *facts);
    if (hwloc_get_cpubind(topology, own, HWLOC_CPUBIND_THREAD) != 0)
        hwloc_bitmap_copy(own, hwloc_topology_get_allowed_cpuset(topology));
    hwloc_bitmap_list_snprintf(facts->cores, sizeof facts->cores, own);
    facts->cores_allowed = hwloc_bitmap_weight(own);
    facts->numa_node = only_numa_node(topology, own);
    facts->cache = only_cache(topology, own);
    hwloc_bitmap_free(own);
    return JD_OK;
}

/* The kernel's own total: hwloc adds up the NUMA nodes' files, which miss
 * memory that a virtual machine was given later. */
static uint64_t count_memory(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : 0;
}

static int count_objects(hwloc_topology_t topology, hwloc_obj_type_t type)
{
    int count = hwloc_get_nbobjs_by_type(topology, type);
    return count > 0 ? count : 0;
}

static jd_status describe_host(hwloc_topology_t topology,
                               struct jd_local_facts *facts)
{
    facts->num_packages = count_objects(topology, HWLOC_OBJ_PACKAGE);
    facts->num_numa_nodes = count_objects(topology, HWLOC_OBJ_NUMANODE);
    facts->num_cores = count_objects(topology, HWLOC_OBJ_CORE);
    facts->num_threads = count_objects(topology, HWLOC_OBJ_PU);
    facts->memory_bytes = count_memory();
    facts->host_cores_allowed = count_host_cores(topology);
    copy_cpu_model(topology, facts->cpu_model, sizeof facts->cpu_model);
    describe_caches(topology, facts->caches, sizeof facts->caches);
    return describe_own_cores(topology, facts);
}

static jd_status fail_hwloc(const char *call)
{
    return jd_fail(JD_INTERNAL,
                   "jd_initialize: %s failed: %s; lstopo shows whether hwloc "
                   "works on this host",
                   call, strerror(errno));
}

jd_status jd__host_discover(struct jd_local_facts *ret_facts)
{
    struct jd_local_facts facts;
    hwloc_topology_t topology;

    memset(&facts, 0, sizeof facts); /* padding travels too */
    discover_process(&facts);
    if (hwloc_topology_init(&topology) != 0)
        return fail_hwloc("hwloc_topology_init");
    hwloc_topology_set_flags(topology, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
    jd_status status = hwloc_topology_load(topology) == 0
                           ? describe_host(topology, &facts)
                           : fail_hwloc("hwloc_topology_load");
    hwloc_topology_destroy(topology);
    if (status == JD_OK)
        *ret_facts = facts;
    return status;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * heap_nodes.c - the memory of the NUMA nodes that this process is held to,
 * by its cpuset or by numactl --membind: when these are full the kernel kills,
 * whatever there is elsewhere.
 */
#include "collectives/cpu/heap/heap_space.h"

#include <inttypes.h>
#include <limits.h>
#include <linux/mempolicy.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAX_NODES 1024
#define WORD_BITS (8 * sizeof(unsigned long))

struct nodes {
    unsigned long bits[MAX_NODES / WORD_BITS];
};

static bool has_node(const struct nodes *nodes, size_t node)
{
    return nodes->bits[node / WORD_BITS] >> node % WORD_BITS & 1;
}

/* "0-3,8", as the kernel prints it. */
static void parse_nodes(const char *text, struct nodes *nodes)
{
    memset(nodes, 0, sizeof *nodes);
    while (*text >= '0' && *text <= '9') {
        char *end;
        size_t first = strtoul(text, &end, 10), last = first;
        if (*end == '-')
            last = strtoul(end + 1, &end, 10);
        for (size_t node = first; node <= last && node < MAX_NODES; node++)
            nodes->bits[node / WORD_BITS] |= 1ul << node % WORD_BITS;
        text = *end == ',' ? end + 1 : end;
    }
}

static bool read_nodes(const char *root, const char *file, const char *key,
                       struct nodes *nodes)
{
    char path[PATH_MAX], list[512];
    snprintf(path, sizeof path, "%s%s", root, file);
    if (!jd__heap_space_read_text(path, key, list, sizeof list))
        return false;
    parse_nodes(list, nodes);
    return true;
}

/* A policy that binds leaves fewer. */
static void apply_policy(struct nodes *allowed)
{
    struct nodes bound;
    int mode;
    memset(&bound, 0, sizeof bound);
    if (syscall(SYS_get_mempolicy, &mode, bound.bits, MAX_NODES + 1, NULL, 0) !=
            0 ||
        (mode & ~MPOL_MODE_FLAGS) != MPOL_BIND)
        return;
    for (size_t i = 0; i < MAX_NODES / WORD_BITS; i++)
        allowed->bits[i] &= bound.bits[i];
}

/* "Node 0 MemFree:  1234 kB", in bytes. */
static uint64_t read_node(const char *root, size_t node, const char *name)
{
    char path[PATH_MAX], key[64];
    uint64_t value = 0;
    snprintf(path, sizeof path, "%s/sys/devices/system/node/node%zu/meminfo",
             root, node);
    snprintf(key, sizeof key, "Node %zu %s:", node, name);
    return jd__heap_space_read_key(path, key, &value) ? 1024 * value : 0;
}

static uint64_t count_available(const char *root, size_t node)
{
    return read_node(root, node, "MemFree") +
           read_node(root, node, "Inactive(file)") +
           read_node(root, node, "Active(file)");
}

/* The allowed nodes' memory; false where these are all that there are. */
static bool add_up(const char *root, const struct nodes *allowed,
                   uint64_t *ret_total, uint64_t *ret_available)
{
    struct nodes filled;
    bool is_held = false;
    *ret_total = *ret_available = 0;
    if (!read_nodes(root, "/sys/devices/system/node/has_memory", "", &filled))
        return false;
    for (size_t node = 0; node < MAX_NODES; node++) {
        if (!has_node(&filled, node))
            continue;
        if (!has_node(allowed, node)) {
            is_held = true;
            continue;
        }
        *ret_total += read_node(root, node, "MemTotal");
        *ret_available += count_available(root, node);
    }
    return is_held;
}

void jd__heap_nodes_space(const char *root, struct jd_space *space)
{
    struct nodes allowed;
    uint64_t total, available;
    if (!read_nodes(root, "/proc/self/status", "Mems_allowed_list:", &allowed))
        return;
    if (root[0] == '\0')
        apply_policy(&allowed);
    if (add_up(root, &allowed, &total, &available))
        jd__heap_space_available(
            space,
            "the NUMA nodes that this process is held to "
            "(Mems_allowed_list in /proc/self/status, numactl "
            "--show) have",
            total, available, "let it use more of them");
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * heap_cgroup.c - the memory limits of this process's control groups, from
 * its own up to where the hierarchy is mounted: the kernel keeps each.
 */
#include "collectives/cpu/heap/heap_space.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

/* A folder, and a file in it. */
#define FILE_MAX (PATH_MAX + 64)

/* The names of the same things in the two versions. */
struct version {
    const char *type; /* of the file system */
    const char *limits[3];
    const char *usage;
    const char *cached[3]; /* in memory.stat: what is dropped first */
};

static const struct version version_1 = {
    .type = "cgroup",
    .limits = { "memory.limit_in_bytes" },
    .usage = "memory.usage_in_bytes",
    .cached = { "total_inactive_file", "total_active_file" },
};

/* Beyond memory.high nobody is killed, but stopped most of the time. */
static const struct version version_2 = {
    .type = "cgroup2",
    .limits = { "memory.max", "memory.high" },
    .usage = "memory.current",
    .cached = { "inactive_file", "active_file" },
};

/* Whether the word is one of the text's, which commas separate. */
static bool has_word(const char *text, const char *word)
{
    size_t length = strlen(word);
    while (text) {
        if (strncmp(text, word, length) == 0 &&
            strchr(",\n", text[length])) /* or the end */
            return true;
        text = strchr(text, ',');
        text = text ? text + 1 : NULL;
    }
    return false;
}

/* The process's group in the hierarchy, from "ID:CONTROLLERS:PATH". */
static bool find_group(const char *root, const struct version *version,
                       char *group, size_t size)
{
    char path[PATH_MAX], line[PATH_MAX];
    bool found = false;
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    while (!found && fgets(line, sizeof line, file)) {
        char *controllers = strchr(line, ':');
        char *name = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!name)
            continue;
        *controllers++ = *name++ = '\0';
        found = version == &version_2 ? *controllers == '\0'
                                      : has_word(controllers, "memory");
        name[strcspn(name, "\n")] = '\0';
        snprintf(group, size, "%s", name);
    }
    fclose(file);
    return found;
}

struct mount {
    char root[PATH_MAX / 2]; /* the group that is mounted */
    char point[PATH_MAX / 2];
};

/* One line of mountinfo: "... ROOT POINT OPTIONS - TYPE SOURCE OPTIONS". */
static bool read_mount(const char *line, const struct version *version,
                       struct mount *mount)
{
    char type[32], options[512] = "";
    const char *behind = strstr(line, " - ");
    if (!behind || sscanf(line, "%*s %*s %*s %2047s %2047s", mount->root,
                          mount->point) != 2)
        return false;
    if (sscanf(behind, " - %31s %*s %511s", type, options) < 1 ||
        strcmp(type, version->type) != 0)
        return false;
    return version == &version_2 || has_word(options, "memory");
}

static bool find_mount(const char *root, const struct version *version,
                       struct mount *mount)
{
    char path[PATH_MAX], line[2 * PATH_MAX];
    bool found = false;
    snprintf(path, sizeof path, "%s/proc/self/mountinfo", root);
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    while (!found && fgets(line, sizeof line, file))
        found = read_mount(line, version, mount);
    fclose(file);
    return found;
}

/* ---- one group ---------------------------------------------------------- */

static uint64_t sum_cached(const char *folder, const struct version *version)
{
    char path[FILE_MAX];
    uint64_t sum = 0, bytes;
    snprintf(path, sizeof path, "%s/memory.stat", folder);
    for (int i = 0; version->cached[i]; i++)
        if (jd__heap_space_read_key(path, version->cached[i], &bytes))
            sum += bytes;
    return sum;
}

static void group_space(const char *folder, const struct version *version,
                        struct jd_space *space)
{
    char path[FILE_MAX];
    uint64_t limit, used;
    for (int i = 0; version->limits[i]; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, version->usage);
        if (!jd__heap_space_read(path, &used))
            return;
        snprintf(path, sizeof path, "%s/%s", folder, version->limits[i]);
        if (!jd__heap_space_read(path, &limit) || limit >= INT64_MAX - 65535)
            continue; /* version 1's "no limit" is whole pages */
        uint64_t cached = sum_cached(folder, version);
        jd__heap_space_limit(space, path, limit,
                             used > cached ? used - cached : 0);
    }
}

/* The part of the group's path that is below what is mounted: the path begins
 * where the whole hierarchy does. */
static const char *path_below(const struct mount *mount, const char *group)
{
    size_t above = strcmp(mount->root, "/") == 0 ? 0 : strlen(mount->root);
    bool is_below = strncmp(group, mount->root, above) == 0 &&
                    strchr("/", group[above]); /* or the end */
    return is_below && strcmp(group + above, "/") != 0 ? group + above : "";
}

static void hierarchy_space(const char *root, const struct version *version,
                            struct jd_space *space)
{
    char group[PATH_MAX / 2], folder[PATH_MAX];
    struct mount mount;
    if (!find_group(root, version, group, sizeof group) ||
        !find_mount(root, version, &mount))
        return;
    size_t shortest =
        (size_t)snprintf(folder, sizeof folder, "%s%s", root, mount.point);
    if (shortest >= sizeof folder)
        return;
    snprintf(folder + shortest, sizeof folder - shortest, "%s",
             path_below(&mount, group));
    for (;;) {
        group_space(folder, version, space);
        if (strlen(folder) <= shortest)
            break;
        *strrchr(folder, '/') = '\0';
    }
}

void jd__heap_cgroup_space(const char *root, struct jd_space *space)
{
    hierarchy_space(root, &version_1, space);
    hierarchy_space(root, &version_2, space);
}

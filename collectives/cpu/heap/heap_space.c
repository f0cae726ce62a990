/* SPDX-License-Identifier: BSD-3-Clause */
/* heap_space.c - the tightest of the limits on memory. */
#include "collectives/cpu/heap/heap_space.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/statvfs.h>

bool jd__heap_space_read(const char *path, uint64_t *ret_value)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    bool found = fscanf(file, "%" SCNu64, ret_value) == 1; /* not "max" */
    fclose(file);
    return found;
}

bool jd__heap_space_read_text(const char *path, const char *key, char *text,
                              size_t size)
{
    FILE *file = fopen(path, "re");
    char line[1024];
    size_t length = strlen(key);
    bool found = false;
    if (!file)
        return false;
    while (!found && fgets(line, sizeof line, file))
        found = strncmp(line, key, length) == 0;
    fclose(file);
    if (!found)
        return false;
    const char *value = line + length + strspn(line + length, " \t");
    snprintf(text, size, "%.*s", (int)strcspn(value, "\n"), value);
    return true;
}

bool jd__heap_space_read_key(const char *path, const char *key,
                             uint64_t *ret_value)
{
    char text[64];
    return jd__heap_space_read_text(path, key, text, sizeof text) &&
           sscanf(text, "%" SCNu64, ret_value) == 1;
}

/* What is never asked for here: other processes' needs of the same moment,
 * the stacks and heaps of this one. */
static uint64_t kept_back(uint64_t limit)
{
    return limit / 64 + ((uint64_t)16 << 20);
}

static void keep_tightest(struct jd_space *space, uint64_t left,
                          const char *why, const char *remedy)
{
    if (left >= space->left)
        return;
    space->left = left;
    space->remedy = remedy;
    snprintf(space->why, sizeof space->why, "%s", why);
}

static uint64_t subtract_to_zero(uint64_t from, uint64_t what)
{
    return from > what ? from - what : 0;
}

void jd__heap_space_limit(struct jd_space *space, const char *file,
                          uint64_t limit, uint64_t used)
{
    char why[512];
    uint64_t kept = kept_back(limit);
    snprintf(why, sizeof why,
             "%.300s allows %" PRIu64 ", of which %" PRIu64
             " are in use and %" PRIu64 " are kept back",
             file, limit, used, kept);
    keep_tightest(space, subtract_to_zero(subtract_to_zero(limit, used), kept),
                  why, "ask for more memory for this job (Slurm: --mem)");
}

void jd__heap_space_available(struct jd_space *space, const char *what,
                              uint64_t total, uint64_t available,
                              const char *remedy)
{
    char why[512];
    uint64_t kept = kept_back(total);
    snprintf(why, sizeof why,
             "%.400s %" PRIu64 ", of which %" PRIu64 " are kept back", what,
             available, kept);
    keep_tightest(space, subtract_to_zero(available, kept), why, remedy);
}

static void host_space(const char *root, struct jd_space *space)
{
    char path[PATH_MAX], what[400];
    uint64_t total, available;
    snprintf(path, sizeof path, "%s/proc/meminfo", root);
    if (!jd__heap_space_read_key(path, "MemTotal:", &total) ||
        !jd__heap_space_read_key(path, "MemAvailable:", &available))
        return;
    snprintf(what, sizeof what, "MemAvailable in %.300s is", path);
    jd__heap_space_available(space, what, 1024 * total, 1024 * available,
                             "free memory on this host");
}

/* Where the kernel keeps count of what it has promised, it refuses. */
static void commit_space(const char *root, struct jd_space *space)
{
    char path[PATH_MAX], why[512];
    uint64_t mode, limit, used;
    snprintf(path, sizeof path, "%s/proc/sys/vm/overcommit_memory", root);
    if (!jd__heap_space_read(path, &mode) || mode != 2)
        return;
    snprintf(path, sizeof path, "%s/proc/meminfo", root);
    if (!jd__heap_space_read_key(path, "CommitLimit:", &limit) ||
        !jd__heap_space_read_key(path, "Committed_AS:", &used))
        return;
    limit *= 1024, used *= 1024;
    snprintf(why, sizeof why,
             "vm.overcommit_memory is 2, and CommitLimit in %.300s is %" PRIu64
             ", of which %" PRIu64 " are promised",
             path, limit, used);
    keep_tightest(space, subtract_to_zero(limit, used), why,
                  "free memory on this host, or raise vm.overcommit_ratio");
}

static void file_space(int file, struct jd_space *space)
{
    struct statvfs facts;
    char why[512];
    if (file < 0 || fstatvfs(file, &facts) != 0 || facts.f_blocks == 0)
        return;
    uint64_t left = (uint64_t)facts.f_bavail * facts.f_frsize;
    snprintf(why, sizeof why, "/dev/shm has %" PRIu64 " free", left);
    keep_tightest(space, left, why,
                  "give it a larger size (docker: --shm-size)");
}

jd_status jd__heap_space_check(const struct jd_space_request *request,
                               uint64_t *ret_left)
{
    struct jd_space space = { .left = UINT64_MAX, .remedy = "" };
    jd__heap_cgroup_space(request->root, &space);
    host_space(request->root, &space);
    jd__heap_nodes_space(request->root, &space);
    commit_space(request->root, &space);
    file_space(request->file, &space);
    uint64_t needed = request->bytes - request->taken;
    if (needed <= space.left && ret_left)
        *ret_left = space.left - needed;
    if (needed <= space.left)
        return JD_OK;
    return jd_fail(JD_RESOURCE_EXHAUSTED,
                   "%s: %" PRIu64 " bytes of memory are needed and %" PRIu64
                   " can be had: %s; allocate less, or %s",
                   request->operation, request->bytes,
                   space.left + request->taken, space.why, space.remedy);
}

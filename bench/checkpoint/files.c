/* SPDX-License-Identifier: BSD-3-Clause */
/* files.c - dd, cold files, and the file system they are on. */
#include "bench/checkpoint/files.h"
#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- dd ----------------------------------------------------------------- */

/* input: its stdin, from the first byte; -1: this process's. */
static double run_dd(char *const *words, int input)
{
    char *nothing[] = { NULL }; /* dd's environment */
    posix_spawn_file_actions_t actions;
    pid_t pid;
    int status = -1;
    posix_spawn_file_actions_init(&actions);
    if (input >= 0) {
        lseek(input, 0, SEEK_SET);
        posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
    }
    double begin = jd__clock_now();
    if (posix_spawnp(&pid, "dd", &actions, NULL, words, nothing) != 0)
        fputs("jd-bench: dd cannot be started; it is measured beside jd\n",
              stderr);
    else
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
            ;
    posix_spawn_file_actions_destroy(&actions);
    return status == 0 ? jd__clock_now() - begin : -1;
}

double bench_dd_write(const char *path, int source)
{
    char to[PATH_MAX + 8];
    char *words[] = { (char[]){ "dd" },          to,
                      (char[]){ "bs=1M" },       (char[]){ "conv=fsync" },
                      (char[]){ "status=none" }, NULL };
    snprintf(to, sizeof to, "of=%s", path);
    return run_dd(words, source);
}

double bench_dd_read(const char *path)
{
    char from[PATH_MAX + 8];
    char *words[] = { (char[]){ "dd" },           from,
                      (char[]){ "of=/dev/null" }, (char[]){ "bs=1M" },
                      (char[]){ "status=none" },  NULL };
    snprintf(from, sizeof from, "if=%s", path);
    return run_dd(words, -1);
}

/* ---- files -------------------------------------------------------------- */

/* Pages of a file, and how many are in memory. */
struct pages {
    size_t all, resident;
};

static void count_resident(int fd, size_t bytes, struct pages *pages)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t count = (bytes + page - 1) / page;
    unsigned char *is_resident = malloc(count);
    void *map = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
    if (is_resident && map != MAP_FAILED &&
        mincore(map, bytes, is_resident) == 0) {
        pages->all += count;
        for (size_t i = 0; i < count; i++)
            pages->resident += is_resident[i] & 1;
    }
    if (map != MAP_FAILED)
        munmap(map, bytes);
    free(is_resident);
}

static void drop_file(const char *path, size_t bytes, struct pages *pages)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    if (bytes > 0)
        count_resident(fd, bytes, pages);
    close(fd);
}

static FTS *walk(const char *path)
{
    char *roots[] = { (char *)path, NULL };
    return fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
}

double bench_drop(const char *path)
{
    struct pages pages = { 0 };
    FTS *tree = walk(path);
    for (FTSENT *entry; tree && (entry = fts_read(tree));)
        if (entry->fts_info == FTS_F)
            drop_file(entry->fts_accpath, (size_t)entry->fts_statp->st_size,
                      &pages);
    if (tree)
        fts_close(tree);
    return pages.all ? (double)pages.resident / (double)pages.all : -1;
}

void bench_remove(const char *path)
{
    FTS *tree = walk(path);
    for (FTSENT *entry; tree && (entry = fts_read(tree));)
        if (entry->fts_info == FTS_DP)
            rmdir(entry->fts_accpath);
        else if (entry->fts_info != FTS_D)
            unlink(entry->fts_accpath);
    if (tree)
        fts_close(tree);
}

void bench_settle(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    syncfs(fd);
    close(fd);
}

/* ---- file systems ------------------------------------------------------- */

/* A line of mountinfo: "36 35 98:0 / /mnt rw - ext4 /dev/sda1 rw". */
static bool read_mount(const char *line, dev_t device, char *name)
{
    unsigned int high, low;
    const char *dash = strstr(line, " - ");
    return sscanf(line, "%*d %*d %u:%u", &high, &low) == 2 && dash &&
           makedev(high, low) == device && sscanf(dash + 3, "%63s", name) == 1;
}

void bench_file_system(const char *path, char name[BENCH_FILE_SYSTEM])
{
    struct stat info;
    char *line = NULL;
    size_t size = 0;
    FILE *file = fopen("/proc/self/mountinfo", "re");
    bool found = stat(path, &info) != 0;
    strcpy(name, "unknown");
    while (file && !found && getline(&line, &size, file) > 0)
        found = read_mount(line, info.st_dev, name);
    free(line);
    if (file)
        fclose(file);
}

bool bench_has_room(const char *path, size_t bytes)
{
    struct statvfs info;
    if (statvfs(path, &info) != 0) {
        fprintf(stderr, "jd-bench: %s: %s\n", path, strerror(errno));
        return false;
    }
    double room = (double)info.f_bavail * (double)info.f_frsize;
    if (room >= (double)bytes)
        return true;
    fprintf(stderr,
            "jd-bench: %s has room for %.0f bytes and %zu are needed; name "
            "another directory with --dir, or fewer with --bytes\n",
            path, room, bytes);
    return false;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* jd_run_left.c - what processes leave behind when they end: jd-run, as their
 * subreaper, becomes its parent, and finds it in /proc. */
#include "tools/jd-run/jd_run.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

void run_left_adopt(void)
{
    prctl(PR_SET_CHILD_SUBREAPER, 1);
}

/* "12 (a name) S 1 ...": the name may hold any character. */
static bool is_child(char *stat, struct run_left *child)
{
    char *name = strchr(stat, '('), *end = strrchr(stat, ')'), state;
    int parent;
    if (!name || !end || sscanf(end + 1, " %c %d", &state, &parent) != 2 ||
        parent != getpid() || state == 'Z' || state == 'X')
        return false;
    *end = '\0';
    child->pid = atoi(stat);
    snprintf(child->name, sizeof child->name, "%s", name + 1);
    return true;
}

static bool read_child(const char *pid, struct run_left *child)
{
    char path[300], stat[512];
    snprintf(path, sizeof path, "/proc/%s/stat", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t length = read(fd, stat, sizeof stat - 1);
    close(fd);
    if (length <= 0)
        return false;
    stat[length] = '\0';
    return is_child(stat, child);
}

size_t run_left_list(struct run_left *list, size_t size)
{
    DIR *processes = opendir("/proc");
    size_t count = 0;
    for (struct dirent *entry;
         processes && count < size && (entry = readdir(processes));)
        if (isdigit((unsigned char)entry->d_name[0]))
            count += read_child(entry->d_name, &list[count]);
    if (processes)
        closedir(processes);
    return count;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* threads.h - how many threads of jd's this process has. */
#ifndef TESTS_UNIT_THREADS_H
#define TESTS_UNIT_THREADS_H

#include <dirent.h>
#include <stdio.h>
#include <string.h>

/* Those whose name is jd's: sanitizers have some of their own. */
static inline int count_threads(void)
{
    int count = 0;
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *d; (d = readdir(tasks));) {
        char path[330], name[4] = "";
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", d->d_name);
        FILE *file = fopen(path, "r");
        count +=
            file && fgets(name, sizeof name, file) && strcmp(name, "jd-") == 0;
        if (file)
            fclose(file);
    }
    closedir(tasks);
    return count;
}

#endif

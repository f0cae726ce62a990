/* SPDX-License-Identifier: BSD-3-Clause */
/* threads.h - how many threads this process has. */
#ifndef TESTS_UNIT_THREADS_H
#define TESTS_UNIT_THREADS_H

#include "base/clock.h"

#include <check.h>
#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

/* Those of jd's, by their names: sanitizers have some of their own. */
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

static inline int count_all_threads(void)
{
    int count = 0;
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *d; (d = readdir(tasks));)
        count += d->d_name[0] != '.';
    closedir(tasks);
    return count;
}

/* Until there are so many: the kernel shows one that has ended a moment
 * longer. */
static inline void wait_for_all_threads(int count)
{
    double deadline = jd__clock_now() + 60; /* that nothing here takes */
    while (count_all_threads() != count) {
        ck_assert_double_lt(jd__clock_now(), deadline);
        sched_yield();
    }
}

#endif

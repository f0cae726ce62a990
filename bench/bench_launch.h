/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench_launch.h - measurements that start this program again as a job of
 * several processes: the command, the job's lines, the flags they share.
 *
 *     char command[BENCH_COMMAND];
 *     size_t used = bench_launch_command(&launch, 4, "reshard", command);
 *     bench_launch_append(command, used, "--rounds %d", rounds);
 *     if (!bench_launch_run(&launch, command, true, take, &results))
 *         return 1;
 */
#ifndef BENCH_BENCH_LAUNCH_H
#define BENCH_BENCH_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>

enum { BENCH_COMMAND = 8192, BENCH_MAX_JOBS = 64 };

struct bench_launch {
    const char *launcher; /* NULL: mpirun with a number of processes */
    int processes[BENCH_MAX_JOBS];
    int num_processes;  /* how many of these numbers */
    long long launches; /* of each number of processes */
    bool json;          /* the job's other lines are not shown */
};

/*
 * Takes a flag that all of them have: 'p' (processes), 'n' (launches), 'l'
 * (launcher) or 'j' (json). False where it is none of these. *ret_wanted: NULL,
 * or what the value must be.
 */
bool bench_launch_take(struct bench_launch *launch, int flag, char *text,
                       const char **ret_wanted);

/* Whether this program may start jobs. In a job of mpirun's it may not, as each
 * of its processes would: stderr says so, once. */
bool bench_launch_is_alone(void);

/* How many kinds of jobs there are: one for each number of processes, a single
 * one with a launcher, which says the number. */
int bench_launch_kinds(const struct bench_launch *launch);

/* "mpirun ... 'jd-bench' NAME", into BENCH_COMMAND characters; its length. */
size_t bench_launch_command(const struct bench_launch *launch, int processes,
                            const char *name, char *text);
/* A blank and more words; the new length. */
__attribute__((format(printf, 3, 4))) size_t
bench_launch_append(char *text, size_t used, const char *format, ...);

/*
 * Starts a job and gives each line of its output to take(). Lines that this
 * does not want are printed, where is_shown. False where the job failed, which
 * stderr says.
 */
bool bench_launch_run(const struct bench_launch *launch, const char *command,
                      bool is_shown, bool (*take)(void *arg, const char *line),
                      void *arg);

/* Shows on a terminal's stderr how far it is, on one line. */
__attribute__((format(printf, 1, 2))) void
bench_show_progress(const char *format, ...);

#endif

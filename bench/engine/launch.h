/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * launch.h - measurements that start this program again as a job of
 * several processes: the command, the job's lines, the flags they share.
 *
 *     const struct bench_job job = { "reshard", append, &options, take, &row };
 *     for (int kind = 0; kind < bench_launch_kinds(&launch); kind++)
 *         if (!bench_launch_all(&launch, kind, &job))
 *             return 1;
 */
#ifndef BENCH_ENGINE_LAUNCH_H
#define BENCH_ENGINE_LAUNCH_H

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

/* A blank and more words; the new length. */
__attribute__((format(printf, 3, 4))) size_t
bench_launch_append(char *text, size_t used, const char *format, ...);

/* `jd-bench NAME` with the flags that append() adds behind it; each line of its
 * output is given to take(), which returns false where it is none of its. */
struct bench_job {
    const char *name;
    void (*append)(const void *options, char *command, size_t used);
    const void *options;
    bool (*take)(void *results, const char *line);
    void *results;
    bool has_defaults; /* mpirun's own binding and waiting */
    bool is_unbound;   /* processes that have several threads at work */
};

/*
 * Launch number of one kind of job. Lines that take() does not want are
 * printed, of the first launch. False where the job failed, which stderr says.
 */
bool bench_launch_one(const struct bench_launch *launch, int kind,
                      const struct bench_job *job, int number);
/* As many as were asked for. */
bool bench_launch_all(const struct bench_launch *launch, int kind,
                      const struct bench_job *job);

/* Shows on a terminal's stderr how far it is, on one line. */
__attribute__((format(printf, 1, 2))) void
bench_show_progress(const char *format, ...);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * watchdog.h - a thread that holds a deadline over calls that have none of
 * their own (MPI_Init_thread, MPI_Comm_dup, MPI_Finalize). It sleeps; when
 * the wait is long it says so, and at the deadline it says which step waits,
 * what can be seen of the processes that are missing, and ends the process.
 *
 *     jd__watchdog_start(&spec, &dog);
 *     jd__watchdog_step(dog, 1);
 *     MPI_Init_thread(...);
 *     jd__watchdog_stop(dog);
 *
 * Time in which the process, or the whole machine, stood still (SIGSTOP, a
 * virtual machine that was paused) does not count.
 *
 * It makes no MPI call and blocks all signals. Threads: step and stop on the
 * thread that started it.
 */
#ifndef RUNTIME_PROCESS_WATCHDOG_H
#define RUNTIME_PROCESS_WATCHDOG_H

#include "autodetect/cluster.h"
#include "base/env.h"
#include "base/status.h"
#include "runtime/process/proc_peers.h"

struct jd_clock;
struct jd_watchdog;

struct jd_watchdog_spec {
    const struct jd_phases *phases; /* constant */
    double timeout;                 /* seconds */
    double notice;                  /* seconds until it speaks; negative: no */
    const char *variable;           /* what changes the deadline */
    const struct jd_env *env;       /* borrowed until stop */
    const struct jd_clock *clock;   /* NULL: the machine's; constant */
};

/* Begins with step 0. Returns JD_OK; RESOURCE_EXHAUSTED for a thread. */
jd_status jd__watchdog_start(const struct jd_watchdog_spec *spec,
                             struct jd_watchdog **ret_watchdog);

/* The work has come to this step. */
void jd__watchdog_step(struct jd_watchdog *watchdog, int step);

/* What the launcher said, borrowed until stop: for naming who is missing. */
void jd__watchdog_set_cluster(struct jd_watchdog *watchdog,
                              const struct jd_cluster *cluster);

/* Ends the thread; NULL is allowed. */
void jd__watchdog_stop(struct jd_watchdog *watchdog);

#endif

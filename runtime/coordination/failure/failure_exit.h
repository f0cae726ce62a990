/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * failure_exit.h - what a process does when the job has failed: it says so in
 * one sentence, within half a second of the death, and ends with exit code 117,
 * whatever its threads are in; or it runs the program's callback first.
 *
 *     jd__failure_exit_configure(30);
 *     ... on the loop's thread, when the service's Failure comes:
 *     jd__failure_exit_begin(loop, &report, NULL, NULL);
 *     ... in every operation that waits for others:
 *     status = jd__failure_exit_check("jd_psum");
 *
 * Launchers leave survivors one second, MPI calls with a dead peer never
 * return, and so nothing here waits for a thread of the program, nor for
 * whoever reads standard error: one thread speaks and ends the process,
 * another ends it where the first cannot, and the loop goes on.
 */
#ifndef RUNTIME_COORDINATION_FAILURE_FAILURE_EXIT_H
#define RUNTIME_COORDINATION_FAILURE_FAILURE_EXIT_H

#include "base/status.h"
#include "jd_coordination.h"

#include <stdbool.h>
#include <stddef.h>

struct jd_clock;
struct jd_loop;

enum { JD_EXIT_PEER_FAILED = 117 };

/* What the job died of, as a survivor hears it. */
struct jd_report {
    const int *processes; /* the culprits, sorted */
    size_t num_processes;
    const char *text; /* the sentence */
    double age;       /* seconds since it happened */
    bool speak;       /* this process prints it */
    bool tells_calls; /* and what its host's processes have called last */
    int silent;       /* how many survivors do not */
};

/* Once per process, before the loop starts: grace in seconds. */
void jd__failure_exit_configure(double grace);

/* Before anything waits: the clock of all that waits here; NULL, and without
 * this call: the machine's. Constant, and not freed. */
void jd__failure_exit_set_clock(const struct jd_clock *clock);

/*
 * The job has failed. On the loop's thread; the first report stands, later
 * ones are ignored. Prints, then ends the process with code 117: at once; or
 * after the callback of jd_on_peer_failure, at most the grace; on process 0
 * also after stay(arg) has become false (others' callbacks use the store),
 * within the same grace. The loop asks stay every 20 ms. While this process
 * is in jd_shutdown it does not end it: jd_shutdown returns the failure.
 */
void jd__failure_exit_begin(struct jd_loop *loop,
                            const struct jd_report *report,
                            bool (*stay)(void *arg), void *arg);

/* This process has told the others of a failure of its own, and goes on:
 * from here on jd__failure_exit_check says so. Threads: any. */
void jd__failure_exit_note(const char *text);

/* JD_OK; or ABORTED with the report, after "operation: ". Some nanoseconds
 * where nothing has failed. Threads: any. */
jd_status jd__failure_exit_check(const char *operation);
bool jd__failure_exit_has_begun(void);

/*
 * For a thread that is about to end the process by itself, because of what
 * the failure has brought it. Where the process is being ended, it stays here
 * until that is done, so that the callback can finish; returns where it is
 * not, and on the callback's own thread.
 */
void jd__failure_exit_await(void);

/* As jd__failure_exit_await, and stays up to the seconds for word of a failure:
 * what has gone wrong here may be another process's death, which this process
 * hears of a moment later. */
void jd__failure_exit_await_notification(double seconds);

/* True on the thread of the callback. Threads: any. */
bool jd__failure_exit_is_callback(void);

/* jd_shutdown begins (true) and ends: see jd__failure_exit_begin. */
void jd__failure_exit_set_leaving(bool is_leaving);

/* Forgets report and callback: jd is initialised anew. A process that is
 * being ended is still ended. */
void jd__failure_exit_reset(void);

/*
 * Is called when the job has failed, at the same time as the waits of this
 * process end, on whichever thread hears of it: it must not wait. For what
 * waits elsewhere than here, in a library of its own. One of the process, that
 * stays.
 */
void jd__failure_exit_set_hook(void (*hook)(void));

/* The callback of jd_on_peer_failure; NULL: none. */
void jd__failure_exit_set_callback(jd_peer_failure_f callback, void *arg);

#endif

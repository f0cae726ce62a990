/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * progress.h - what this process is doing, in a word: the last operation that
 * it entered, its number, and whether it has come out. Operations note it (10
 * ns for both calls); the background thread reads it and sends it with its
 * heartbeats, so that a process that is alive but stuck can be seen.
 *
 *     jd__progress_enter("jd_psum");
 *     ...
 *     jd__progress_leave();
 *
 * One word per process: of several threads inside, the last that entered
 * gives the name, and the process is inside until all have come out. What an
 * operation calls of others counts as the operation. Threads: any.
 */
#ifndef BASE_PROGRESS_H
#define BASE_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct jd_progress {
    const char *operation; /* NULL: nothing yet */
    uint64_t number;       /* operations entered so far */
    bool inside;
    double since; /* jd__clock_now() when this was first seen so */
};

/* operation is a text that stays for ever. */
void jd__progress_enter(const char *operation);
void jd__progress_leave(void);

/* No other thread than the calling one has entered an operation so far: while
 * it waits, this process does nothing that others wait for. */
bool jd__progress_is_only_thread(void);

/* What it is now. since is as exact as the samples are frequent. One thread
 * at a time. */
void jd__progress_sample(struct jd_progress *ret_progress);

#endif

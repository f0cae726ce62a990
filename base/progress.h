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

/* Of one thread. */
struct jd_progress_thread {
    int depth;          /* operations that it is in, one within another */
    const void *caller; /* where the program calls jd; NULL: not noted */
    const void *given;  /* jd_call_site(): stands for the next; or NULL */
};
extern _Thread_local struct jd_progress_thread jd__progress_thread
    __attribute__((tls_model("initial-exec")));

/* The begin of each public call that may wait: the place in the program that it
 * will return to. What an operation calls of others is not the program's. Two
 * instructions or three. */
#define JD_NOTE_CALLER() jd__progress_note_caller(__builtin_return_address(0))
static inline void jd__progress_note_caller(const void *caller)
{
    if (jd__progress_thread.depth == 0)
        jd__progress_thread.caller =
            jd__progress_thread.given ? jd__progress_thread.given : caller;
}

/* operation is a text that stays for ever. Returns the operation's number in
 * the process, from 1; 0 within another. */
uint64_t jd__progress_enter(const char *operation);
/* True where it was no operation within another. */
bool jd__progress_leave(void);

/* What it is now. since is as exact as the samples are frequent. One thread
 * at a time. */
void jd__progress_sample(struct jd_progress *ret_progress);

#endif

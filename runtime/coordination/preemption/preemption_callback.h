/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * preemption_callback.h - the callback of jd_on_preemption and the thread that
 * runs it: the background thread must not run user code, and in a world of
 * one there is none.
 *
 *     jd__preemption_callback_set(callback, arg);
 *     jd__preemption_callback_due();     a round begins: it runs, once
 *     jd__preemption_callback_stop(clock);
 *
 * The thread blocks all signals while it waits, and has the mask of the
 * thread that called set while it runs the callback. No lock is held then.
 * Threads: any, where nothing else is said.
 */
#ifndef RUNTIME_COORDINATION_PREEMPTION_PREEMPTION_CALLBACK_H
#define RUNTIME_COORDINATION_PREEMPTION_PREEMPTION_CALLBACK_H

#include "base/status.h"

struct jd_clock;

/*
 * Starts the thread where there is none. Where a callback is due already it
 * runs now. NULL: none any more; one that runs goes on.
 * Returns JD_OK; RESOURCE_EXHAUSTED for the thread.
 */
jd_status jd__preemption_callback_set(void (*callback)(void *arg), void *arg);

/* May be called in a signal handler. */
void jd__preemption_callback_due(void);

/* The round is over: what has not run yet does not run any more. */
void jd__preemption_callback_forget(void);

/*
 * Ends the thread. Waits at most 30 s of the clock (NULL: the machine's) for a
 * callback that runs, then warns and leaves it to itself; called from the
 * callback it waits for nothing.
 */
void jd__preemption_callback_stop(const struct jd_clock *clock);

#endif

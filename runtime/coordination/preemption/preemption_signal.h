/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * preemption_signal.h - the handler of the preemption signal.
 *
 *     jd__preemption_signal_parse("USR1", &number);
 *     jd__preemption_signal_catch(number, notify);     notify() runs in the
 * handler
 *     ...
 *     jd__preemption_signal_rearm();                   the program has dealt
 * with it
 *     ...
 *     jd__preemption_signal_release();                 from now on it is passed
 * on
 *
 * The first signal calls notify() and then the handler that was there before;
 * a second one before jd__preemption_signal_rearm() ends the process, as the
 * signal's default action does, but not within a second: some senders send each
 * signal twice, timeout(1) among them. Once installed the handler stays, for a
 * program may have put its own on top of it. After
 * jd__preemption_signal_release(), and in a forked child, it is as if it were
 * not there: what was there before happens.
 *
 * Threads: catch and release one at a time; the rest any.
 */
#ifndef RUNTIME_COORDINATION_PREEMPTION_PREEMPTION_SIGNAL_H
#define RUNTIME_COORDINATION_PREEMPTION_PREEMPTION_SIGNAL_H

#include "base/status.h"

/*
 * "TERM", "SIGTERM", "15": a signal that a program may catch and that says
 * nothing about the program itself.
 * Returns JD_OK; INVALID_ARGUMENT naming JD_PREEMPTION_SIGNAL and those.
 */
jd_status jd__preemption_signal_parse(const char *text, int *ret_number);

/* "SIGTERM"; of the numbers that jd__preemption_signal_parse() gives. */
const char *jd__preemption_signal_name(int number);

/*
 * notify is async-signal-safe.
 * Returns JD_OK; INTERNAL where sigaction() fails.
 */
jd_status jd__preemption_signal_catch(int number, void (*notify)(void));

/*
 * The round that is over began elsewhere, and this process has not had the
 * signal: launchers send it to all hosts, and one that comes late, within some
 * seconds, is of that round and does nothing. Nothing where it has had it.
 */
void jd__preemption_signal_expect_copy(void);

/* The next signal is a first one again. */
void jd__preemption_signal_rearm(void);

void jd__preemption_signal_release(void);

#endif

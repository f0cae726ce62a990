/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stack_signal.h - the stack of the thread that has called jd last, taken by a
 * signal to it (JD_STACK_SIGNAL): for hosts on which no tool may read it.
 *
 *     jd__stack_signal_parse("USR2", &number);
 *     jd__stack_signal_open(number);
 *     char *text = jd__stack_signal_take();        from a thread of its own
 *     jd__stack_signal_close();
 *
 * The handler writes addresses into memory that is there before; what functions
 * and lines they are is found out afterwards, by who has asked. A call that the
 * signal interrupts goes on (SA_RESTART), but for those that no handler lets go
 * on: sleep(), nanosleep(), poll(), select() and their kind return EINTR.
 */
#ifndef RUNTIME_COORDINATION_CLIENT_STACK_SIGNAL_H
#define RUNTIME_COORDINATION_CLIENT_STACK_SIGNAL_H

#include "base/status.h"

/*
 * "USR1", "SIGUSR1", "RTMIN+3", or a number: a signal that a program may catch
 * and that neither ends programs in order nor says that they are broken.
 * Returns: JD_OK; INVALID_ARGUMENT naming JD_STACK_SIGNAL and those.
 */
jd_status jd__stack_signal_parse(const char *text, int *ret_number);

/* Where the program has a handler for it that is said, once, and nothing is
 * taken. The calling thread counts as one that has called jd. Once more: the
 * same. */
void jd__stack_signal_open(int number);

/* What was there before is there again, unless the program has put its own on
 * top. A signal that is still on its way ends nobody. */
void jd__stack_signal_close(void);

/*
 * The stack, with a first line that says what it is, for free(); NULL: *ret_why
 * says why there is none, and is valid for ever. Blocks: 2 s at most until the
 * thread has taken the signal, and some ms for each line. Threads: any; one
 * after the other.
 */
char *jd__stack_signal_take(const char **ret_why);

#endif

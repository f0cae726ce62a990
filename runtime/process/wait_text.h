/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wait_text.h - what a wait that lasts says of those that have not come: who
 * they are, what of them can be seen on this host, what they do instead. A part
 * of wait.h, for wait.c.
 */
#ifndef RUNTIME_PROCESS_WAIT_TEXT_H
#define RUNTIME_PROCESS_WAIT_TEXT_H

#include "runtime/process/wait.h"

/* The processes that have not come, and the members of a communicator where
 * they are to be named; both sorted. */
struct jd_missing {
    int *processes;
    int count;
    struct jd_wait_end *members;
    int num_members;
    char *note; /* what else is known of them, malloc'ed; NULL: nothing */
};

/* The process's pid means something here. */
bool jd__wait_sees(const struct jd_wait *wait, int process);
/* It is seen, and neither stopped nor ended. */
bool jd__wait_sees_running(const struct jd_wait *wait, int process);
/* How many of them are seen, and stopped or ended. */
int jd__wait_sees_gone(const struct jd_wait *wait,
                       const struct jd_missing *missing);

/* The sentence about the wait, malloc'ed; NULL without memory. next: those
 * whose messages are missing, because the missing have not come. May ask the
 * service, for at most a second. */
char *jd__wait_describe(const struct jd_wait *wait,
                        const struct jd_missing *missing,
                        const struct jd_missing *next, double waited);

/* What follows it: where in the program this process waits, and, as far as it
 * can be read on this host, what those did last that are waited for, but for
 * what said has already. malloc'ed; NULL without memory. */
char *jd__wait_describe_calls(const struct jd_missing *missing,
                              const char *said);

#endif

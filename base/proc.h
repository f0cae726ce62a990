/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * proc.h - a process of this host, as /proc shows it: for sentences about
 * those who are late.
 *
 *     if (jd__proc_state(pid) == 'T')
 *         jd__proc_print_state(out, pid);         "is stopped (kill -CONT 77)"
 *
 * Threads: any.
 */
#ifndef BASE_PROC_H
#define BASE_PROC_H

#include "base/env.h"

#include <stdio.h>
#include <sys/types.h>

/* Reads a small file of /proc as text; returns its length, -1 where it
 * cannot. */
ssize_t jd__proc_read(const char *path, char *text, size_t size);

/* The state of a process: 'R', 'S', 'T' (stopped), 't' (held by a debugger),
 * 'Z', ... as in /proc/PID/stat; 0 where there is none of that number. One that
 * a tool of its own holds, as jd's reader of its stack does for a moment, is
 * not stopped: 'S'. */
char jd__proc_state(int pid);

/* The process that has started it, or has taken it over; 0 where there is none
 * of that number. */
int jd__proc_parent(int pid);

/* What the state means, for a sentence: "is stopped (kill -CONT 77)", "is held
 * by gdb (pid 78)". */
void jd__proc_print_state(FILE *out, int pid);

/* The variables that a process was started with, as /proc/PID/environ shows
 * them; NULL where they cannot be read.
 * Owns: the caller destroys it. */
struct jd_env *jd__proc_environment(int pid);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * process_exit.h - the end of a process at once, whatever its threads are in:
 * no exit handler runs, and what it has printed is not lost.
 */
#ifndef BASE_PROCESS_EXIT_H
#define BASE_PROCESS_EXIT_H

#include "base/status.h"

/* Flushes stdout and stderr, each unless a thread holds it. */
void jd__process_exit_flush(void);

/* The same, then _exit(code). */
JD_NORETURN void jd__process_exit_now(int code);

/*
 * The same a moment later, for what others end by too: when the first of them
 * is gone, a launcher may kill the rest at once, before the slower ones have
 * said what they have to say (Open MPI sleeps before it sends SIGTERM and
 * SIGKILL, and every process that ends wakes it).
 */
JD_NORETURN void jd__process_exit_together(int code);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* process_exit.c - the end of a process at once. */
#include "base/process_exit.h"
#include "base/clock.h"
#include "base/litter.h"

#include <stdio.h>
#include <unistd.h>

#define TOGETHER_SECONDS 0.1

static void flush_unless_held(FILE *file)
{
    if (ftrylockfile(file) != 0)
        return;
    fflush_unlocked(file);
    funlockfile(file);
}

void jd__process_exit_flush(void)
{
    flush_unless_held(stdout);
    flush_unless_held(stderr);
}

void jd__process_exit_now(int code)
{
    jd__process_exit_flush();
    jd__litter_remove();
    _exit(code);
}

void jd__process_exit_together(int code)
{
    struct timespec left = jd__clock_timespec(TOGETHER_SECONDS);
    jd__process_exit_flush();
    while (nanosleep(&left, &left) != 0)
        continue;
    jd__process_exit_now(code);
}

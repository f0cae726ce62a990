/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * site.h - a place in the program, in words: "step+0x4c (train+0x14a3)".
 *
 *     struct jd_site_text text = jd__site_of(caller);
 *     fprintf(out, ", called at %s", text.text);
 *
 * A symbol is one that the program shows to others: functions of a program
 * that was not linked with -rdynamic have none, and the place in the file
 * alone is said; addr2line makes a line of it. Threads: any.
 */
#ifndef RUNTIME_RECORDER_SITE_H
#define RUNTIME_RECORDER_SITE_H

#include "runtime/recorder/ring.h"

struct jd_site_text {
    char text[160]; /* "": not known; cut where it does not fit */
};

/* An address of this process. */
struct jd_site_text jd__site_of(const void *address);

/* Where the program has made the thread's call of jd. */
struct jd_site_text jd__site_of_caller(void);

/* One that a ring has, of this process or another: a symbol is found where
 * this process has the same file. */
struct jd_site_text jd__site_in(const struct jd_ring *ring, uint64_t address);

#endif

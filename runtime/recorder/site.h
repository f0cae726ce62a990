/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * site.h - a place in the program, in words: "train.c:120 (step+0x4c)".
 *
 *     struct jd_site_text text = jd__site_of(caller);
 *     fprintf(out, ", called at %s", text.text);
 *
 * Lines and static functions are read by lines.h. Without them a symbol is one
 * that the program shows to others (-rdynamic), "step+0x4c (train+0x14a3)"; a
 * function without one has its place in the file alone, "train+0x14a3", of
 * which addr2line makes a line. A named site (named_sites.h) is its text.
 * Blocks: for jd__lines_timeout() at most.
 * Threads: any.
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

/* Adds to the thread's sentence of a failure where two processes call, where
 * both places are known ("": not): "; process 1 calls at train.c:143, process 0
 * at train.c:120". */
void jd__site_fail_both(jd_status status, int one, const char *one_site,
                        int other, const char *other_site);

/* Where jd is initialised: JD_CHECK_SITES. Off until then. */
void jd__site_configure(bool compares);

/*
 * A digest of the place where the program has made the thread's call, the same
 * in each process of the program, of 32 bits; 0 where places are not compared,
 * or it is not known. Some instructions where they are not.
 */
uint32_t jd__site_compared(void);

/* One that a ring has, of this process or another: a symbol is found where
 * this process has the same file. */
struct jd_site_text jd__site_in(const struct jd_ring *ring, uint64_t address);

/* The same without looking for a line or a function: "train+0x14a3". */
struct jd_site_text jd__site_in_file(const struct jd_ring *ring,
                                     uint64_t address);

#endif

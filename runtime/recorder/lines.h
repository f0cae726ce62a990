/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lines.h - the line of the program's source that an address lies in, and the
 * function, be it static: what debugging information says.
 *
 *     struct jd_line line;
 *     if (jd__lines_find(caller, &line) && line.number)
 *         fprintf(out, "%s:%d", line.file, line.number);
 *
 * elfutils' libdw reads it, which is loaded at the first question: programs
 * that do not fail neither link nor load it. Without it, where the file is not
 * the one that was started (build ids differ), or where it takes longer than
 * jd__lines_timeout() (a disk that does not answer, a loader that another
 * thread is in), nothing is found: a sentence waits no longer for its lines.
 * Threads: any.
 */
#ifndef RUNTIME_RECORDER_LINES_H
#define RUNTIME_RECORDER_LINES_H

#include <stdbool.h>
#include <stdint.h>

/* JD_LINES_TIMEOUT, in seconds; 0.6 until then. One thread; nobody is looking
 * for a line. */
void jd__lines_configure(double seconds);
double jd__lines_timeout(void);

struct jd_line {
    char function[80]; /* "": not known */
    uint64_t offset;   /* of the address in it */
    char file[64];     /* its name without folders; "": not known */
    int number;        /* 0: not known */
};

/* The address that a call returns to: its line is that of the call. False
 * where neither function nor line is known. */
bool jd__lines_find(const void *address, struct jd_line *ret_line);

#endif

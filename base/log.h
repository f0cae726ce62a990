/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * log.h - jd's own lines on standard error, one format:
 *
 *     jd 3/8 host:pid warning text
 *
 * For code that has no caller to return a status to (the watchdog, exit
 * handlers, notices); a function that returns a status does not log. Each
 * line is one write(2), so that lines of many processes stay whole.
 * Threads: any.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdbool.h>
#include <stddef.h>

enum jd_log_level {
    JD_LOG_ERROR,
    JD_LOG_WARNING,
    JD_LOG_INFO,
    JD_LOG_DEBUG,
};

/* Who speaks from now on; -1 is "not known yet" and printed as "-". */
void jd__log_set_identity(int process_index, int process_count);

/* The least important level that is printed; its name as in JD_LOG. */
void jd__log_set_level(const char *name);
bool jd__log_enabled(enum jd_log_level level);

__attribute__((format(printf, 2, 3))) void jd__log(enum jd_log_level level,
                                                   const char *format, ...);

/* "3/8 host:pid", as in the line; for sentences that are printed elsewhere. */
void jd__log_identity(char *text, size_t size);

#endif

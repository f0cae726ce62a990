/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * status.h - how a failure gets its sentence.
 *
 *     return jd_fail(JD_INVALID_ARGUMENT, "jd_psum: count is %zu, but ...", n);
 *
 * The function that finds the failure writes the sentence; callers only pass
 * the status on. Nothing here logs.
 */
#ifndef BASE_STATUS_H
#define BASE_STATUS_H

#include "jd_status.h"

#include <stddef.h>

/*
 * Makes the sentence the calling thread's last failure and returns status,
 * so that "explain and fail" is one line. The sentence may be of any length.
 * Threads: any.
 */
__attribute__((format(printf, 2, 3))) jd_status
jd_fail(jd_status status, const char *format, ...);

/*
 * Puts the text before the calling thread's sentence ("jd_mesh_create: ")
 * and returns status: for a caller that knows more than the one who failed.
 */
__attribute__((format(printf, 2, 3))) jd_status
jd__fail_prefix(jd_status status, const char *format, ...);

/* The same behind it. */
__attribute__((format(printf, 2, 3))) jd_status
jd__fail_suffix(jd_status status, const char *format, ...);

/*
 * Around a call of the program's own function, so that its failure does not
 * get the sentence of another:
 *
 *     char *before = jd__message_take();
 *     status = body(...);
 *     ... jd_error_message(), where it has failed: its own, or "" ...
 *     jd__message_give_back(before);
 *
 * Takes the thread's sentence away; gives it back unless there is a later one.
 * No allocation.
 */
char *jd__message_take(void);
void jd__message_give_back(char *before);

/* Gives it back in the place of a later one. */
void jd__message_put_back(char *before);

/* RESOURCE_EXHAUSTED with the operation and the bytes that were asked for. */
jd_status jd__fail_no_memory(const char *operation, size_t bytes);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * failure.h - what broke a communicator, kept so that each later call on it
 * can say so at once instead of waiting for members that are out of step.
 *
 *     if (jd__failure_check(&f, "jd_psum", where) != JD_OK) return ...;
 *     return jd__failure_note(&f, status);
 */
#ifndef COLLECTIVES_MESH_FAILURE_H
#define COLLECTIVES_MESH_FAILURE_H

#include "base/status.h"

#include <stdbool.h>

/* All zero: nothing has failed. */
struct jd_failure {
    bool happened;
    char *sentence; /* NULL where there was no memory for it */
};

/* JD_OK, or ABORTED with what failed first. where follows the operation:
 * " over axis \"data\"", or "". */
jd_status jd__failure_check(const struct jd_failure *failure,
                            const char *operation, const char *where);

/* Remembers the thread's last sentence if status is a failure after which the
 * members are out of step. Returns status. */
jd_status jd__failure_note(struct jd_failure *failure, jd_status status);

void jd__failure_finish(struct jd_failure *failure);

#endif

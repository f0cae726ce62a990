/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * body_failure.h - the first body of jd_shard_map() that failed: what ends the
 * bodies of the mesh's other devices.
 *
 *     if (jd__body_failure_set(&f, status, "...")) ... wake the others ...
 *     ... in another body's collective:
 *     status = jd__body_failure_check(&f, "jd_psum", detail);
 *
 * Threads: any, but for finish.
 */
#ifndef COLLECTIVES_MESH_BODY_FAILURE_H
#define COLLECTIVES_MESH_BODY_FAILURE_H

#include "base/status.h"

#include <stdatomic.h>
#include <stdbool.h>

/* All zero: nothing has failed. What is not atomic is written before
 * `happened` is. */
struct jd_body_failure {
    atomic_bool is_claimed;
    atomic_bool happened;
    jd_status status;
    char *sentence; /* NULL where there was no memory for it */
};

/* Keeps it, where it is the first; whether it was. */
bool jd__body_failure_set(struct jd_body_failure *failure, jd_status status,
                          const char *sentence);

/* JD_OK, or ABORTED with the failure: the operation is not begun. where
 * follows the operation: " over axis \"data\"". */
jd_status jd__body_failure_check(const struct jd_body_failure *failure,
                                 const char *operation, const char *where);

/* Gives ABORTED of an operation that was under way the failure for its
 * sentence, where it has happened. Returns status. */
jd_status jd__body_failure_explain(const struct jd_body_failure *failure,
                                   const char *operation, const char *where,
                                   jd_status status);

void jd__body_failure_finish(struct jd_body_failure *failure);

#endif

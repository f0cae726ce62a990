/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * forked.h - a forked child of a process that uses jd: it has a copy of all
 * that the parent has with others (places in shared memory, connections,
 * MPI's), and would be taken for the parent.
 *
 *     jd__forked_watch();                       once jd is in use
 *     ...
 *     status = jd__forked_check("jd_psum");     in each public call
 *
 * Threads: any.
 */
#ifndef BASE_FORKED_H
#define BASE_FORKED_H

#include "base/status.h"

#include <stdbool.h>
#include <sys/types.h>

/* Becomes true in children alone, before they run. */
extern bool jd__forked_is_child;

/* Notes in children that are forked from now on that they are ones. Not in
 * those of vfork() and posix_spawn(), which only exec. */
void jd__forked_watch(void);

/* FAILED_PRECONDITION naming the operation and both processes. */
jd_status jd__forked_fail(const char *operation, pid_t parent);
jd_status jd__forked_refuse(const char *operation);

/* A load and a branch: it is on the path of each collective. */
static inline jd_status jd__forked_check(const char *operation)
{
    return jd__forked_is_child ? jd__forked_refuse(operation) : JD_OK;
}

#endif

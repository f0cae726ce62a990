/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * late_calls.h - calls of NCCL that wait inside NCCL, where no deadline of
 * jd's ends them, and who looks after them.
 *
 *     jd__late_caller_add(&caller, look, arg);
 *     ...
 *     jd__late_caller_begin(&caller);
 *     result = ncclAllReduce(...);
 *     jd__late_caller_end(&caller);
 *     ...
 *     jd__late_caller_remove(&caller);
 *
 * A thread, "jd-nccl-late", looks ten times a second at who is in a call; where
 * one has been in the same call for two looks it calls look(), which may have
 * the communicator aborted, so that NCCL lets the call go. look() is not called
 * any more once jd__late_caller_end() has returned. A call that does not last
 * costs two atomic writes and no clock.
 *
 * Threads: begin and end are one thread's at a time; the others: any.
 */
#ifndef COLLECTIVES_CUDA_LATE_CALLS_H
#define COLLECTIVES_CUDA_LATE_CALLS_H

#include "collectives/cuda/looker.h"

#include <stdatomic.h>

/* is_first: of this call. On the looking thread. */
typedef void (*jd_late_look_f)(void *arg, bool is_first);

struct jd_late_caller {
    struct jd_looked looked;
    atomic_uint state; /* the number of its call, and bits; late_calls.c's */
    jd_late_look_f look;
    void *arg;
    /* The looking thread's: */
    unsigned seen; /* the call that it is in; 0: none */
    bool is_looked_at;
};

/* False where there is no thread: then nobody looks. Of memory that is zero. */
bool jd__late_caller_add(struct jd_late_caller *caller, jd_late_look_f look,
                         void *arg);

/* One that was not added is none. */
void jd__late_caller_remove(struct jd_late_caller *caller);

void jd__late_caller_begin(struct jd_late_caller *caller);

/* Blocks: while look() runs. */
void jd__late_caller_end(struct jd_late_caller *caller);

#endif

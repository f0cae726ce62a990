/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * comm_cache.h - the ends of communicators that this process has: one for each
 * of its devices and each ordered set of devices, shared by all meshes that use
 * it; another for what is started there, and for each other choice of NCCL's
 * options.
 *
 *     struct jd_cached_comm *end;
 *     status = jd__comm_cache_get(platform, &spec, &end);
 *     if (jd__comm_cache_enter(end, "jd_psum", detail) == JD_OK) {
 *         status = jd__comm_cache_make(end, &spec);        the first time
 *         ... platform->all_reduce(end->comm, ...) ...
 *         status = jd__comm_cache_leave(end, status);
 *     }
 *     jd__comm_cache_put(end);
 *
 * Which ends there are, and how many users each has, is under one lock that is
 * never held while anybody waits: several threads make communicators at the
 * same time. What failed on a communicator is remembered at its end.
 */
#ifndef COLLECTIVES_MESH_COMM_CACHE_H
#define COLLECTIVES_MESH_COMM_CACHE_H

#include "collectives/mesh/failure.h"
#include "collectives/platform/platform.h"

#include <stdatomic.h>

struct jd_cached_comm {
    const struct jd_platform *platform;
    struct jd_comm *_Atomic comm; /* NULL until it is made */
    atomic_bool is_busy;          /* a thread is between enter and leave */
    struct jd_failure failure;    /* of the thread that is */

    /* Under the lock. */
    struct jd_cached_comm *next;
    uint64_t references;

    /* What it is found by. */
    uint64_t world;
    uint64_t digest;
    int64_t device;
    bool is_started;
    struct jd_nccl_options nccl;
    int size;
    int64_t members[]; /* ids, in order */
};

/*
 * The end of the spec's device in the communicator of the spec's members; the
 * communicator itself may not be made yet. Each one that is got is put once.
 * Threads: any. Returns: JD_OK; RESOURCE_EXHAUSTED naming the spec's operation.
 */
jd_status jd__comm_cache_get(const struct jd_platform *platform,
                             const struct jd_comm_spec *spec,
                             struct jd_cached_comm **ret_end);

/* The last to put destroys the communicator. NULL is allowed. Never waits for
 * other processes. Threads: any. */
void jd__comm_cache_put(struct jd_cached_comm *end);

/*
 * Begins the thread's use of the communicator; where follows the operation in
 * sentences.
 * Returns: JD_OK; ABORTED with what failed before; FAILED_PRECONDITION where
 *   another thread is using it. Only JD_OK is left again.
 */
jd_status jd__comm_cache_enter(struct jd_cached_comm *end,
                               const char *operation, const char *where);

/* Makes the communicator where there is none yet, with the other members.
 * Between enter and leave. */
jd_status jd__comm_cache_make(struct jd_cached_comm *end,
                              const struct jd_comm_spec *spec);

/* Remembers a failure after which the members are out of step; returns
 * status. */
jd_status jd__comm_cache_leave(struct jd_cached_comm *end, jd_status status);

/* The waits on the communicator, where it is made, return ABORTED, on all its
 * members. end may be NULL. Threads: any that knows that it is not put. */
void jd__comm_cache_abort(struct jd_cached_comm *end);

/* How many ends there are, for tests. */
int jd__comm_cache_count(void);

#endif

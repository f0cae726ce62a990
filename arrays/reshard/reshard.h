/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * reshard.h - moves the value of one array into another of the same shape that
 * lies otherwise.
 *
 *     struct jd_reshard r = { .operation = "jd_array_from_one", .from = from,
 *                             .sharding = sharding, .to = to };
 *     status = jd__reshard_run(&r, JD_OK);
 *
 * Collective: the processes of both shardings.
 * Threads: as the calls.
 */
#ifndef ARRAYS_RESHARD_RESHARD_H
#define ARRAYS_RESHARD_RESHARD_H

#include "arrays/array/array.h"

/* One call. */
struct jd_reshard {
    const char *operation;
    jd_array *from;
    const jd_sharding *sharding;
    bool is_donated;
    bool is_from_process; /* from is one block, in memory of the process */
    jd_array *to;         /* without data at first */
    size_t memory;        /* that may be used of each device: set by the run */
};

/*
 * status is with which this process comes: what it has failed in alone, so
 * that nobody waits for it. to has its blocks then; after a failure they are
 * undefined.
 * Returns: as jd_array_reshard().
 */
jd_status jd__reshard_run(struct jd_reshard *r, jd_status status);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * checkpoint_plan.h - who writes which block: each process works it out alone
 * from the shardings, and all come to the same.
 *
 *     struct jd_save_plan plan;
 *     status = jd__checkpoint_plan_make(names, arrays, n, num_processes,
 * &plan); int place = plan.writers[i][block];
 *     jd__checkpoint_plan_finish(&plan);
 *
 * Threads: one plan, one thread.
 */
#ifndef ARRAYS_CHECKPOINT_CHECKPOINT_PLAN_H
#define ARRAYS_CHECKPOINT_CHECKPOINT_PLAN_H

#include "arrays/array/array.h"
#include "arrays/checkpoint/checkpoint_index.h"

struct jd_save_plan {
    struct jd_index index; /* of all arrays, its checksums to be filled in */
    int **writers; /* of each array's blocks: the place, in its sharding's
                    * mesh, of the device whose copy is written */
};

/* The arrays are checked. Replicas share the work: of a block's copies the one
 * is written whose process has the fewest bytes to write so far.
 * Returns: JD_OK; INVALID_ARGUMENT; RESOURCE_EXHAUSTED. */
jd_status jd__checkpoint_plan_make(const char *const *names,
                                   jd_array *const *arrays, size_t n,
                                   int num_processes,
                                   struct jd_save_plan *ret_plan);
void jd__checkpoint_plan_finish(struct jd_save_plan *plan);

/* What is saved, malloc'ed, for the comparison between processes; NULL where
 * memory ends. */
char *jd__checkpoint_plan_print(const struct jd_save_plan *plan,
                                const char *dir, jd_array *const *arrays);

#endif

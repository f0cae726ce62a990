/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nest.h - rows of bytes in loops around each other: what a box of an array is.
 *
 *     struct jd_nest nest = { rows, num_loops, { ... } };
 *     size_t at[JD_NEST_LOOPS] = { 0 };
 *     do
 *         jd__rows_copy(&nest.rows, false);
 *     while (jd__nest_next(&nest, at));
 *
 * Threads: any.
 */
#ifndef COLLECTIVES_KERNELS_NEST_H
#define COLLECTIVES_KERNELS_NEST_H

#include "collectives/kernels/rows.h"

/* An array's dimensions but for that of the rows. */
enum { JD_NEST_LOOPS = 7 };

struct jd_nest_loop {
    size_t count;
    size_t to_step, from_step; /* bytes */
};

/* The innermost loop comes first. */
struct jd_nest {
    struct jd_rows rows;
    int num_loops;
    struct jd_nest_loop loops[JD_NEST_LOOPS];
};

/* Steps rows on to where the next are; false at the end, and they are back at
 * the first. at, all 0 at first, is this function's. */
bool jd__nest_next(struct jd_nest *nest, size_t *at);

#endif

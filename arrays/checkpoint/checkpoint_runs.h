/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * checkpoint_runs.h - what two boxes of an array share, as runs of elements
 * that are neighbours in both, in the order of the first box's memory.
 *
 *     struct jd_runs runs;
 *     if (jd__checkpoint_runs_begin(block, shard, ndim, element, &runs))
 *         for (... chunks [begin, end) of the block's elements, ascending ...)
 *             if (jd__checkpoint_runs_reach(&runs, end))
 *                 jd__checkpoint_runs_take(&runs, begin, end, chunk,
 * shard_data);
 *
 * Threads: one object, one thread.
 */
#ifndef ARRAYS_CHECKPOINT_CHECKPOINT_RUNS_H
#define ARRAYS_CHECKPOINT_CHECKPOINT_RUNS_H

#include "jd_array.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct jd_runs {
    size_t element;
    int ndim; /* dimensions that are walked through; the rest is in a run */
    int64_t extent[JD_MAX_NDIM];
    int64_t at[JD_MAX_NDIM];
    int64_t from_stride[JD_MAX_NDIM]; /* elements */
    int64_t to_stride[JD_MAX_NDIM];
    int64_t from, to; /* where the rest of this run is in both boxes */
    int64_t length;   /* of each run */
    int64_t left;     /* of this one; 0: all were taken */
};

/* False where the boxes share nothing. */
bool jd__checkpoint_runs_begin(const jd_range *from, const jd_range *to,
                               int ndim, size_t element,
                               struct jd_runs *ret_runs);

/* Whether something that was not taken is before that element. */
bool jd__checkpoint_runs_reach(const struct jd_runs *runs, int64_t end);

/* Whether the elements are just what comes next, in one run. */
bool jd__checkpoint_runs_cover(const struct jd_runs *runs, int64_t begin,
                               int64_t end);

/* Where the next element belongs in the second box's memory. */
char *jd__checkpoint_runs_place(const struct jd_runs *runs, char *to);

/* Copies what the boxes share of elements [begin, end) of the first; with a
 * NULL chunk it is there already. */
void jd__checkpoint_runs_take(struct jd_runs *runs, int64_t begin, int64_t end,
                              const char *chunk, char *to);

#endif

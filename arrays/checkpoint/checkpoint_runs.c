/* SPDX-License-Identifier: BSD-3-Clause */
/* checkpoint_runs.c - an odometer over the dimensions that are no run. */
#include "arrays/checkpoint/checkpoint_runs.h"

#include "arrays/array/array.h"

#include <string.h>

static int64_t length_of(jd_range range)
{
    return range.end - range.begin;
}

/* Strides, and where the shared elements begin. */
static void set_strides(const jd_range *box, const jd_range *shared, int ndim,
                        int64_t *strides, int64_t *ret_begin)
{
    int64_t stride = 1, begin = 0;
    for (int axis = ndim - 1; axis >= 0; axis--) {
        strides[axis] = stride;
        begin += (shared[axis].begin - box[axis].begin) * stride;
        stride *= length_of(box[axis]);
    }
    *ret_begin = begin;
}

/* A run goes on to the next dimension while it is whole in both boxes. */
static void set_runs(struct jd_runs *runs, const jd_range *from,
                     const jd_range *to, int ndim)
{
    bool is_whole = true;
    runs->length = 1;
    runs->ndim = ndim;
    while (is_whole && runs->ndim > 0) {
        int axis = --runs->ndim;
        runs->length *= runs->extent[axis];
        is_whole = runs->extent[axis] == length_of(from[axis]) &&
                   runs->extent[axis] == length_of(to[axis]);
    }
    runs->left = runs->length;
}

bool jd__checkpoint_runs_begin(const jd_range *from, const jd_range *to,
                               int ndim, size_t element,
                               struct jd_runs *ret_runs)
{
    struct jd_runs runs = { .element = element };
    jd_range shared[JD_MAX_NDIM];
    if (!jd__box_intersect(from, to, ndim, shared))
        return false;
    for (int axis = 0; axis < ndim; axis++)
        runs.extent[axis] = length_of(shared[axis]);
    set_strides(from, shared, ndim, runs.from_stride, &runs.from);
    set_strides(to, shared, ndim, runs.to_stride, &runs.to);
    set_runs(&runs, from, to, ndim);
    *ret_runs = runs;
    return true;
}

bool jd__checkpoint_runs_reach(const struct jd_runs *runs, int64_t end)
{
    return runs->left > 0 && runs->from < end;
}

bool jd__checkpoint_runs_cover(const struct jd_runs *runs, int64_t begin,
                               int64_t end)
{
    return runs->from == begin && runs->left >= end - begin;
}

char *jd__checkpoint_runs_place(const struct jd_runs *runs, char *to)
{
    return to + (size_t)runs->to * runs->element;
}

/* To the next run's begin, from this one's end. */
static void go_on(struct jd_runs *runs)
{
    int axis = runs->ndim - 1;
    runs->from -= runs->length;
    runs->to -= runs->length;
    for (; axis >= 0 && runs->at[axis] == runs->extent[axis] - 1; axis--) {
        runs->from -= runs->at[axis] * runs->from_stride[axis];
        runs->to -= runs->at[axis] * runs->to_stride[axis];
        runs->at[axis] = 0;
    }
    if (axis < 0)
        return;
    runs->at[axis]++;
    runs->from += runs->from_stride[axis];
    runs->to += runs->to_stride[axis];
    runs->left = runs->length;
}

void jd__checkpoint_runs_take(struct jd_runs *runs, int64_t begin, int64_t end,
                              const char *chunk, char *to)
{
    while (jd__checkpoint_runs_reach(runs, end)) {
        int64_t n =
            end - runs->from < runs->left ? end - runs->from : runs->left;
        if (chunk)
            memcpy(jd__checkpoint_runs_place(runs, to),
                   chunk + (size_t)(runs->from - begin) * runs->element,
                   (size_t)n * runs->element);
        runs->from += n;
        runs->to += n;
        runs->left -= n;
        if (runs->left == 0)
            go_on(runs);
    }
}

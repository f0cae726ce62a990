/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * box.c - boxes of arrays: how much is in one, what two of them share, and
 * what is in both copied from one memory to another.
 */
#include "arrays/array/array.h"
#include "collectives/platform/device_memory.h"
#include "collectives/platform/platform.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

int64_t jd__box_count(const jd_range *index, int ndim)
{
    int64_t count = 1;
    for (int d = 0; d < ndim; d++) {
        if (index[d].end <= index[d].begin)
            return 0;
        count *= index[d].end - index[d].begin;
    }
    return count;
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

bool jd__box_intersect(const jd_range *a, const jd_range *b, int ndim,
                       jd_range *ret_index)
{
    for (int d = 0; d < ndim; d++)
        if (earlier(a[d].end, b[d].end) <= later(a[d].begin, b[d].begin))
            return false;
    for (int d = 0; d < ndim; d++) {
        ret_index[d].begin = later(a[d].begin, b[d].begin);
        ret_index[d].end = earlier(a[d].end, b[d].end);
    }
    return true;
}

/* ---- copies ----------------------------------------------------------------
 * A copy is a row of bytes that follow each other on both sides, and loops
 * around it, the innermost first: dimensions that follow on from each other
 * on both sides are one.
 */

struct copy {
    char *to;
    const char *from;
    size_t row; /* bytes */
    int num_loops;
    struct jd_nest_loop loops[JD_MAX_NDIM];
};

static void add_loop(struct copy *copy, struct jd_nest_loop loop)
{
    struct jd_nest_loop *inner =
        copy->num_loops ? &copy->loops[copy->num_loops - 1] : NULL;
    if (loop.count == 1)
        return;
    if (!inner && loop.to_step == copy->row && loop.from_step == copy->row)
        copy->row *= loop.count;
    else if (inner && loop.to_step == inner->to_step * inner->count &&
             loop.from_step == inner->from_step * inner->count)
        inner->count *= loop.count;
    else
        copy->loops[copy->num_loops++] = loop;
}

static void plan_copy(struct copy *copy, const struct jd_box *to,
                      const struct jd_box *from, const jd_range *index)
{
    size_t to_step = to->element, from_step = to_step;
    *copy = (struct copy){ to->data, from->data, to->element, 0, { { 0 } } };
    for (int d = to->ndim - 1; d >= 0; d--) {
        const jd_range *t = &to->origin[d], *f = &from->origin[d];
        size_t count = (size_t)(index[d].end - index[d].begin);
        add_loop(copy, (struct jd_nest_loop){ count, to_step, from_step });
        copy->to += (size_t)(index[d].begin - t->begin) * to_step;
        copy->from += (size_t)(index[d].begin - f->begin) * from_step;
        to_step *= (size_t)(t->end - t->begin);
        from_step *= (size_t)(f->end - f->begin);
    }
}

/* How long the whole of a box's memory is. */
static size_t bytes_of(const struct jd_box *box)
{
    return (size_t)jd__box_count(box->origin, box->ndim) * box->element;
}

/* The innermost loop. */
static struct jd_rows rows_of(const struct copy *copy)
{
    const struct jd_nest_loop one = { 1, copy->row, copy->row };
    const struct jd_nest_loop *loop = copy->num_loops ? copy->loops : &one;
    return (struct jd_rows){
        .to = copy->to,
        .from = copy->from,
        .to_pitch = loop->to_step,
        .from_pitch = loop->from_step,
        .row = copy->row,
        .count = loop->count,
    };
}

/* With those around it. */
static struct jd_nest nest_of(const struct copy *copy)
{
    struct jd_nest nest = { .rows = rows_of(copy) };
    for (int i = 1; i < copy->num_loops; i++)
        nest.loops[nest.num_loops++] = copy->loops[i];
    return nest;
}

static void copy_on_host(struct jd_nest *nest, bool streams)
{
    size_t at[JD_NEST_LOOPS] = { 0 };
    do
        jd__rows_copy(&nest->rows, streams);
    while (jd__nest_next(nest, at));
}

jd_status jd__box_queue(const struct jd_box *to, const struct jd_box *from,
                        const jd_range *index, struct jd_stream *stream)
{
    struct copy copy;
    if (jd__box_count(index, to->ndim) == 0)
        return JD_OK;
    plan_copy(&copy, to, from, index);
    struct jd_nest nest = nest_of(&copy);
    if (jd__device_memory_is_apart(copy.to) ||
        jd__device_memory_is_apart(copy.from))
        return jd__device_memory_copy_nest(&nest, stream);
    copy_on_host(&nest, bytes_of(to) >= JD_STREAMED_BYTES);
    return JD_OK;
}

jd_status jd__box_copy(const struct jd_box *to, const struct jd_box *from,
                       const jd_range *index)
{
    return jd__box_queue(to, from, index, NULL);
}

void jd__box_print(const jd_range *index, int ndim, char *text, size_t size)
{
    size_t used = (size_t)snprintf(text, size, "[");
    for (int axis = 0; axis < ndim && used < size; axis++)
        used += (size_t)snprintf(text + used, size - used,
                                 "%s%" PRId64 ":%" PRId64, axis ? "," : "",
                                 index[axis].begin, index[axis].end);
    if (used < size)
        snprintf(text + used, size - used, "]");
}

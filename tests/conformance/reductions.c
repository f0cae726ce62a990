/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * reductions.c - the operations that compute: their out is rows of elements
 * that are folded from the members' same elements.
 */
#include "operations.h"

void plan_reduction(struct attempt *a)
{
    a->in_count = a->out_count = a->columns = a->count;
    a->rows = 1;
    a->place = 0;
    a->first = a->pitch = 0;
}

static void plan_scatter_rows(struct attempt *a, size_t rows, size_t columns)
{
    size_t members = (size_t)a->span->size, index = (size_t)a->span->index;
    a->rows = rows;
    a->columns = columns;
    a->in_count = rows * members * columns;
    a->out_count = rows * columns;
    a->first = index * columns;
    a->pitch = members * columns;
    a->place = rows == 1 ? -(ptrdiff_t)a->first : NO_PLACE;
}

static void plan_scatter(struct attempt *a)
{
    plan_scatter_rows(a, 1, a->count);
}

static void plan_scatter_2d(struct attempt *a)
{
    size_t rows = 1 + draw(a, 1, 4);
    plan_scatter_rows(a, a->count < rows ? a->count : rows,
                      a->count < rows ? 1 : a->count / rows);
}

#define RUN(name)                                                              \
    static jd_status run_##name(const struct attempt *a)                       \
    {                                                                          \
        return jd_##name(a->span->shard, a->axes, a->in, a->out, a->columns,   \
                         a->dtype);                                            \
    }
RUN(psum)
RUN(pmean)
RUN(pmax)
RUN(pmin)
RUN(pprod)
RUN(pand)
RUN(por)
RUN(pxor)
RUN(psum_scatter)

static jd_status run_psum_scatter_2d(const struct attempt *a)
{
    return jd_psum_scatter_2d(a->span->shard, a->axes, a->in, a->out, a->rows,
                              a->columns, a->dtype);
}

struct fold row_fold(const struct attempt *a, size_t row)
{
    return (struct fold){
        .terms = a->terms,
        .op = a->operation->reduce,
        .ids = a->span->ids,
        .members = a->operation->is_scan ? scan_members(a) : a->span->size,
        .first = a->first + row * a->pitch,
        .count = a->columns,
        .rounds_each_step = a->rounds_each_step,
    };
}

void expect_reduction(const struct attempt *a, char *wanted)
{
    for (size_t row = 0; row < a->rows; row++) {
        struct fold fold = row_fold(a, row);
        fold_write(&fold, wanted + row * a->columns * a->size);
    }
}

#define REDUCTION(id, op, planner)                                             \
    const struct operation operation_##id = {                                  \
        .name = #id,                                                           \
        .call = "jd_" #id,                                                     \
        .reduce = op,                                                          \
        .plan = planner,                                                       \
        .run = run_##id,                                                       \
        .expect = expect_reduction,                                            \
    };
REDUCTION(psum, REDUCE_SUM, plan_reduction)
REDUCTION(pmean, REDUCE_MEAN, plan_reduction)
REDUCTION(pmax, REDUCE_MAX, plan_reduction)
REDUCTION(pmin, REDUCE_MIN, plan_reduction)
REDUCTION(pprod, REDUCE_PROD, plan_reduction)
REDUCTION(pand, REDUCE_AND, plan_reduction)
REDUCTION(por, REDUCE_OR, plan_reduction)
REDUCTION(pxor, REDUCE_XOR, plan_reduction)
REDUCTION(psum_scatter, REDUCE_SUM, plan_scatter)
REDUCTION(psum_scatter_2d, REDUCE_SUM, plan_scatter_2d)

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * extremes.c - the reductions that say where a value was. Their out is that of
 * pmax and pmin; the indices, which no other operation has, are compared here,
 * and one that is wrong ends the job.
 */
#include "operations.h"

#include <stdlib.h>
#include <string.h>

/* What comes with element i of a member: its place among the members, or of a
 * few values, so that some are alike. */
static bool gives_indices(const struct attempt *a, int member)
{
    return draw(a, 16000 + (uint64_t)member_id(a, member), 2);
}

static int64_t given_index(const struct attempt *a, int member, size_t i)
{
    uint64_t which = 17000 + (uint64_t)member_id(a, member) + 64 * i;
    return gives_indices(a, member) ? (int64_t)draw(a, which, 7) - 3 : member;
}

/* The least index of those elements that are the one found. */
static void expect_indices(const struct attempt *a, int64_t *wanted)
{
    char *found = malloc(a->count * a->size + 1);
    char *given = malloc(a->count * a->size + 1);
    expect_reduction(a, found);
    for (size_t i = 0; i < a->count; i++)
        wanted[i] = INT64_MAX;
    for (int k = 0; k < a->span->size; k++) {
        expect_given(a, k, 0, a->count, given);
        for (size_t i = 0; i < a->count; i++) {
            const char *x = given + i * a->size, *y = found + i * a->size;
            bool is_found =
                memcmp(x, y, a->size) == 0 ||
                (is_nan_element(a->dtype, x) && is_nan_element(a->dtype, y));
            int64_t index = given_index(a, k, i);
            if (is_found && index < wanted[i])
                wanted[i] = index;
        }
    }
    free(given);
    free(found);
}

static jd_status check_indices(const struct attempt *a, const int64_t *got)
{
    int64_t *wanted = malloc(a->count * sizeof *wanted + 1);
    size_t i = 0;
    expect_indices(a, wanted);
    while (i < a->count && got[i] == wanted[i])
        i++;
    jd_status status =
        i == a->count
            ? JD_OK
            : jd_fail_with(JD_INTERNAL,
                           "the index of element %zu is %lld, not %lld", i,
                           (long long)got[i], (long long)wanted[i]);
    free(wanted);
    return status;
}

typedef jd_status extreme_f(jd_shard *shard, const char *axes, const void *in,
                            const int64_t *in_index, void *out,
                            int64_t *out_index, size_t count, jd_dtype dtype);
static jd_status run_extreme(const struct attempt *a, extreme_f *call)
{
    bool gives = gives_indices(a, a->span->index);
    int64_t *in = malloc(a->count * sizeof *in + 1);
    int64_t *out = malloc(a->count * sizeof *out + 1);
    int64_t *to = gives && draw(a, 16500, 2) ? in : out;
    for (size_t i = 0; gives && i < a->count; i++)
        in[i] = given_index(a, a->span->index, i);
    jd_status status = call(a->span->shard, a->axes, a->in, gives ? in : NULL,
                            a->out, to, a->count, a->dtype);
    if (status == JD_OK)
        status = check_indices(a, to);
    free(in);
    free(out);
    return status;
}

static jd_status run_pmaxloc(const struct attempt *a)
{
    return run_extreme(a, jd_pmaxloc);
}

static jd_status run_pminloc(const struct attempt *a)
{
    return run_extreme(a, jd_pminloc);
}

#define EXTREME(id, op)                                                        \
    const struct operation operation_##id = {                                  \
        .name = #id,                                                           \
        .call = "jd_" #id,                                                     \
        .reduce = op,                                                          \
        .plan = plan_reduction,                                                \
        .run = run_##id,                                                       \
        .expect = expect_reduction,                                            \
    };
EXTREME(pmaxloc, REDUCE_MAX)
EXTREME(pminloc, REDUCE_MIN)

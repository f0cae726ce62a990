/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scans.c - the reductions of the members up to each one, or before it. The
 * first of these gives what changes no value, which is written here code by
 * code.
 */
#include "operations.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is_exclusive(const struct attempt *a)
{
    return draw(a, 18000, 2);
}

int scan_members(const struct attempt *a)
{
    return a->span->index + !is_exclusive(a);
}

static uint64_t identity_code(const struct format *format, enum reduce op)
{
    uint64_t sign = UINT64_C(1) << (8 * format->bytes - 1);
    if (op == REDUCE_PROD)
        return is_floating(format) ? code_nearest(format, 1) : 1;
    if (op != REDUCE_MAX || format->dtype == JD_PRED)
        return 0;
    if (!is_floating(format))
        return format->is_signed ? sign : 0;
    return code_nearest(format,
                        format->dtype == JD_F8E4M3FN ? -448.0 : -INFINITY);
}

static void expect_identity(const struct attempt *a, char *wanted)
{
    const struct format *format = format_of(a->dtype);
    uint64_t code = identity_code(format, a->operation->reduce);
    memset(wanted, 0, a->count * a->size);
    for (size_t i = 0; i < a->count; i++)
        memcpy(wanted + i * a->size, &code, (size_t)format->bytes);
}

static void expect_scan(const struct attempt *a, char *wanted)
{
    if (scan_members(a) > 0)
        expect_reduction(a, wanted);
    else
        expect_identity(a, wanted);
}

static jd_status run_scan(const struct attempt *a, jd_op op)
{
    return jd_scan(a->span->shard, a->axes, a->in, a->out, a->count, a->dtype,
                   op, is_exclusive(a) ? JD_SCAN_EXCLUSIVE : JD_SCAN_INCLUSIVE);
}

#define SCAN(id, op, public)                                                   \
    static jd_status run_##id(const struct attempt *a)                         \
    {                                                                          \
        return run_scan(a, public);                                            \
    }                                                                          \
    const struct operation operation_##id = {                                  \
        .name = #id,                                                           \
        .call = "jd_scan",                                                     \
        .reduce = op,                                                          \
        .is_scan = true,                                                       \
        .plan = plan_reduction,                                                \
        .run = run_##id,                                                       \
        .expect = expect_scan,                                                 \
    };
SCAN(scan_sum, REDUCE_SUM, JD_OP_SUM)
SCAN(scan_prod, REDUCE_PROD, JD_OP_PROD)
SCAN(scan_max, REDUCE_MAX, JD_OP_MAX)
SCAN(scan_xor, REDUCE_XOR, JD_OP_XOR)

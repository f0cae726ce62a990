/* SPDX-License-Identifier: BSD-3-Clause */
/* data.c - the numbers that the sides are given, and what becomes of
 * them. */
#include "bench/collectives/collectives.h"
#include "jd_collectives.h"
#include "jd_memory.h"
#include "jd_process.h"

#include <stdint.h>

void *bench_out(const struct bench_sides *sides, enum bench_side side,
                enum bench_op op)
{
    bool same =
        sides->in_place && (op == BENCH_OP_psum || op == BENCH_OP_pbroadcast);
    return same ? sides->in[side] : sides->out[side];
}

static size_t in_elements(const struct bench_sides *sides, enum bench_op op,
                          size_t count)
{
    bool each = op == BENCH_OP_psum_scatter || op == BENCH_OP_all_to_all;
    return op == BENCH_OP_barrier ? 0
           : each                 ? count * (size_t)sides->size
                                  : count;
}

static size_t out_elements(const struct bench_sides *sides, enum bench_op op,
                           size_t count)
{
    bool all = op == BENCH_OP_all_gather || op == BENCH_OP_all_to_all;
    return op == BENCH_OP_barrier ? 0
           : all                  ? count * (size_t)sides->size
                                  : count;
}

/* Small whole numbers, exact in every type and in every sum of a few. */
static double number_of(int rank, size_t i)
{
    return (double)((i + 3 * (size_t)rank) % 4);
}

enum { AT_ONCE = 1024 };

void bench_fill(struct bench_sides *sides, enum bench_side side,
                enum bench_op op, jd_dtype dtype, size_t count)
{
    size_t n = in_elements(sides, op, count), element = jd_dtype_size(dtype);
    char *in = sides->host ? sides->host : sides->in[side];
    double values[AT_ONCE];
    for (size_t i = 0; i < n; i += AT_ONCE) {
        size_t part = n - i < AT_ONCE ? n - i : AT_ONCE;
        for (size_t j = 0; j < part; j++)
            values[j] = number_of(sides->rank, i + j);
        jd_convert(values, JD_F64, in + i * element, dtype, part);
    }
    if (sides->host)
        JD_CHECK(jd_device_copy(sides->in[side], in, n * element));
}

static double expected(const struct bench_sides *sides, enum bench_op op,
                       size_t i, size_t count)
{
    int n = sides->size, rank = sides->rank;
    double sum = 0;
    switch (op) {
    case BENCH_OP_all_gather:
        return number_of((int)(i / count), i % count);
    case BENCH_OP_all_to_all:
        return number_of((int)(i / count), (size_t)rank * count + i % count);
    case BENCH_OP_pbroadcast:
        return number_of(0, i);
    case BENCH_OP_ppermute:
        return number_of((rank + n - 1) % n, i);
    default:
        if (op == BENCH_OP_psum_scatter)
            i += (size_t)rank * count;
        for (int r = 0; r < n; r++)
            sum += number_of(r, i);
        return sum;
    }
}

size_t bench_count_wrong(const struct bench_sides *sides, enum bench_side side,
                         enum bench_op op, jd_dtype dtype, size_t count)
{
    size_t n = out_elements(sides, op, count), wrong = 0;
    size_t element = jd_dtype_size(dtype);
    const char *out = bench_out(sides, side, op);
    if (sides->host) {
        JD_CHECK(jd_shard_synchronize(sides->me));
        JD_CHECK(jd_device_copy(sides->host, out, n * element));
        out = sides->host;
    }
    double values[AT_ONCE], rounded[AT_ONCE];
    char narrow[AT_ONCE * 16];
    for (size_t i = 0; i < n; i += AT_ONCE) {
        size_t part = n - i < AT_ONCE ? n - i : AT_ONCE;
        for (size_t j = 0; j < part; j++)
            rounded[j] = expected(sides, op, i + j, count);
        jd_convert(rounded, JD_F64, narrow, dtype, part);
        jd_convert(narrow, dtype, rounded, JD_F64, part);
        jd_convert(out + i * element, dtype, values, JD_F64, part);
        for (size_t j = 0; j < part; j++)
            wrong += values[j] != rounded[j];
    }
    return wrong;
}

void bench_touch_in(struct bench_sides *sides, enum bench_side side,
                    enum bench_op op, jd_dtype dtype, size_t count)
{
    static uint64_t turn;
    uint64_t *words = sides->in[side];
    size_t n = (in_elements(sides, op, count) * jd_dtype_size(dtype) + 7) / 8;
    uint64_t value = ++turn & 3;
    for (size_t i = 0; i < n; i++)
        words[i] = value;
}

void bench_touch_out(struct bench_sides *sides, enum bench_side side,
                     enum bench_op op, jd_dtype dtype, size_t count)
{
    static volatile uint64_t sink;
    const uint64_t *words = bench_out(sides, side, op);
    size_t n = out_elements(sides, op, count) * jd_dtype_size(dtype) / 8;
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += words[i];
    sink = sum;
    (void)sink;
}

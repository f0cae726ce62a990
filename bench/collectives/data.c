/* SPDX-License-Identifier: BSD-3-Clause */
/* data.c - the numbers that the sides are given, and what becomes of
 * them. */
#include "bench/collectives/collectives.h"
#include "jd_collectives.h"
#include "jd_memory.h"
#include "jd_process.h"

#include <stdint.h>

bool bench_has_place(enum bench_op op)
{
    return op == BENCH_OP_psum || op == BENCH_OP_pbroadcast ||
           op == BENCH_OP_all_gather || op == BENCH_OP_psum_scatter;
}

/* Of the rank's block in the larger of two buffers that are one. */
static size_t block_of(const struct bench_sides *sides, jd_dtype dtype,
                       size_t count)
{
    return (size_t)sides->rank * count * jd_dtype_size(dtype);
}

void *bench_in(const struct bench_sides *sides, enum bench_side side,
               enum bench_op op, jd_dtype dtype, size_t count)
{
    bool is_block = side >= BENCH_APART && op == BENCH_OP_all_gather;
    return (char *)sides->in[side] +
           (is_block ? block_of(sides, dtype, count) : 0);
}

/* MPI leaves its block of a reduce-scatter in place at the begin. */
void *bench_out(const struct bench_sides *sides, enum bench_side side,
                enum bench_op op, jd_dtype dtype, size_t count)
{
    bool same =
        sides->in_place && (op == BENCH_OP_psum || op == BENCH_OP_pbroadcast);
    bool is_block = side >= BENCH_APART && op == BENCH_OP_psum_scatter &&
                    (bench_whose(side) == BENCH_JD || sides->nccl);
    if (same)
        return sides->in[side];
    return (char *)sides->out[side] +
           (is_block ? block_of(sides, dtype, count) : 0);
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

/* How many go through the host's buffer, where there is one. */
static size_t elements_at_once(const struct bench_sides *sides, size_t element,
                               size_t all)
{
    return sides->host ? BENCH_HOST_BYTES / element : all;
}

/* Those from first on. */
static void write_numbers(int rank, char *to, jd_dtype dtype, size_t first,
                          size_t count)
{
    double values[AT_ONCE];
    for (size_t i = 0; i < count; i += AT_ONCE) {
        size_t part = count - i < AT_ONCE ? count - i : AT_ONCE;
        for (size_t j = 0; j < part; j++)
            values[j] = number_of(rank, first + i + j);
        jd_convert(values, JD_F64, to + i * jd_dtype_size(dtype), dtype, part);
    }
}

void bench_fill(struct bench_sides *sides, enum bench_side side,
                enum bench_op op, jd_dtype dtype, size_t count)
{
    size_t n = in_elements(sides, op, count), element = jd_dtype_size(dtype);
    size_t most = elements_at_once(sides, element, n);
    char *in = bench_in(sides, side, op, dtype, count);
    for (size_t i = 0; i < n; i += most) {
        size_t part = n - i < most ? n - i : most;
        char *to = sides->host ? sides->host : in + i * element;
        write_numbers(sides->rank, to, dtype, i, part);
        if (sides->host)
            JD_CHECK(jd_device_copy(in + i * element, to, part * element));
    }
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

/* What is compared: of an output of count. */
struct compared {
    enum bench_op op;
    jd_dtype dtype;
    size_t count;
};

/* Of n elements, the first of which is first. */
static size_t compare_numbers(const struct bench_sides *sides,
                              const struct compared *c, const char *out,
                              size_t first, size_t n)
{
    double values[AT_ONCE], rounded[AT_ONCE];
    char narrow[AT_ONCE * 16];
    size_t wrong = 0;
    for (size_t i = 0; i < n; i += AT_ONCE) {
        size_t part = n - i < AT_ONCE ? n - i : AT_ONCE;
        for (size_t j = 0; j < part; j++)
            rounded[j] = expected(sides, c->op, first + i + j, c->count);
        jd_convert(rounded, JD_F64, narrow, c->dtype, part);
        jd_convert(narrow, c->dtype, rounded, JD_F64, part);
        jd_convert(out + i * jd_dtype_size(c->dtype), c->dtype, values, JD_F64,
                   part);
        for (size_t j = 0; j < part; j++)
            wrong += values[j] != rounded[j];
    }
    return wrong;
}

size_t bench_count_wrong(const struct bench_sides *sides, enum bench_side side,
                         enum bench_op op, jd_dtype dtype, size_t count)
{
    const struct compared compared = { op, dtype, count };
    size_t n = out_elements(sides, op, count), wrong = 0;
    size_t element = jd_dtype_size(dtype);
    size_t most = elements_at_once(sides, element, n);
    const char *out = bench_out(sides, side, op, dtype, count);
    if (sides->host)
        JD_CHECK(jd_shard_synchronize(sides->me));
    for (size_t i = 0; i < n; i += most) {
        size_t part = n - i < most ? n - i : most;
        const char *from = out + i * element;
        if (sides->host) {
            JD_CHECK(jd_device_copy(sides->host, from, part * element));
            from = sides->host;
        }
        wrong += compare_numbers(sides, &compared, from, i, part);
    }
    return wrong;
}

/* Of whole words: in place a block may begin inside one. */
static uint64_t *words_of(void *memory)
{
    return (uint64_t *)((uintptr_t)memory & ~(uintptr_t)7);
}

void bench_touch_in(struct bench_sides *sides, enum bench_side side,
                    enum bench_op op, jd_dtype dtype, size_t count)
{
    static uint64_t turn;
    uint64_t *words = words_of(bench_in(sides, side, op, dtype, count));
    size_t n = (in_elements(sides, op, count) * jd_dtype_size(dtype) + 7) / 8;
    uint64_t value = ++turn & 3;
    for (size_t i = 0; i < n; i++)
        words[i] = value;
}

void bench_touch_out(struct bench_sides *sides, enum bench_side side,
                     enum bench_op op, jd_dtype dtype, size_t count)
{
    static volatile uint64_t sink;
    const uint64_t *words = words_of(bench_out(sides, side, op, dtype, count));
    size_t n = out_elements(sides, op, count) * jd_dtype_size(dtype) / 8;
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += words[i];
    sink = sum;
    (void)sink;
}

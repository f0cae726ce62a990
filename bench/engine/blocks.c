/* SPDX-License-Identifier: BSD-3-Clause */
/* blocks.c - elements that say where they belong. */
#include "bench/engine/blocks.h"

#include <string.h>

enum { MOST_ELEMENT = 16 };

size_t bench_whole_bytes(const struct bench_whole *whole)
{
    size_t bytes = jd_dtype_size(whole->dtype);
    for (int d = 0; d < whole->ndim; d++)
        bytes *= (size_t)whole->shape[d];
    return bytes;
}

/* Bits in which neighbours differ, also in the first byte. */
static void make_element(uint64_t place, jd_dtype dtype, char *bytes)
{
    uint64_t words[MOST_ELEMENT / 8];
    words[0] = (place + 1) * UINT64_C(0x9e3779b97f4a7c15);
    words[0] ^= words[0] >> 29;
    words[1] = ~words[0];
    if (dtype == JD_PRED)
        words[0] = words[0] >> 7 & UINT64_C(0x0101010101010101);
    memcpy(bytes, words, sizeof words);
}

/* Calls on_row with each row of the block and its place in the whole. */
static void walk(const struct bench_whole *whole, const jd_range *index,
                 void (*on_row)(void *arg, uint64_t place, size_t count),
                 void *arg)
{
    int last = whole->ndim - 1, d;
    int64_t at[JD_MAX_NDIM] = { 0 };
    for (d = 0; d <= last; d++) {
        at[d] = index[d].begin;
        if (index[d].end <= index[d].begin)
            return;
    }
    do {
        uint64_t place = 0;
        for (d = 0; d <= last; d++)
            place = place * (uint64_t)whole->shape[d] + (uint64_t)at[d];
        on_row(arg, place, (size_t)(index[last].end - index[last].begin));
        for (d = last - 1; d >= 0 && ++at[d] == index[d].end; d--)
            at[d] = index[d].begin;
    } while (d >= 0);
}

struct cursor {
    const struct bench_whole *whole;
    size_t element;
    char *block;
    size_t wrong;
};

static void fill_row(void *arg, uint64_t place, size_t count)
{
    struct cursor *cursor = arg;
    char bytes[MOST_ELEMENT];
    for (size_t i = 0; i < count; i++) {
        make_element(place + i, cursor->whole->dtype, bytes);
        memcpy(cursor->block, bytes, cursor->element);
        cursor->block += cursor->element;
    }
}

static void check_row(void *arg, uint64_t place, size_t count)
{
    struct cursor *cursor = arg;
    char bytes[MOST_ELEMENT];
    for (size_t i = 0; i < count; i++) {
        make_element(place + i, cursor->whole->dtype, bytes);
        cursor->wrong += memcmp(cursor->block, bytes, cursor->element) != 0;
        cursor->block += cursor->element;
    }
}

jd_status bench_block_fill(const jd_range *index, void *block, void *arg)
{
    const struct bench_whole *whole = arg;
    struct cursor cursor = { .whole = whole,
                             .element = jd_dtype_size(whole->dtype),
                             .block = block };
    walk(whole, index, fill_row, &cursor);
    return JD_OK;
}

size_t bench_block_wrong(const struct bench_whole *whole, const jd_range *index,
                         const void *block)
{
    struct cursor cursor = { .whole = whole,
                             .element = jd_dtype_size(whole->dtype),
                             .block = (char *)block };
    walk(whole, index, check_row, &cursor);
    return cursor.wrong;
}

void bench_write_all(void *memory, size_t bytes)
{
    static uint64_t turn;
    uint64_t *words = memory;
    uint64_t value = ++turn & 3;
    for (size_t i = 0; i < bytes / sizeof *words; i++)
        words[i] = value;
}

void bench_read_all(const void *memory, size_t bytes)
{
    static volatile uint64_t sink;
    const uint64_t *words = memory;
    uint64_t sum = 0;
    for (size_t i = 0; i < bytes / sizeof *words; i++)
        sum += words[i];
    sink = sum;
    (void)sink;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * blocks.h - blocks of an array whose elements say where they belong, so
 * that an element in a wrong place is seen.
 *
 *     struct bench_whole whole = { JD_F32, 2, { 4096, 4096 } };
 *     JD_CHECK(jd_array_from_callback(&array, sharding, whole.dtype,
 *                                     whole.ndim, whole.shape,
 *                                     bench_block_fill, &whole));
 *     wrong += bench_block_wrong(&whole, shard->index, shard->data);
 */
#ifndef BENCH_ENGINE_BLOCKS_H
#define BENCH_ENGINE_BLOCKS_H

#include "jd_array.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bench_whole {
    jd_dtype dtype;
    int ndim; /* 1 or more */
    int64_t shape[JD_MAX_NDIM];
};

size_t bench_whole_bytes(const struct bench_whole *whole);

/* What jd_array_from_callback() calls; arg is the whole. */
jd_status bench_block_fill(const jd_range *index, void *block, void *arg);
/* How many elements of the block are not what fill writes. */
size_t bench_block_wrong(const struct bench_whole *whole, const jd_range *index,
                         const void *block);

/* All of the bytes are written, or read: the two ends of a cycle. */
void bench_write_all(void *memory, size_t bytes);
void bench_read_all(const void *memory, size_t bytes);

#endif

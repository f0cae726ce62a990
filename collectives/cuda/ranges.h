/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ranges.h - which addresses are device memory of jd's: ranges that have
 * nothing in common, in order.
 *
 *     struct jd_cuda_range range;
 *     if (jd__cuda_ranges_find(pointer, &range)) ... range.native ...
 *
 * Finding takes no lock and makes no call: each collective asks for its
 * buffers. Threads: any; one at a time adds or removes (memory.c's lock).
 */
#ifndef COLLECTIVES_CUDA_RANGES_H
#define COLLECTIVES_CUDA_RANGES_H

#include <stdbool.h>
#include <stdint.h>

struct jd_cuda_range {
    uintptr_t begin, end;
    int native;  /* CUDA's number of the device */
    void *owner; /* the adder's; only to be followed under its lock */
};

/* The range that the address is in. */
bool jd__cuda_ranges_find(const void *pointer, struct jd_cuda_range *ret_range);

/* False without memory. */
bool jd__cuda_ranges_add(const struct jd_cuda_range *range);

/* Forgets the range that begins there. */
void jd__cuda_ranges_remove(uintptr_t begin);

#endif

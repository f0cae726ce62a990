/* SPDX-License-Identifier: BSD-3-Clause */
/* device_memory.h - what is known of jd_device_alloc()'s memory. */
#ifndef COLLECTIVES_PLATFORM_DEVICE_MEMORY_H
#define COLLECTIVES_PLATFORM_DEVICE_MEMORY_H

#include "jd_memory.h"

#include <stdbool.h>

/* The bytes that jd_device_alloc() was asked for, of any platform; 0 where
 * memory is not the begin of what it gave. Threads: any. */
size_t jd__device_memory_size(const void *memory);

/*
 * Memory that has become an array's: jd_device_free() refuses it until the
 * array gives it back with free_taken (NULL is allowed). Taking it again is
 * nothing. Threads: any.
 * Returns: JD_OK; RESOURCE_EXHAUSTED.
 */
jd_status jd__device_memory_take(const char *operation, void *memory);
bool jd__device_memory_is_taken(const void *memory);
void jd__device_memory_leave(void *memory); /* it is the caller's again */
void jd__device_memory_free_taken(void *memory);

/* Whether the host can neither read nor write there itself, but only by
 * jd_device_copy(). Threads: any. */
bool jd__device_memory_is_apart(const void *memory);

/* Bytes where the host can read them: where they are, or, where that is apart,
 * copied to buffer, which has room for them. Returns: as jd_device_copy().
 * Threads: any. */
jd_status jd__device_memory_view(const void *memory, size_t bytes, void *buffer,
                                 const void **ret_bytes);

/* Copies a box of which one side is apart; queued on stream where it is not
 * NULL, and both sides are that device's; else it returns when it is done,
 * after what is queued there. Returns: as jd_device_copy(). Threads: any. */
struct jd_nest;
struct jd_stream;
jd_status jd__device_memory_copy_nest(const struct jd_nest *nest,
                                      struct jd_stream *stream);

#endif

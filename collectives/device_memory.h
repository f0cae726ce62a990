/* SPDX-License-Identifier: BSD-3-Clause */
/* device_memory.h - what is known of jd_device_alloc()'s memory. */
#ifndef COLLECTIVES_DEVICE_MEMORY_H
#define COLLECTIVES_DEVICE_MEMORY_H

#include "jd_memory.h"

/* The bytes that jd_device_alloc() was asked for, of any platform; 0 where
 * memory is not the begin of what it gave. Threads: any. */
size_t jd__device_memory_size(const void *memory);

#endif

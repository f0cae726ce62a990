/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * modules.h - which program or library an address lies in: an address alone
 * says nothing to another process.
 *
 *     jd__modules_note(ring, __builtin_return_address(0));
 *
 * Threads: any.
 */
#ifndef RUNTIME_RECORDER_MODULES_H
#define RUNTIME_RECORDER_MODULES_H

#include "runtime/recorder/ring.h"

/* Finds the module in the ring, and notes it there where it is new. What a
 * library that was unloaded left is kept. NULL: it has no file, or there is no
 * room. */
const struct jd_ring_module *jd__modules_note(struct jd_ring *ring,
                                              const void *address);

/* The module of this process that has the address. */
bool jd__modules_find(const void *address, struct jd_ring_module *ret_module);

/* Where this process has the file of that path. */
bool jd__modules_find_path(const char *path, uint64_t *ret_base);

#endif

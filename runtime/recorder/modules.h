/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * modules.h - which program or library a call's address lies in, noted in the
 * ring: an address alone says nothing to another process.
 *
 *     jd__modules_note(ring, __builtin_return_address(0));
 *
 * Threads: any.
 */
#ifndef RUNTIME_RECORDER_MODULES_H
#define RUNTIME_RECORDER_MODULES_H

#include "runtime/recorder/ring.h"

/* Finds the module, and notes it where it is new. What a library that was
 * unloaded left is kept. */
const struct jd_ring_module *jd__modules_note(struct jd_ring *ring,
                                              const void *address);

#endif

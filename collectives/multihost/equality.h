/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * equality.h - the rules by which two elements are equal.
 *
 *     jd_equality rules;
 *     status = jd__equality_read(given, size, operation, &rules);
 *     if (!jd__equality_holds(&rules, JD_F32, a, b)) ...
 *
 * Threads: any.
 */
#ifndef COLLECTIVES_MULTIHOST_EQUALITY_H
#define COLLECTIVES_MULTIHOST_EQUALITY_H

#include "base/status.h"
#include "jd_multihost.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What a program gave, of its own size (NULL and 0: all zeros), as this
 * library knows it.
 * Returns: JD_OK; INVALID_ARGUMENT naming operation and the member.
 */
jd_status jd__equality_read(const jd_equality *given, size_t size,
                            const char *operation, jd_equality *ret_rules);

/* a is what this process has, b what it should be. */
bool jd__equality_holds(const jd_equality *rules, jd_dtype dtype, const void *a,
                        const void *b);

/* Whether the same bits are always equal: no look at elements is needed. */
bool jd__equality_trusts_bits(const jd_equality *rules, jd_dtype dtype);

uint64_t jd__equality_digest(const jd_equality *rules);

/* " (bitwise)", " (within 1e-08 + 0 * |b|, NaNs differ)"; "" for zeros. */
void jd__equality_print(const jd_equality *rules, char *text, size_t size);

#endif

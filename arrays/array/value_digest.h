/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * value_digest.h - 256 bits that stand for the bytes of a value, to see whether
 * processes have the same one.
 *
 *     unsigned char digest[JD_VALUE_DIGEST];
 *     jd__value_digest(data, bytes, digest);
 *
 * Two values that differ have the same one with a probability below 2^-127,
 * whatever they are, unless somebody looks for such values. Several times as
 * fast as BLAKE2b alone. Threads: any.
 */
#ifndef ARRAYS_ARRAY_VALUE_DIGEST_H
#define ARRAYS_ARRAY_VALUE_DIGEST_H

#include <stddef.h>

#define JD_VALUE_DIGEST 32

void jd__value_digest(const void *data, size_t bytes,
                      unsigned char *ret_digest);

#endif

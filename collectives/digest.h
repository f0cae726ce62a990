/* SPDX-License-Identifier: BSD-3-Clause */
/* digest.h - 64 bits that stand for many bytes, to compare what processes
 * believe (FNV-1a: against accidents, not against attackers). */
#ifndef COLLECTIVES_DIGEST_H
#define COLLECTIVES_DIGEST_H

#include <stddef.h>
#include <stdint.h>

/* The digest of what another digest stands for (0: nothing) and the bytes. */
static inline uint64_t jd__digest(uint64_t digest, const void *data,
                                  size_t bytes)
{
    const unsigned char *byte = data;
    digest ^= UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < bytes; i++)
        digest = (digest ^ byte[i]) * UINT64_C(0x100000001b3);
    return digest;
}

#endif

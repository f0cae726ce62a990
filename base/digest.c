/* SPDX-License-Identifier: BSD-3-Clause */
/* digest.c - XXH3, which is a header: in this file alone, as it is long. */
#include "base/digest.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t jd__digest(uint64_t digest, const void *data, size_t bytes)
{
    return XXH3_64bits_withSeed(data, bytes, digest);
}

struct jd_value_digest jd__digest_value(const void *data, size_t bytes)
{
    XXH128_hash_t hash = XXH3_128bits(data, bytes);
    return (struct jd_value_digest){ hash.low64, hash.high64 };
}

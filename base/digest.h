/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * digest.h - 64 or 128 bits that stand for many bytes, to compare what
 * processes believe or have: against accidents, not against attackers.
 *
 *     digest = jd__digest(0, name, strlen(name));
 *     digest = jd__digest(digest, sizes, sizeof sizes);
 *
 * Things that differ have the same digest by chance alone (2^-64, of a value
 * 2^-128). Threads: any.
 */
#ifndef BASE_DIGEST_H
#define BASE_DIGEST_H

#include <stddef.h>
#include <stdint.h>

/* The digest of what another digest stands for (0: nothing) and the bytes. */
uint64_t jd__digest(uint64_t digest, const void *data, size_t bytes);

struct jd_value_digest {
    uint64_t low, high;
};

/* Of the bytes of a value. */
struct jd_value_digest jd__digest_value(const void *data, size_t bytes);

/*
 * A number for each number, none twice, without a pattern, so that such numbers
 * may be added up; inline, where a call would be half of its time.
 * Source: G. L. Steele, D. Lea, C. H. Flood, "Fast splittable pseudorandom
 * number generators", OOPSLA 2014; constants of D. Stafford's variant 13.
 */
static inline uint64_t jd__digest_mix(uint64_t word)
{
    word += UINT64_C(0x9e3779b97f4a7c15);
    word = (word ^ word >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    word = (word ^ word >> 27) * UINT64_C(0x94d049bb133111eb);
    return word ^ word >> 31;
}

#endif

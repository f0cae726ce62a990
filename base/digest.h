/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * digest.h - 64 bits that stand for many bytes, to compare what processes
 * believe: against accidents, not against attackers.
 *
 *     digest = jd__digest(0, name, strlen(name));
 *     digest = jd__digest(digest, sizes, sizeof sizes);
 *
 * Each step maps the 64 bits one to one and strongly, so that things which
 * differ in one word never have the same digest, and others by chance alone
 * (2^-64), also where digests are added up: small and regular numbers are what
 * programs have.
 */
#ifndef BASE_DIGEST_H
#define BASE_DIGEST_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * A number for each number, none twice, without a pattern.
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

/* The digest of what another digest stands for (0: nothing) and the bytes. */
static inline uint64_t jd__digest(uint64_t digest, const void *data,
                                  size_t bytes)
{
    const unsigned char *next = data;
    digest = jd__digest_mix(digest ^ bytes);
    for (size_t left = bytes; left;) {
        uint64_t word = 0;
        size_t part = left < sizeof word ? left : sizeof word;
        memcpy(&word, next, part);
        digest = jd__digest_mix(digest ^ word);
        next += part;
        left -= part;
    }
    return digest;
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * value_digest.c - a digest of long data: of each KiB four sums of products of
 * its words with a key (the universal hash NH of UMAC, whose four keys are one
 * key at four places), and BLAKE2b of these and the length.
 */
#include "arrays/array/value_digest.h"

#include <sodium.h>
#include <stdint.h>
#include <string.h>

enum {
    WORDS = 256, /* of a chunk */
    CHUNK = WORDS * 4,
    SUMS = 4,   /* of each chunk */
    BATCH = 32, /* chunks whose sums BLAKE2b gets at once */
};

struct sums {
    uint64_t sum[SUMS];
};

static uint64_t sum_products(const uint32_t *word, const uint32_t *key)
{
    uint64_t sum = 0;
    for (int i = 0; i < WORDS; i += 8)
        for (int j = i; j < i + 4; j++)
            sum += (uint64_t)(word[j] + key[j]) * (word[j + 4] + key[j + 4]);
    return sum;
}

/* A chunk that is not whole ends with zeros. */
static void sum_chunk(const char *data, size_t bytes, const uint32_t *key,
                      struct sums *ret_sums)
{
    uint32_t words[WORDS];
    if (bytes < CHUNK)
        memset(words, 0, sizeof words);
    memcpy(words, data, bytes < CHUNK ? bytes : CHUNK);
    for (int i = 0; i < SUMS; i++)
        ret_sums->sum[i] = sum_products(words, key + 4 * i);
}

/* Every process has the same key. */
static void make_key(uint32_t *key, size_t bytes)
{
    static const unsigned char seed[randombytes_SEEDBYTES] = { 'j', 'd' };
    randombytes_buf_deterministic(key, bytes, seed);
}

void jd__value_digest(const void *data, size_t bytes, unsigned char *ret_digest)
{
    uint32_t key[WORDS + 4 * (SUMS - 1)];
    struct sums sums[BATCH];
    crypto_generichash_state state;
    const char *from = data;
    uint64_t length = bytes;
    make_key(key, sizeof key);
    crypto_generichash_init(&state, NULL, 0, JD_VALUE_DIGEST);
    crypto_generichash_update(&state, (const void *)&length, sizeof length);
    while (bytes) {
        size_t count = 0;
        for (; count < BATCH && bytes; count++) {
            size_t chunk = bytes < CHUNK ? bytes : CHUNK;
            sum_chunk(from, chunk, key, &sums[count]);
            from += chunk;
            bytes -= chunk;
        }
        crypto_generichash_update(&state, (const void *)sums,
                                  count * sizeof *sums);
    }
    crypto_generichash_final(&state, ret_digest, JD_VALUE_DIGEST);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* seal.c - frames with a MAC behind them. */
#include "runtime/coordination/net/seal.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

_Static_assert(JD_SEAL_SIZE == crypto_shorthash_siphashx24_BYTES,
               "JD_SEAL_SIZE is not the MAC's size");
_Static_assert(JD_SEAL_KEY == crypto_shorthash_siphashx24_KEYBYTES,
               "JD_SEAL_KEY is not the key's size");

enum { COUNT_SIZE = 8 };

void jd__seal_begin(struct jd_seal *seal, const uint8_t key[JD_SEAL_KEY])
{
    *seal = (struct jd_seal){ .is_on = true };
    memcpy(seal->key, key, JD_SEAL_KEY);
}

void jd__seal_finish(struct jd_seal *seal)
{
    sodium_memzero(seal, sizeof *seal);
}

/* Behind the frame there is room for a MAC: the frame's number stands there
 * while the MAC is made, so that both are hashed in one go. */
static void make(const struct jd_seal *seal, uint8_t *frame, size_t size,
                 uint8_t mac[JD_SEAL_SIZE])
{
    for (int i = 0; i < COUNT_SIZE; i++)
        frame[size + (size_t)i] = (uint8_t)(seal->count >> (8 * i));
    crypto_shorthash_siphashx24(mac, frame, size + COUNT_SIZE, seal->key);
}

void jd__seal_frame(struct jd_seal *seal, uint8_t *frame, size_t size)
{
    uint8_t mac[JD_SEAL_SIZE];
    make(seal, frame, size, mac);
    memcpy(frame + size, mac, JD_SEAL_SIZE);
    seal->count++;
}

bool jd__seal_append(struct jd_seal *seal, struct jd_bytes *out,
                     const Jd__Message *message)
{
    if (!seal->is_on)
        return jd__wire_append(out, message);
    size_t size = jd__wire_append_before(out, message, JD_SEAL_SIZE);
    if (!size)
        return false;
    jd__seal_frame(seal, out->data + out->end - size, size);
    out->end += JD_SEAL_SIZE;
    return true;
}

/* The MAC behind a frame of that size. */
static bool is_right(const struct jd_seal *seal, uint8_t *frame, size_t size)
{
    uint8_t seen[JD_SEAL_SIZE], wanted[JD_SEAL_SIZE];
    memcpy(seen, frame + size, JD_SEAL_SIZE);
    make(seal, frame, size, wanted);
    return sodium_memcmp(seen, wanted, JD_SEAL_SIZE) == 0;
}

enum jd_wire_result jd__seal_next(struct jd_seal *seal, uint8_t *data,
                                  size_t size, size_t limit,
                                  struct jd_wire_arena *arena,
                                  struct jd_wire_frame *frame)
{
    if (!seal->is_on || size < JD_WIRE_HEADER || jd__wire_get_u32(data) > limit)
        return jd__wire_next(data, size, limit, arena, frame);
    size_t length = JD_WIRE_HEADER + (size_t)jd__wire_get_u32(data);
    frame->message = NULL;
    frame->bytes = length + JD_SEAL_SIZE;
    if (size < frame->bytes)
        return JD_WIRE_PARTIAL;
    if (!is_right(seal, data, length)) {
        snprintf(frame->why, sizeof frame->why,
                 "a frame of %zu bytes is not from the other side, or was "
                 "changed on its way (its MAC is wrong)",
                 length);
        return JD_WIRE_BROKEN;
    }
    seal->count++;
    enum jd_wire_result result =
        jd__wire_next(data, length, limit, arena, frame);
    frame->bytes = length + JD_SEAL_SIZE;
    return result;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* seal.c - batches of frames with a MAC behind them. */
#include "runtime/coordination/net/seal.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

_Static_assert(JD_SEAL_SIZE == crypto_shorthash_siphashx24_BYTES,
               "JD_SEAL_SIZE is not the MAC's size");
_Static_assert(JD_SEAL_KEY == crypto_shorthash_siphashx24_KEYBYTES,
               "JD_SEAL_KEY is not the key's size");

enum { COUNT_SIZE = 8 };
#define JOINED (UINT32_C(1) << 31) /* of a frame's length */

void jd__seal_begin(struct jd_seal *seal, const uint8_t key[JD_SEAL_KEY])
{
    *seal = (struct jd_seal){ .is_on = true };
    memcpy(seal->key, key, JD_SEAL_KEY);
}

void jd__seal_finish(struct jd_seal *seal)
{
    sodium_memzero(seal, sizeof *seal);
}

/* ---- sending ------------------------------------------------------------ */

/* Behind the batch there is room for a MAC: the batch's number stands there
 * while the MAC is made, so that both are hashed in one go. */
static void make_mac(const struct jd_seal *seal, uint8_t *batch, size_t size,
                     uint8_t mac[JD_SEAL_SIZE])
{
    for (int i = 0; i < COUNT_SIZE; i++)
        batch[size + (size_t)i] = (uint8_t)(seal->count >> (8 * i));
    crypto_shorthash_siphashx24(mac, batch, size + COUNT_SIZE, seal->key);
}

void jd__seal_join(uint8_t *frame)
{
    jd__wire_put_u32(frame, jd__wire_get_u32(frame) | JOINED);
}

void jd__seal_batch(struct jd_seal *seal, uint8_t *batch, size_t size)
{
    uint8_t mac[JD_SEAL_SIZE];
    make_mac(seal, batch, size, mac);
    memcpy(batch + size, mac, JD_SEAL_SIZE);
    seal->count++;
}

/* Each frame is appended with room for a MAC, so that there is some now. */
void jd__seal_close(struct jd_seal *seal, struct jd_bytes *out)
{
    if (!seal->batch)
        return;
    jd__seal_batch(seal, out->data + out->end - seal->batch, seal->batch);
    out->end += JD_SEAL_SIZE;
    seal->batch = 0;
}

/* Those before a long frame do not wait for it: it begins a batch, behind the
 * MAC of theirs. */
static void part_frame(struct jd_seal *seal, struct jd_bytes *out, size_t size)
{
    uint8_t *frame = out->data + out->end - size;
    memmove(frame + JD_SEAL_SIZE, frame, size);
    jd__seal_batch(seal, frame - seal->batch, seal->batch);
    out->end += JD_SEAL_SIZE;
    seal->batch = 0;
}

bool jd__seal_append(struct jd_seal *seal, struct jd_bytes *out,
                     const Jd__Message *message)
{
    if (!seal->is_on)
        return jd__wire_append(out, message);
    if (seal->batch >= JD_SEAL_BATCH)
        jd__seal_close(seal, out);
    size_t size = jd__wire_append_before(out, message, 2 * JD_SEAL_SIZE);
    if (!size)
        return false;
    if (seal->batch && size > JD_SEAL_BATCH)
        part_frame(seal, out, size);
    if (seal->batch)
        jd__seal_join(out->data + out->end - size - seal->last);
    seal->batch += size;
    seal->last = size;
    return true;
}

/* ---- receiving ---------------------------------------------------------- */

size_t jd__seal_length(const uint8_t header[JD_WIRE_HEADER],
                       bool *ret_is_joined)
{
    uint32_t number = jd__wire_get_u32(header);
    *ret_is_joined = number & JOINED;
    return JD_WIRE_HEADER + (size_t)(number & ~JOINED);
}

/* The MAC behind a batch of that size. */
static bool is_right(const struct jd_seal *seal, uint8_t *batch, size_t size)
{
    uint8_t seen[JD_SEAL_SIZE], wanted[JD_SEAL_SIZE];
    memcpy(seen, batch + size, JD_SEAL_SIZE);
    make_mac(seal, batch, size, wanted);
    return crypto_verify_16(seen, wanted) == 0;
}

static enum jd_wire_result look_at_mac(struct jd_seal *seal, uint8_t *batch,
                                       size_t size, struct jd_wire_frame *frame)
{
    if (!is_right(seal, batch, size)) {
        snprintf(frame->why, sizeof frame->why,
                 "a batch of %zu bytes is not from the other side, or was "
                 "changed on its way (its MAC is wrong)",
                 size);
        return JD_WIRE_BROKEN;
    }
    seal->count++;
    seal->right = size + JD_SEAL_SIZE;
    return JD_WIRE_MESSAGE;
}

/* The length of a frame that is too long is no joined one's for wire.h. */
static enum jd_wire_result refuse_length(size_t length, size_t limit,
                                         struct jd_wire_frame *frame)
{
    uint8_t header[JD_WIRE_HEADER];
    jd__wire_put_u32(header, (uint32_t)(length - JD_WIRE_HEADER));
    return jd__wire_next(header, sizeof header, limit, NULL, frame);
}

/* Of the batch that begins the data: MESSAGE where it is here and right. */
static enum jd_wire_result look_at_batch(struct jd_seal *seal, uint8_t *data,
                                         size_t size, size_t limit,
                                         struct jd_wire_frame *frame)
{
    bool is_joined = true;
    size_t at = 0;
    while (is_joined) {
        frame->bytes = at + JD_WIRE_HEADER;
        if (size < frame->bytes)
            return JD_WIRE_PARTIAL;
        size_t length = jd__seal_length(data + at, &is_joined);
        if (length - JD_WIRE_HEADER > limit)
            return refuse_length(length, limit, frame);
        at += length;
        if (is_joined && at >= JD_SEAL_BATCH) {
            snprintf(frame->why, sizeof frame->why,
                     "a batch of %zu bytes and more, where %d are allowed", at,
                     JD_SEAL_BATCH);
            return JD_WIRE_BROKEN;
        }
        frame->bytes = at + JD_SEAL_SIZE;
        if (size < at)
            return JD_WIRE_PARTIAL;
    }
    if (size < frame->bytes)
        return JD_WIRE_PARTIAL;
    return look_at_mac(seal, data, at, frame);
}

enum jd_wire_result jd__seal_take(uint8_t *data, size_t limit,
                                  struct jd_wire_arena *arena,
                                  struct jd_wire_frame *frame)
{
    bool is_joined;
    size_t length = jd__seal_length(data, &is_joined);
    jd__wire_put_u32(data, (uint32_t)(length - JD_WIRE_HEADER));
    enum jd_wire_result result =
        jd__wire_next(data, length, limit, arena, frame);
    frame->bytes = length + (is_joined ? 0 : JD_SEAL_SIZE);
    return result;
}

enum jd_wire_result jd__seal_next(struct jd_seal *seal, uint8_t *data,
                                  size_t size, size_t limit,
                                  struct jd_wire_arena *arena,
                                  struct jd_wire_frame *frame)
{
    if (!seal->is_on)
        return jd__wire_next(data, size, limit, arena, frame);
    frame->message = NULL;
    enum jd_wire_result result =
        seal->right ? JD_WIRE_MESSAGE
                    : look_at_batch(seal, data, size, limit, frame);
    if (result != JD_WIRE_MESSAGE)
        return result;
    result = jd__seal_take(data, limit, arena, frame);
    seal->right -= frame->bytes;
    return result;
}

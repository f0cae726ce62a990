/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * seal.h - frames with a MAC behind them, from the moment on when both sides
 * of a connection have a key: who can change what travels cannot put a word
 * in, leave one out, say one twice or in another order.
 *
 *     struct jd_seal out = { .is_on = false }, in = { .is_on = false };
 *     jd__seal_append(&out, &bytes, &message);        a frame of wire.h
 *     jd__seal_begin(&out, keys.to_agent);
 *     jd__seal_append(&out, &bytes, &message);        with 16 bytes behind it
 *
 * The MAC is SipHash-2-4 of 128 bits over the frame and its number in the
 * connection (each direction has its own key and counts for itself): a tenth
 * of what a hash of libsodium's costs on a frame of a hundred bytes, where a
 * request takes some microseconds.
 * Threads: an object, one thread at a time.
 */
#ifndef RUNTIME_COORDINATION_NET_SEAL_H
#define RUNTIME_COORDINATION_NET_SEAL_H

#include "runtime/coordination/net/wire.h"

enum { JD_SEAL_KEY = 16, JD_SEAL_SIZE = 16 };

/* One direction of a connection. All zero: frames are bare. */
struct jd_seal {
    bool is_on;
    uint8_t key[JD_SEAL_KEY];
    uint64_t count; /* of the next frame */
};

/* From the next frame on. */
void jd__seal_begin(struct jd_seal *seal, const uint8_t key[JD_SEAL_KEY]);
/* Wipes the key. */
void jd__seal_finish(struct jd_seal *seal);

/* As jd__wire_append. */
bool jd__seal_append(struct jd_seal *seal, struct jd_bytes *out,
                     const Jd__Message *message);

/* The MAC of a frame of that size goes behind it, where there is room. */
void jd__seal_frame(struct jd_seal *seal, uint8_t *frame, size_t size);

/* As jd__wire_next; a frame with a wrong MAC is broken, and the bytes of its
 * MAC are changed. */
enum jd_wire_result jd__seal_next(struct jd_seal *seal, uint8_t *data,
                                  size_t size, size_t limit,
                                  struct jd_wire_arena *arena,
                                  struct jd_wire_frame *frame);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * seal.h - frames with a MAC behind them, from the moment on when both sides
 * of a connection have a key: who can change what travels cannot put a word
 * in, leave one out, say one twice or in another order.
 *
 *     struct jd_seal out = { .is_on = false }, in = { .is_on = false };
 *     jd__seal_append(&out, &bytes, &message);        a frame of wire.h
 *     jd__seal_begin(&out, keys.to_agent);
 *     jd__seal_append(&out, &bytes, &message);
 *     jd__seal_append(&out, &bytes, &another);
 *     jd__seal_close(&out, &bytes);                   16 bytes behind both
 *
 * Frames that are sent together are a batch with one MAC behind it: in each but
 * the last the highest bit of the length says that another follows. It is
 * SipHash-2-4 of 128 bits over the batch and its number in the connection (each
 * direction has its own key and counts for itself): a tenth of what a hash of
 * libsodium's costs on a frame of a hundred bytes, where a request takes some
 * microseconds. A frame is handled when its whole batch was right.
 * Threads: an object, one thread at a time.
 */
#ifndef RUNTIME_COORDINATION_NET_SEAL_H
#define RUNTIME_COORDINATION_NET_SEAL_H

#include "runtime/coordination/net/wire.h"

enum {
    JD_SEAL_KEY = 16,
    JD_SEAL_SIZE = 16,        /* of a MAC */
    JD_SEAL_BATCH = 16 << 10, /* a batch of so many bytes takes no frame more */
};

/* One direction of a connection. All zero: frames are bare. */
struct jd_seal {
    bool is_on;
    uint8_t key[JD_SEAL_KEY];
    uint64_t count; /* of the next batch */
    size_t batch;   /* sending: bytes of the one that is open; 0: none is */
    size_t last;    /* bytes of its last frame */
    size_t right;   /* receiving: bytes left of the one whose MAC was right,
                       with the MAC */
};

/* From the next frame on. */
void jd__seal_begin(struct jd_seal *seal, const uint8_t key[JD_SEAL_KEY]);
/* Wipes the key. */
void jd__seal_finish(struct jd_seal *seal);

/* As jd__wire_append. With a key, nothing but jd__seal_append and
 * jd__seal_close changes the end of out while a batch is open. */
bool jd__seal_append(struct jd_seal *seal, struct jd_bytes *out,
                     const Jd__Message *message);

/* The end of out is the end of a batch, and may be sent. Without a frame since
 * the last time, or a key, this is nothing. */
void jd__seal_close(struct jd_seal *seal, struct jd_bytes *out);

/* The same by hand, where there is room for a MAC behind the batch: each frame
 * but its last was joined to the next. */
void jd__seal_join(uint8_t *frame);
void jd__seal_batch(struct jd_seal *seal, uint8_t *batch, size_t size);

/* Of a frame's header: the bytes of the frame with it, and whether another
 * follows before the MAC. */
size_t jd__seal_length(const uint8_t header[JD_WIRE_HEADER],
                       bool *ret_is_joined);

/* The first frame of a batch that is here and was looked at, as jd__wire_next
 * does; its header is changed. frame->bytes has the MAC's with the last. */
enum jd_wire_result jd__seal_take(uint8_t *data, size_t limit,
                                  struct jd_wire_arena *arena,
                                  struct jd_wire_frame *frame);

/* As jd__wire_next; a frame of a batch with a wrong MAC is broken, and the
 * bytes of its MAC are changed. frame->bytes as jd__seal_take's. */
enum jd_wire_result jd__seal_next(struct jd_seal *seal, uint8_t *data,
                                  size_t size, size_t limit,
                                  struct jd_wire_arena *arena,
                                  struct jd_wire_frame *frame);

#endif

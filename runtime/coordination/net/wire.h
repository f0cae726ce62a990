/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wire.h - frames: a little-endian uint32, then a Message of that many bytes
 * (coordination.proto). What comes from the other side is read here and
 * nowhere else.
 *
 *     jd__wire_append(&out, &message);
 *
 *     switch (jd__wire_next(data, size, limit, &arena, &frame)) {
 *     case JD_WIRE_MESSAGE: ... frame.message ... data += frame.bytes;
 *     case JD_WIRE_PARTIAL: ... frame.bytes more are needed to go on
 *     case JD_WIRE_BROKEN:  ... frame.why
 *
 * Threads: an object, one thread at a time.
 */
#ifndef RUNTIME_COORDINATION_NET_WIRE_H
#define RUNTIME_COORDINATION_NET_WIRE_H

#include "runtime/coordination/net/coordination.pb-c.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    JD_WIRE_PROTOCOL = 4,        /* the number in Challenge and Hello */
    JD_WIRE_HEADER = 4,          /* bytes before the message */
    JD_WIRE_STRANGER_MAX = 8192, /* the limit until the Welcome */
    JD_WIRE_TRACE_PART = 32768,  /* bytes of a trace in one message */
};

/* Bytes that grow at the end and are taken from the front. All zero: empty. */
struct jd_bytes {
    uint8_t *data;
    size_t begin, end, capacity;
};

/* A number as it stands in a frame's header: little-endian. */
static inline void jd__wire_put_u32(uint8_t at[4], uint32_t number)
{
    for (int i = 0; i < 4; i++)
        at[i] = (uint8_t)(number >> (8 * i));
}

static inline uint32_t jd__wire_get_u32(const uint8_t at[4])
{
    uint32_t number = 0;
    for (int i = 0; i < 4; i++)
        number |= (uint32_t)at[i] << (8 * i);
    return number;
}

static inline size_t jd__bytes_size(const struct jd_bytes *bytes)
{
    return bytes->end - bytes->begin;
}

/* Room for more bytes behind the end; NULL where there is no memory. */
uint8_t *jd__wire_bytes_reserve(struct jd_bytes *bytes, size_t more);
/* Takes bytes from the front; memory that lies idle is given back. */
void jd__wire_bytes_consume(struct jd_bytes *bytes, size_t count);
void jd__wire_bytes_finish(struct jd_bytes *bytes);

/*
 * Memory for the messages of one frame at a time: jd__wire_arena_reset frees
 * all at once and keeps one block for the next. All zero: empty. Much faster
 * than a malloc for each field, which is what protobuf-c does otherwise.
 */
struct jd_wire_arena {
    struct jd_wire_block *block;
    size_t used;
};

void jd__wire_arena_reset(struct jd_wire_arena *arena);
void jd__wire_arena_finish(struct jd_wire_arena *arena);

enum jd_wire_result { JD_WIRE_MESSAGE, JD_WIRE_PARTIAL, JD_WIRE_BROKEN };

struct jd_wire_frame {
    Jd__Message *message;
    size_t bytes; /* of the frame with its header */
    char why[136];
};

/* Appends a frame; false where there is no memory or the message has 2 GiB: the
 * highest bit of a length is seal.h's. */
bool jd__wire_append(struct jd_bytes *out, const Jd__Message *message);

/* The same with so much room behind it; the frame's bytes, 0 where it is not
 * appended. */
size_t jd__wire_append_before(struct jd_bytes *out, const Jd__Message *message,
                              size_t room);

/* The bytes of the message's frame with its header. */
size_t jd__wire_size(const Jd__Message *message);

/*
 * Looks at the first frame of the data. The message stands in the arena until
 * its reset; arena NULL: in memory of its own, for
 * jd__message__free_unpacked(message, NULL). A frame over limit bytes, one
 * that is no Message, and one without a body are broken; frame->why says how.
 * frame->bytes is the whole length of the frame as soon as that is known.
 */
enum jd_wire_result jd__wire_next(const uint8_t *data, size_t size,
                                  size_t limit, struct jd_wire_arena *arena,
                                  struct jd_wire_frame *frame);

/* A message of its own with the same content, for
 * jd__message__free_unpacked(copy, NULL); NULL without memory. */
Jd__Message *jd__wire_copy(const Jd__Message *message);

/* Bytes and a text as protobuf-c's bytes; nothing is copied. */
ProtobufCBinaryData jd__wire_bytes(const void *data, size_t size);
ProtobufCBinaryData jd__wire_text(const char *text);

/* By their bytes; the shorter of two that begin alike comes first. */
int jd__wire_compare(ProtobufCBinaryData a, ProtobufCBinaryData b);

/*
 * How a connection ended, for both of its ends: an error after which silence
 * decides, because the other side may come back; and in words, as
 * jd_link_hooks.on_closed has error and why.
 */
bool jd__wire_may_come_back(int error);
enum { JD_WIRE_END_TEXT = 200 };
const char *jd__wire_describe_end(int error, const char *why,
                                  char text[JD_WIRE_END_TEXT]);

/* "Set", "Arrive": a body's name in sentences. */
const char *jd__wire_body_name(const Jd__Message *message);

#endif

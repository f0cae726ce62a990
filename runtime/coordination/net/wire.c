/* SPDX-License-Identifier: BSD-3-Clause */
/* wire.c - frames. */
#include "runtime/coordination/net/wire.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTES_FIRST 256      /* what a buffer begins with */
#define BYTES_KEPT 4096      /* what an empty one may keep */
#define ARENA_FIRST 4096     /* what an arena begins with */
#define ARENA_KEPT (1 << 20) /* what an arena may keep */

/* ---- bytes -------------------------------------------------------------- */

/* Makes the capacity at least that; what is there moves to the front. */
static bool grow_bytes(struct jd_bytes *bytes, size_t wanted)
{
    size_t size = jd__bytes_size(bytes);
    size_t capacity = bytes->capacity ? bytes->capacity : BYTES_FIRST;
    while (capacity < wanted)
        capacity *= 2;
    uint8_t *data = malloc(capacity);
    if (!data)
        return false;
    if (size)
        memcpy(data, bytes->data + bytes->begin, size);
    free(bytes->data);
    *bytes = (struct jd_bytes){ data, 0, size, capacity };
    return true;
}

uint8_t *jd__wire_bytes_reserve(struct jd_bytes *bytes, size_t more)
{
    size_t size = jd__bytes_size(bytes);
    if (more > SIZE_MAX / 2 - size)
        return NULL;
    if (bytes->capacity - bytes->end >= more)
        return bytes->data + bytes->end;
    if (bytes->capacity - size >= more && bytes->begin >= size) {
        memcpy(bytes->data, bytes->data + bytes->begin, size);
        bytes->begin = 0;
        bytes->end = size;
    } else if (!grow_bytes(bytes, size + more)) {
        return NULL;
    }
    return bytes->data + bytes->end;
}

void jd__wire_bytes_consume(struct jd_bytes *bytes, size_t count)
{
    bytes->begin += count;
    if (bytes->begin < bytes->end)
        return;
    bytes->begin = bytes->end = 0;
    if (bytes->capacity > BYTES_KEPT)
        jd__wire_bytes_finish(bytes);
}

void jd__wire_bytes_finish(struct jd_bytes *bytes)
{
    free(bytes->data);
    *bytes = (struct jd_bytes){ .data = NULL };
}

/* ---- the arena ---------------------------------------------------------- */

struct jd_wire_block {
    struct jd_wire_block *next; /* older and smaller */
    size_t capacity;
    _Alignas(16) unsigned char data[];
};

static void free_blocks(struct jd_wire_block *block)
{
    while (block) {
        struct jd_wire_block *next = block->next;
        free(block);
        block = next;
    }
}

static bool add_block(struct jd_wire_arena *arena, size_t wanted)
{
    size_t capacity = arena->block ? 2 * arena->block->capacity : ARENA_FIRST;
    if (capacity < wanted)
        capacity = wanted;
    struct jd_wire_block *block = malloc(sizeof *block + capacity);
    if (!block)
        return false;
    block->next = arena->block;
    block->capacity = capacity;
    arena->block = block;
    arena->used = 0;
    return true;
}

static void *arena_alloc(void *data, size_t size)
{
    struct jd_wire_arena *arena = data;
    size_t rounded = (size + 15) & ~(size_t)15;
    if (rounded < size)
        return NULL;
    if ((!arena->block || arena->block->capacity - arena->used < rounded) &&
        !add_block(arena, rounded))
        return NULL;
    void *result = arena->block->data + arena->used;
    arena->used += rounded;
    return result;
}

static void arena_free(void *data, void *pointer)
{
    (void)data, (void)pointer; /* jd__wire_arena_reset frees all */
}

void jd__wire_arena_reset(struct jd_wire_arena *arena)
{
    arena->used = 0;
    if (!arena->block)
        return;
    free_blocks(arena->block->next);
    arena->block->next = NULL;
    if (arena->block->capacity > ARENA_KEPT)
        jd__wire_arena_finish(arena);
}

void jd__wire_arena_finish(struct jd_wire_arena *arena)
{
    free_blocks(arena->block);
    *arena = (struct jd_wire_arena){ .block = NULL };
}

/* ---- frames ------------------------------------------------------------- */

size_t jd__wire_size(const Jd__Message *message)
{
    return JD_WIRE_HEADER + jd__message__get_packed_size(message);
}

size_t jd__wire_append_before(struct jd_bytes *out, const Jd__Message *message,
                              size_t room)
{
    size_t length = jd__message__get_packed_size(message);
    if (length > INT32_MAX)
        return 0;
    uint8_t *at = jd__wire_bytes_reserve(out, JD_WIRE_HEADER + length + room);
    if (!at)
        return 0;
    jd__wire_put_u32(at, (uint32_t)length);
    jd__message__pack(message, at + JD_WIRE_HEADER);
    out->end += JD_WIRE_HEADER + length;
    return JD_WIRE_HEADER + length;
}

bool jd__wire_append(struct jd_bytes *out, const Jd__Message *message)
{
    return jd__wire_append_before(out, message, 0) > 0;
}

static enum jd_wire_result unpack_frame(const uint8_t *data, size_t length,
                                        struct jd_wire_arena *arena,
                                        struct jd_wire_frame *frame)
{
    ProtobufCAllocator allocator = { arena_alloc, arena_free, arena };
    frame->message =
        jd__message__unpack(arena ? &allocator : NULL, length, data);
    if (!frame->message) {
        snprintf(frame->why, sizeof frame->why,
                 "a frame of %zu bytes is no message", length);
        return JD_WIRE_BROKEN;
    }
    if (frame->message->body_case != JD__MESSAGE__BODY__NOT_SET)
        return JD_WIRE_MESSAGE;
    if (!arena)
        jd__message__free_unpacked(frame->message, NULL);
    frame->message = NULL;
    snprintf(frame->why, sizeof frame->why,
             "a message of %zu bytes has no body that is known", length);
    return JD_WIRE_BROKEN;
}

enum jd_wire_result jd__wire_next(const uint8_t *data, size_t size,
                                  size_t limit, struct jd_wire_arena *arena,
                                  struct jd_wire_frame *frame)
{
    frame->message = NULL;
    frame->bytes = JD_WIRE_HEADER;
    if (size < JD_WIRE_HEADER)
        return JD_WIRE_PARTIAL;
    size_t length = jd__wire_get_u32(data);
    frame->bytes += length;
    if (length > limit) {
        snprintf(frame->why, sizeof frame->why,
                 "a frame of %zu bytes, where %zu are allowed%s", length, limit,
                 limit == JD_WIRE_STRANGER_MAX
                     ? ""
                     : " (JD_MAX_MESSAGE, which must be the same everywhere)");
        return JD_WIRE_BROKEN;
    }
    if (size < frame->bytes)
        return JD_WIRE_PARTIAL;
    return unpack_frame(data + JD_WIRE_HEADER, length, arena, frame);
}

Jd__Message *jd__wire_copy(const Jd__Message *message)
{
    struct jd_bytes bytes = { .data = NULL };
    struct jd_wire_frame frame = { .message = NULL };
    if (jd__wire_append(&bytes, message))
        jd__wire_next(bytes.data, bytes.end, SIZE_MAX, NULL, &frame);
    jd__wire_bytes_finish(&bytes);
    return frame.message;
}

/* ---- texts -------------------------------------------------------------- */

ProtobufCBinaryData jd__wire_bytes(const void *data, size_t size)
{
    /* protobuf-c has no const; nothing writes through it. */
    return (ProtobufCBinaryData){ .len = size, .data = (uint8_t *)data };
}

ProtobufCBinaryData jd__wire_text(const char *text)
{
    return jd__wire_bytes(text, strlen(text));
}

int jd__wire_compare(ProtobufCBinaryData a, ProtobufCBinaryData b)
{
    size_t shorter = a.len < b.len ? a.len : b.len;
    int order = shorter ? memcmp(a.data, b.data, shorter) : 0;
    return order ? order : (a.len > b.len) - (a.len < b.len);
}

/* ---- the end of a connection -------------------------------------------- */

bool jd__wire_may_come_back(int error)
{
    return error == ETIMEDOUT || error == EHOSTUNREACH ||
           error == ENETUNREACH || error == ENETDOWN;
}

const char *jd__wire_describe_end(int error, const char *why,
                                  char text[JD_WIRE_END_TEXT])
{
    if (error == 0 || error == ECONNRESET || error == EPIPE)
        return "connection closed without shutdown (killed or crashed)";
    snprintf(text, JD_WIRE_END_TEXT, "its connection was given up: %s",
             why ? why : strerror(error));
    return text;
}

/* ---- names -------------------------------------------------------------- */

const char *jd__wire_body_name(const Jd__Message *message)
{
    const ProtobufCFieldDescriptor *field =
        protobuf_c_message_descriptor_get_field(&jd__message__descriptor,
                                                (unsigned)message->body_case);
    return field ? field->name : "nothing";
}

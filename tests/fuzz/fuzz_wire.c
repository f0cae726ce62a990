/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fuzz_wire.c - the decoder of frames, over any bytes in any pieces. The
 * first bytes of an input are the limit (% 4) and the size of the pieces.
 */
#include "runtime/coordination/net/wire.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

enum { MAX_FRAMES = 64 };

/* What a stream of bytes was decoded to. */
struct decoded {
    enum jd_wire_result results[MAX_FRAMES];
    size_t bytes[MAX_FRAMES];
    uint64_t contents[MAX_FRAMES]; /* hashes of the messages */
    size_t count;
};

/* FNV-1a of the message as it is encoded; 0 of none. */
static uint64_t hash_of(const Jd__Message *message)
{
    struct jd_bytes bytes = { .data = NULL };
    uint64_t hash = 14695981039346656037u;
    if (!message)
        return 0;
    FUZZ_EXPECT(jd__wire_append(&bytes, message), "not encoded");
    for (size_t i = bytes.begin; i < bytes.end; i++)
        hash = (hash ^ bytes.data[i]) * 1099511628211u;
    jd__wire_bytes_finish(&bytes);
    return hash;
}

static void note(struct decoded *decoded, enum jd_wire_result result,
                 const struct jd_wire_frame *frame)
{
    if (decoded->count == MAX_FRAMES)
        return;
    decoded->results[decoded->count] = result;
    decoded->bytes[decoded->count] = frame->bytes;
    decoded->contents[decoded->count++] = hash_of(frame->message);
}

/* ---- one frame ---------------------------------------------------------- */

static bool has_unknown(const ProtobufCMessage *message);

static bool field_has_unknown(const ProtobufCMessage *message,
                              const ProtobufCFieldDescriptor *field)
{
    const char *at = (const char *)message + field->offset;
    const char *count = (const char *)message + field->quantifier_offset;
    bool is_oneof = field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF;
    if (field->type != PROTOBUF_C_TYPE_MESSAGE ||
        (is_oneof && *(const uint32_t *)count != field->id))
        return false;
    if (field->label != PROTOBUF_C_LABEL_REPEATED)
        return has_unknown(*(ProtobufCMessage *const *)at);
    for (size_t i = 0; i < *(const size_t *)count; i++)
        if (has_unknown((*(ProtobufCMessage *const *const *)at)[i]))
            return true;
    return false;
}

/* Fields that the protocol does not have, in it or in what it holds. */
static bool has_unknown(const ProtobufCMessage *message)
{
    if (!message || message->n_unknown_fields)
        return message != NULL;
    for (unsigned i = 0; i < message->descriptor->n_fields; i++)
        if (field_has_unknown(message, &message->descriptor->fields[i]))
            return true;
    return false;
}

/* What was decoded can be encoded, and comes out the same again; protobuf-c
 * does not always decode what it kept of unknown fields. */
static void check_message(const Jd__Message *message)
{
    struct jd_bytes one = { .data = NULL }, two = { .data = NULL };
    Jd__Message *copy = jd__wire_copy(message);
    FUZZ_EXPECT(copy || has_unknown(&message->base), "no copy");
    if (!copy)
        return;
    FUZZ_EXPECT(jd__wire_append(&one, message), "not encoded");
    FUZZ_EXPECT(jd__wire_append(&two, copy), "not encoded");
    FUZZ_EXPECT(jd__bytes_size(&one) == jd__wire_size(message), "%zu bytes",
                jd__bytes_size(&one));
    FUZZ_EXPECT(jd__bytes_size(&one) == jd__bytes_size(&two) &&
                    memcmp(one.data, two.data, jd__bytes_size(&one)) == 0,
                "a copy of %s is another", jd__wire_body_name(message));
    FUZZ_EXPECT(strcmp(jd__wire_body_name(message), "nothing") != 0, "no name");
    jd__wire_bytes_finish(&one);
    jd__wire_bytes_finish(&two);
    jd__message__free_unpacked(copy, NULL);
}

static void check_frame(enum jd_wire_result result,
                        const struct jd_wire_frame *frame, size_t size,
                        size_t limit)
{
    switch (result) {
    case JD_WIRE_MESSAGE:
        FUZZ_EXPECT(frame->bytes <= size, "%zu of %zu", frame->bytes, size);
        FUZZ_EXPECT(frame->bytes <= JD_WIRE_HEADER + limit, "over the limit");
        check_message(frame->message);
        break;
    case JD_WIRE_PARTIAL:
        FUZZ_EXPECT(frame->bytes > size, "%zu of %zu", frame->bytes, size);
        FUZZ_EXPECT(!frame->message, "a part of a frame is no message");
        break;
    case JD_WIRE_BROKEN:
        FUZZ_EXPECT(!frame->message && frame->why[0], "it does not say why");
        break;
    }
}

/* In memory of exactly that size, so that a byte beyond it is seen. */
static enum jd_wire_result next(const uint8_t *data, size_t size, size_t limit,
                                struct jd_wire_arena *heap,
                                struct jd_wire_frame *frame)
{
    uint8_t *exact = malloc(size);
    if (size)
        memcpy(exact, data, size);
    enum jd_wire_result result = jd__wire_next(exact, size, limit, heap, frame);
    free(exact); /* the message has its own memory */
    check_frame(result, frame, size, limit);
    return result;
}

/* ---- a stream ----------------------------------------------------------- */

static void decode_at_once(const uint8_t *data, size_t size, size_t limit,
                           struct decoded *decoded)
{
    enum jd_wire_result result = JD_WIRE_MESSAGE;
    while (result == JD_WIRE_MESSAGE && decoded->count < MAX_FRAMES) {
        struct jd_wire_frame frame;
        result = next(data, size, limit, NULL, &frame);
        if (result == JD_WIRE_PARTIAL)
            break;
        note(decoded, result, &frame);
        if (result == JD_WIRE_MESSAGE) {
            jd__message__free_unpacked(frame.message, NULL);
            data += frame.bytes;
            size -= frame.bytes;
        }
    }
}

/* Takes the whole frames from the buffer; false where one is broken. */
static bool take_frames(struct jd_bytes *bytes, size_t limit,
                        struct jd_wire_arena *heap, struct decoded *decoded)
{
    for (;;) {
        struct jd_wire_frame frame;
        enum jd_wire_result result =
            next(bytes->data ? bytes->data + bytes->begin : NULL,
                 jd__bytes_size(bytes), limit, heap, &frame);
        if (result == JD_WIRE_PARTIAL)
            return true;
        note(decoded, result, &frame);
        jd__wire_arena_reset(heap);
        if (result == JD_WIRE_BROKEN || decoded->count == MAX_FRAMES)
            return false;
        jd__wire_bytes_consume(bytes, frame.bytes);
    }
}

static void decode_in_pieces(const uint8_t *data, size_t size, size_t limit,
                             size_t piece, struct decoded *decoded)
{
    struct jd_bytes bytes = { .data = NULL };
    struct jd_wire_arena heap = { .block = NULL };
    bool goes_on = true;
    for (size_t at = 0, count; goes_on && at < size; at += count) {
        count = piece < size - at ? piece : size - at;
        uint8_t *room = jd__wire_bytes_reserve(&bytes, count);
        FUZZ_EXPECT(room, "no room for %zu bytes", count);
        memcpy(room, data + at, count);
        bytes.end += count;
        goes_on = take_frames(&bytes, limit, &heap, decoded);
        piece = piece * 7 % 61 + 1; /* of another size each time */
    }
    jd__wire_bytes_finish(&bytes);
    jd__wire_arena_finish(&heap);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const size_t limits[] = { JD_WIRE_STRANGER_MAX, 20, 1 << 26, 200 };
    struct fuzz_input input = { data, data + size };
    struct decoded whole = { .count = 0 }, pieces = { .count = 0 };
    size_t limit = limits[fuzz_byte(&input) % 4];
    size_t piece = 1 + (size_t)fuzz_byte(&input) % 61;
    size = (size_t)(input.end - input.at);
    decode_at_once(input.at, size, limit, &whole);
    decode_in_pieces(input.at, size, limit, piece, &pieces);
    FUZZ_EXPECT(memcmp(&whole, &pieces, sizeof whole) == 0,
                "%zu frames at once, %zu in pieces, or others", whole.count,
                pieces.count);
    return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fuzz_seal.c - what comes on a connection that has a key. The first byte of
 * an input says from whom: from somebody who does not know the key, and then no
 * byte of it is ever a message; or from a member that lies, whose batches of
 * anything have the right MACs, and then each frame is what it would be bare.
 */
#include "runtime/coordination/net/seal.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

enum { LIMIT = 300, MAX_FRAMES = 64 };

static const uint8_t key[JD_SEAL_KEY] = "sixteen letters";

/* In memory of exactly that size, so that a byte beyond it is seen; the seal
 * and the data are as the call has left them. */
static enum jd_wire_result next(struct jd_seal *seal, uint8_t *data,
                                size_t size, struct jd_wire_frame *frame)
{
    uint8_t *exact = malloc(size);
    if (size)
        memcpy(exact, data, size);
    enum jd_wire_result result =
        jd__seal_next(seal, exact, size, LIMIT, NULL, frame);
    if (size)
        memcpy(data, exact, size);
    free(exact);
    if (result == JD_WIRE_PARTIAL)
        FUZZ_EXPECT(frame->bytes > size, "%zu of %zu", frame->bytes, size);
    else if (result == JD_WIRE_MESSAGE)
        FUZZ_EXPECT(frame->bytes <= size, "%zu of %zu", frame->bytes, size);
    else
        FUZZ_EXPECT(frame->why[0], "it does not say why");
    return result;
}

/* ---- without the key ---------------------------------------------------- */

static void hear_stranger(const uint8_t *data, size_t size)
{
    struct jd_seal seal;
    struct jd_wire_frame frame;
    uint8_t *copy = malloc(size + 1);
    memcpy(copy, data, size);
    jd__seal_begin(&seal, key);
    for (size_t some = 0; some <= size; some += 1 + some / 8) {
        FUZZ_EXPECT(next(&seal, copy, some, &frame) != JD_WIRE_MESSAGE,
                    "%zu bytes of a stranger are a message", some);
        memcpy(copy, data, size); /* the place of the MAC was changed */
    }
    free(copy);
}

/* ---- with the key ------------------------------------------------------- */

/* What was said: the frames' bytes without their headers. */
struct said {
    struct jd_bytes stream;
    const uint8_t *contents[MAX_FRAMES];
    size_t sizes[MAX_FRAMES];
    int count;
};

/* As a frame's header says it, as in the seeds of fuzz_wire; not long. */
static size_t choose_size(struct fuzz_input *input)
{
    size_t size = fuzz_byte(input);
    size += 256 * (size_t)(fuzz_byte(input) % 4);
    fuzz_byte(input);
    fuzz_byte(input);
    size_t left = (size_t)(input->end - input->at);
    return size < left ? size : left;
}

/* A frame of any bytes; returns its size. */
static size_t say_frame(struct said *said, struct fuzz_input *input)
{
    size_t size = choose_size(input);
    uint8_t *at = jd__wire_bytes_reserve(&said->stream,
                                         JD_WIRE_HEADER + size + JD_SEAL_SIZE);
    FUZZ_EXPECT(at, "no memory");
    jd__wire_put_u32(at, (uint32_t)size);
    memcpy(at + JD_WIRE_HEADER, input->at, size);
    said->contents[said->count] = input->at;
    said->sizes[said->count++] = size;
    input->at += size;
    said->stream.end += JD_WIRE_HEADER + size;
    return JD_WIRE_HEADER + size;
}

static void say_batch(struct said *said, struct jd_seal *seal,
                      struct fuzz_input *input)
{
    size_t batch = 0;
    bool is_joined = true;
    while (is_joined && said->count < MAX_FRAMES) {
        is_joined = fuzz_byte(input) % 4 && !fuzz_is_empty(input) &&
                    said->count < MAX_FRAMES - 1;
        size_t size = say_frame(said, input);
        batch += size;
        if (is_joined)
            jd__seal_join(said->stream.data + said->stream.end - size);
    }
    jd__seal_batch(seal, said->stream.data + said->stream.end - batch, batch);
    said->stream.end += JD_SEAL_SIZE;
}

/* Whether the frame's result is that of the same without a key. */
static void compare(const struct said *said, int i, enum jd_wire_result result,
                    const struct jd_wire_frame *frame)
{
    struct jd_wire_frame bare;
    size_t size = JD_WIRE_HEADER + said->sizes[i];
    uint8_t *data = malloc(size);
    jd__wire_put_u32(data, (uint32_t)said->sizes[i]);
    memcpy(data + JD_WIRE_HEADER, said->contents[i], said->sizes[i]);
    enum jd_wire_result wanted = jd__wire_next(data, size, LIMIT, NULL, &bare);
    free(data);
    FUZZ_EXPECT(result == wanted, "frame %d: %d, not %d", i, result, wanted);
    if (result != JD_WIRE_MESSAGE)
        return;
    FUZZ_EXPECT(frame->message->body_case == bare.message->body_case,
                "frame %d is another", i);
    jd__message__free_unpacked(frame->message, NULL);
    jd__message__free_unpacked(bare.message, NULL);
}

/* A frame that is too long breaks its batch before those in front of it. */
static bool has_long_frame(const struct said *said)
{
    for (int i = 0; i < said->count; i++)
        if (said->sizes[i] > LIMIT)
            return true;
    return false;
}

static void hear_all(struct said *said)
{
    struct jd_seal seal;
    struct jd_wire_frame frame;
    enum jd_wire_result result = JD_WIRE_MESSAGE;
    int heard = 0;
    jd__seal_begin(&seal, key);
    while (result == JD_WIRE_MESSAGE && jd__bytes_size(&said->stream)) {
        uint8_t *data = said->stream.data + said->stream.begin;
        result = next(&seal, data, jd__bytes_size(&said->stream), &frame);
        FUZZ_EXPECT(result != JD_WIRE_PARTIAL && heard < said->count,
                    "frame %d is not all there", heard);
        if (result == JD_WIRE_MESSAGE || !has_long_frame(said))
            compare(said, heard, result, &frame);
        jd__wire_bytes_consume(&said->stream, frame.bytes);
        heard++;
    }
    FUZZ_EXPECT(result == JD_WIRE_BROKEN || heard == said->count, "%d of %d",
                heard, said->count);
}

static void hear_member(struct fuzz_input *input)
{
    struct said said = { .count = 0 };
    struct jd_seal seal;
    jd__seal_begin(&seal, key);
    while (!fuzz_is_empty(input) && said.count < MAX_FRAMES)
        say_batch(&said, &seal, input);
    hear_all(&said);
    jd__wire_bytes_finish(&said.stream);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = { data, data + size };
    if (fuzz_byte(&input) % 2)
        hear_stranger(input.at, (size_t)(input.end - input.at));
    else
        hear_member(&input);
    return 0;
}

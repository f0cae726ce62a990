/* SPDX-License-Identifier: BSD-3-Clause */
/* test_wire.c - frames as bytes, and the memory they stand in. */
#include "runtime/coordination/net/wire.h"
#include "tests/unit/unit.h"

#include <stdio.h>

enum { LIMIT = 1 << 20 };

/* ---- messages ----------------------------------------------------------- */

/* A Set of one entry. */
struct set_message {
    Jd__Message message;
    Jd__Set set;
    Jd__Entry entry, *pointer;
};

static const Jd__Message *make_set(struct set_message *m, uint64_t id,
                                   const void *value, size_t size)
{
    jd__message__init(&m->message);
    jd__set__init(&m->set);
    jd__entry__init(&m->entry);
    m->entry.key = jd__wire_text("a/b");
    m->entry.value = jd__wire_bytes(value, size);
    m->pointer = &m->entry;
    m->set.entries = &m->pointer;
    m->set.n_entries = 1;
    m->message.id = id;
    m->message.timeout_ms = -1;
    m->message.body_case = JD__MESSAGE__BODY_SET;
    m->message.set = &m->set;
    return &m->message;
}

static void append_set(struct jd_bytes *out, uint64_t id, const void *value,
                       size_t size)
{
    struct set_message m;
    ck_assert(jd__wire_append(out, make_set(&m, id, value, size)));
}

static void check_set(const Jd__Message *message, uint64_t id,
                      const void *value, size_t size)
{
    ck_assert_uint_eq(message->id, id);
    ck_assert_int_eq(message->timeout_ms, -1);
    ck_assert_int_eq(message->body_case, JD__MESSAGE__BODY_SET);
    ck_assert_uint_eq(message->set->n_entries, 1);
    const Jd__Entry *entry = message->set->entries[0];
    ck_assert_uint_eq(entry->key.len, 3);
    ck_assert_mem_eq(entry->key.data, "a/b", 3);
    ck_assert_uint_eq(entry->value.len, size);
    if (size)
        ck_assert_mem_eq(entry->value.data, value, size);
}

/* ---- frames ------------------------------------------------------------- */

START_TEST(a_frame_is_a_length_and_a_message)
{
    struct jd_bytes bytes = { .data = NULL };
    struct set_message m;
    append_set(&bytes, 7, "x\0y", 3);
    size_t size = jd__bytes_size(&bytes);
    ck_assert_uint_eq(size, jd__wire_size(make_set(&m, 7, "x\0y", 3)));
    ck_assert_uint_eq(bytes.data[0], size - JD_WIRE_HEADER);
    ck_assert_uint_eq(bytes.data[1] + bytes.data[2] + bytes.data[3], 0);
    jd__wire_bytes_finish(&bytes);
}
END_TEST

/* Exact copies, so that a sanitizer sees a read past the end. */
START_TEST(a_frame_is_partial_at_every_byte)
{
    struct jd_bytes bytes = { .data = NULL };
    struct jd_wire_arena heap = { .block = NULL };
    struct jd_wire_frame frame;
    append_set(&bytes, 1 << 20, "value", 5);
    size_t size = jd__bytes_size(&bytes);
    for (size_t n = 0; n <= size; n++) {
        uint8_t *part = malloc(n ? n : 1);
        memcpy(part, bytes.data, n);
        enum jd_wire_result result =
            jd__wire_next(part, n, LIMIT, &heap, &frame);
        ck_assert_int_eq(result, n < size ? JD_WIRE_PARTIAL : JD_WIRE_MESSAGE);
        ck_assert_uint_eq(frame.bytes,
                          n < JD_WIRE_HEADER ? JD_WIRE_HEADER : size);
        ck_assert_ptr_eq(frame.message, n < size ? NULL : frame.message);
        free(part);
    }
    check_set(frame.message, 1 << 20, "value", 5);
    jd__wire_arena_finish(&heap);
    jd__wire_bytes_finish(&bytes);
}
END_TEST

START_TEST(several_frames_stand_behind_each_other)
{
    struct jd_bytes bytes = { .data = NULL };
    struct jd_wire_arena heap = { .block = NULL };
    struct jd_wire_frame frame;
    for (uint64_t id = 1; id <= 100; id++)
        append_set(&bytes, id, "abcdefghij", id % 11);
    for (uint64_t id = 1; id <= 100; id++) {
        ck_assert_int_eq(jd__wire_next(bytes.data + bytes.begin,
                                       jd__bytes_size(&bytes), LIMIT, &heap,
                                       &frame),
                         JD_WIRE_MESSAGE);
        check_set(frame.message, id, "abcdefghij", id % 11);
        jd__wire_bytes_consume(&bytes, frame.bytes);
        jd__wire_arena_reset(&heap);
    }
    ck_assert_uint_eq(jd__bytes_size(&bytes), 0);
    jd__wire_arena_finish(&heap);
    jd__wire_bytes_finish(&bytes);
}
END_TEST

START_TEST(a_frame_over_the_limit_is_broken_by_its_length_alone)
{
    static const uint8_t header[] = { 0x01, 0x20, 0, 0 };
    struct jd_wire_frame frame;
    ck_assert_int_eq(jd__wire_next(header, 4, 8192, NULL, &frame),
                     JD_WIRE_BROKEN);
    ck_assert_str_eq(frame.why, "a frame of 8193 bytes, where 8192 are "
                                "allowed");
    ck_assert_int_eq(jd__wire_next(header, 4, 8193, NULL, &frame),
                     JD_WIRE_PARTIAL);
    ck_assert_uint_eq(frame.bytes, 8197);
    ck_assert_int_eq(jd__wire_next(header, 3, 8192, NULL, &frame),
                     JD_WIRE_PARTIAL);
}
END_TEST

START_TEST(the_longest_length_is_no_small_one)
{
    static const uint8_t header[] = { 0xff, 0xff, 0xff, 0xff };
    struct jd_wire_frame frame;
    ck_assert_int_eq(jd__wire_next(header, 4, LIMIT, NULL, &frame),
                     JD_WIRE_BROKEN);
    ck_assert_str_eq(frame.why, "a frame of 4294967295 bytes, where 1048576 "
                                "are allowed (JD_MAX_MESSAGE, which must be "
                                "the same everywhere)");
    ck_assert_int_eq(
        jd__wire_next(header, 4, JD_WIRE_STRANGER_MAX, NULL, &frame),
        JD_WIRE_BROKEN);
    ck_assert_str_eq(frame.why, "a frame of 4294967295 bytes, where 8192 are "
                                "allowed");
    ck_assert_int_eq(jd__wire_next(header, 4, SIZE_MAX, NULL, &frame),
                     JD_WIRE_PARTIAL);
    ck_assert_uint_eq(frame.bytes, 4294967299);
}
END_TEST

static void check_broken(const char *bytes, size_t size, const char *why)
{
    struct jd_wire_arena heap = { .block = NULL };
    struct jd_wire_frame frame;
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(jd__wire_next((const uint8_t *)bytes, size, LIMIT,
                                       i ? &heap : NULL, &frame),
                         JD_WIRE_BROKEN);
        ck_assert_str_eq(frame.why, why);
        ck_assert_ptr_null(frame.message);
    }
    jd__wire_arena_finish(&heap);
}

START_TEST(what_is_no_message_is_broken)
{
    check_broken("\0\0\0\0", 4,
                 "a message of 0 bytes has no body that is "
                 "known");
    check_broken("\4\0\0\0GET ", 8, "a frame of 4 bytes is no message");
    /* an id alone, and a field of a later version alone */
    check_broken("\2\0\0\0\x08\x05", 6,
                 "a message of 2 bytes has no body "
                 "that is known");
    check_broken("\3\0\0\0\xba\x06\0", 7,
                 "a message of 3 bytes has no body "
                 "that is known");
    /* a Set of more bytes than there are */
    check_broken("\4\0\0\0\x9a\x01\x7f\0", 8,
                 "a frame of 4 bytes is no "
                 "message");
}
END_TEST

START_TEST(a_field_that_is_not_known_is_ignored)
{
    /* field 103, then Withdraw of 9 with a field 15 of its own */
    static const uint8_t bytes[] = "\x0a\0\0\0\xba\x06\0\x8a\x02\x04\x08\x09"
                                   "\x78\x01";
    struct jd_wire_frame frame;
    ck_assert_int_eq(
        jd__wire_next(bytes, sizeof bytes - 1, LIMIT, NULL, &frame),
        JD_WIRE_MESSAGE);
    ck_assert_int_eq(frame.message->body_case, JD__MESSAGE__BODY_WITHDRAW);
    ck_assert_uint_eq(frame.message->withdraw->id, 9);
    jd__message__free_unpacked(frame.message, NULL);
}
END_TEST

/* Every byte of a frame changed in turn: a message, or broken. */
START_TEST(garbage_harms_nobody)
{
    struct jd_bytes bytes = { .data = NULL };
    struct jd_wire_arena heap = { .block = NULL };
    struct jd_wire_frame frame;
    append_set(&bytes, 77, "value", 5);
    size_t size = jd__bytes_size(&bytes);
    for (size_t at = JD_WIRE_HEADER; at < size; at++)
        for (int value = 0; value < 256; value++) {
            uint8_t *copy = malloc(size);
            memcpy(copy, bytes.data, size);
            copy[at] = (uint8_t)value;
            ck_assert_int_ne(jd__wire_next(copy, size, LIMIT, &heap, &frame),
                             JD_WIRE_PARTIAL);
            free(copy);
            jd__wire_arena_reset(&heap);
        }
    jd__wire_arena_finish(&heap);
    jd__wire_bytes_finish(&bytes);
}
END_TEST

START_TEST(a_big_frame_comes_whole)
{
    enum { SIZE = 20 << 20 };
    struct jd_bytes bytes = { .data = NULL };
    struct jd_wire_frame frame;
    uint8_t *value = malloc(SIZE);
    for (size_t i = 0; i < SIZE; i++)
        value[i] = (uint8_t)(i * 7 >> 3);
    append_set(&bytes, 3, value, SIZE);
    ck_assert_int_eq(jd__wire_next(bytes.data, jd__bytes_size(&bytes), 64 << 20,
                                   NULL, &frame),
                     JD_WIRE_MESSAGE);
    check_set(frame.message, 3, value, SIZE);
    jd__message__free_unpacked(frame.message, NULL);
    jd__wire_bytes_finish(&bytes);
    free(value);
}
END_TEST

START_TEST(a_copy_is_a_message_of_its_own)
{
    struct set_message m;
    char value[] = "value";
    Jd__Message *copy = jd__wire_copy(make_set(&m, 5, value, 5));
    memset(value, 0, sizeof value);
    check_set(copy, 5, "value", 5);
    jd__message__free_unpacked(copy, NULL);
}
END_TEST

START_TEST(bodies_have_names)
{
    struct set_message m;
    Jd__Message message = JD__MESSAGE__INIT;
    ck_assert_str_eq(jd__wire_body_name(make_set(&m, 1, "", 0)), "set");
    ck_assert_str_eq(jd__wire_body_name(&message), "nothing");
}
END_TEST

/* ---- the arena ---------------------------------------------------------- */

START_TEST(a_heap_keeps_one_block_and_no_large_one)
{
    static uint8_t value[2 << 20];
    struct jd_bytes bytes = { .data = NULL };
    struct jd_wire_arena heap = { .block = NULL };
    struct jd_wire_frame frame;
    jd__wire_arena_reset(&heap);
    for (int round = 0; round < 3; round++) {
        for (size_t size = 1; size <= sizeof value; size *= 2) {
            append_set(&bytes, size, value, size);
            ck_assert_int_eq(jd__wire_next(bytes.data, jd__bytes_size(&bytes),
                                           64 << 20, &heap, &frame),
                             JD_WIRE_MESSAGE);
            check_set(frame.message, size, value, size);
            ck_assert_ptr_nonnull(heap.block);
            jd__wire_bytes_consume(&bytes, jd__bytes_size(&bytes));
            jd__wire_arena_reset(&heap);
            ck_assert_uint_eq(heap.used, 0);
            if (size <= 1024)
                ck_assert_ptr_nonnull(heap.block);
            if (size >= (1 << 20))
                ck_assert_ptr_null(heap.block);
        }
    }
    jd__wire_arena_finish(&heap);
    jd__wire_bytes_finish(&bytes);
}
END_TEST

/* ---- bytes -------------------------------------------------------------- */

static void put(struct jd_bytes *bytes, const char *text)
{
    size_t size = strlen(text);
    uint8_t *at = jd__wire_bytes_reserve(bytes, size);
    ck_assert_ptr_nonnull(at);
    memcpy(at, text, size);
    bytes->end += size;
}

START_TEST(bytes_come_out_in_order)
{
    struct jd_bytes bytes = { .data = NULL };
    unsigned in = 0, out = 0;
    for (int round = 0; round < 2000; round++) {
        for (unsigned i = 0; i < 40 + (unsigned)round % 97; i++) {
            uint8_t *at = jd__wire_bytes_reserve(&bytes, 1);
            if (!at)
                ck_abort_msg("no memory for byte %u", in);
            *at = (uint8_t)(in++ * 31);
            bytes.end++;
        }
        size_t most = jd__bytes_size(&bytes);
        for (size_t i = 0; i < 80 && i < most; i++) {
            if (bytes.data[bytes.begin] != (uint8_t)(out * 31))
                ck_abort_msg("byte %u is another", out);
            out++;
            jd__wire_bytes_consume(&bytes, 1);
        }
    }
    ck_assert_uint_eq(jd__bytes_size(&bytes), in - out);
    jd__wire_bytes_finish(&bytes);
}
END_TEST

START_TEST(what_waits_moves_to_the_front_instead_of_growing)
{
    struct jd_bytes bytes = { .data = NULL };
    put(&bytes, "0123456789");
    size_t capacity = bytes.capacity;
    const uint8_t *data = bytes.data;
    for (unsigned i = 0; i < 10 * capacity; i++) {
        put(&bytes, "x");
        jd__wire_bytes_consume(&bytes, 1);
    }
    ck_assert_uint_eq(bytes.capacity, capacity);
    ck_assert_ptr_eq(bytes.data, data);
    ck_assert_uint_eq(jd__bytes_size(&bytes), 10);
    jd__wire_bytes_finish(&bytes);
}
END_TEST

START_TEST(idle_memory_is_given_back)
{
    struct jd_bytes bytes = { .data = NULL };
    put(&bytes, "a");
    jd__wire_bytes_consume(&bytes, 1);
    ck_assert_ptr_nonnull(bytes.data);
    ck_assert_ptr_nonnull(jd__wire_bytes_reserve(&bytes, 5000));
    bytes.end += 5000;
    jd__wire_bytes_consume(&bytes, 4999);
    ck_assert_ptr_nonnull(bytes.data);
    jd__wire_bytes_consume(&bytes, 1);
    ck_assert_ptr_null(bytes.data);
    ck_assert_uint_eq(bytes.capacity, 0);
}
END_TEST

START_TEST(what_cannot_be_is_not_reserved)
{
    struct jd_bytes bytes = { .data = NULL };
    put(&bytes, "a");
    ck_assert_ptr_null(jd__wire_bytes_reserve(&bytes, SIZE_MAX));
    ck_assert_ptr_null(jd__wire_bytes_reserve(&bytes, SIZE_MAX / 2));
    ck_assert_uint_eq(jd__bytes_size(&bytes), 1);
    jd__wire_bytes_finish(&bytes);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("wire");
    TCase *tcase = unit_case(suite, "frames");
    tcase_add_test(tcase, a_frame_is_a_length_and_a_message);
    tcase_add_test(tcase, a_frame_is_partial_at_every_byte);
    tcase_add_test(tcase, several_frames_stand_behind_each_other);
    tcase_add_test(tcase, a_frame_over_the_limit_is_broken_by_its_length_alone);
    tcase_add_test(tcase, the_longest_length_is_no_small_one);
    tcase_add_test(tcase, what_is_no_message_is_broken);
    tcase_add_test(tcase, a_field_that_is_not_known_is_ignored);
    tcase_add_test(tcase, garbage_harms_nobody);
    tcase_add_test(tcase, a_big_frame_comes_whole);
    tcase_add_test(tcase, a_copy_is_a_message_of_its_own);
    tcase_add_test(tcase, bodies_have_names);
    tcase = unit_case(suite, "memory");
    tcase_add_test(tcase, a_heap_keeps_one_block_and_no_large_one);
    tcase_add_test(tcase, bytes_come_out_in_order);
    tcase_add_test(tcase, what_waits_moves_to_the_front_instead_of_growing);
    tcase_add_test(tcase, idle_memory_is_given_back);
    tcase_add_test(tcase, what_cannot_be_is_not_reserved);
    return unit_main(suite);
}

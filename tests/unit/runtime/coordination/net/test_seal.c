/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_seal.c - frames with a MAC: what was sent is read, and nothing that was
 * changed, left out, said twice or turned round.
 */
#include "runtime/coordination/net/seal.h"
#include "tests/unit/unit.h"

#include <stdio.h>

enum { LIMIT = 4 * JD_SEAL_BATCH };

static const uint8_t key[JD_SEAL_KEY] = "sixteen letters";
static const uint8_t other_key[JD_SEAL_KEY] = "other, as many.";
static struct jd_seal sent, received;
static struct jd_bytes bytes;

static void set_up(void)
{
    jd__seal_begin(&sent, key);
    jd__seal_begin(&received, key);
}

static void tear_down(void)
{
    jd__wire_bytes_finish(&bytes);
    jd__seal_finish(&sent);
    jd__seal_finish(&received);
}

static void append(uint64_t id, size_t size)
{
    static uint8_t value[2 * JD_SEAL_BATCH];
    Jd__Message message = JD__MESSAGE__INIT;
    Jd__Delete body = JD__DELETE__INIT;
    message.id = id;
    body.key = jd__wire_bytes(value, size);
    message.body_case = JD__MESSAGE__BODY_DELETE;
    message.delete_ = &body;
    ck_assert(jd__seal_append(&sent, &bytes, &message));
}

/* As a batch of its own. */
static void say(uint64_t id, size_t size)
{
    append(id, size);
    jd__seal_close(&sent, &bytes);
}

/* The first frame's result, without taking it. */
static enum jd_wire_result look(struct jd_wire_frame *frame)
{
    uint8_t *begin = bytes.data ? bytes.data + bytes.begin : NULL;
    return jd__seal_next(&received, begin, jd__bytes_size(&bytes), LIMIT, NULL,
                         frame);
}

static void hear(uint64_t id)
{
    struct jd_wire_frame frame;
    ck_assert_int_eq(look(&frame), JD_WIRE_MESSAGE);
    ck_assert_uint_eq(frame.message->id, id);
    jd__message__free_unpacked(frame.message, NULL);
    jd__wire_bytes_consume(&bytes, frame.bytes);
}

static void expect_broken(void)
{
    struct jd_wire_frame frame;
    ck_assert_int_eq(look(&frame), JD_WIRE_BROKEN);
    ck_assert_ptr_nonnull(strstr(frame.why, "its MAC is wrong"));
}

START_TEST(what_was_sent_is_read)
{
    struct jd_wire_frame frame;
    set_up();
    for (uint64_t i = 0; i < 300; i++)
        say(i, (size_t)i);
    for (uint64_t i = 0; i < 300; i++)
        hear(i);
    ck_assert_uint_eq(jd__bytes_size(&bytes), 0);
    ck_assert_int_eq(look(&frame), JD_WIRE_PARTIAL);
    tear_down();
}
END_TEST

/* Of any size, several or one after the other. */
START_TEST(batches_are_read)
{
    uint64_t next = 0;
    set_up();
    for (uint64_t i = 0; i < 2000; i++) {
        append(i, i % 97 == 96 ? JD_SEAL_BATCH + i : i % 50);
        if (i % 7 && i % 5)
            continue;
        jd__seal_close(&sent, &bytes);
        while (i % 3 == 0 && next <= i)
            hear(next++);
    }
    jd__seal_close(&sent, &bytes);
    while (next < 2000)
        hear(next++);
    ck_assert_uint_eq(jd__bytes_size(&bytes), 0);
    tear_down();
}
END_TEST

/* 16 small ones have one MAC; none is handled before all are there. */
START_TEST(a_batch_has_one_mac)
{
    struct jd_wire_frame frame;
    set_up();
    append(1, 20);
    size_t each = bytes.end;
    for (uint64_t i = 2; i <= 16; i++)
        append(i, 20);
    ck_assert_uint_eq(bytes.end, 16 * each);
    jd__seal_close(&sent, &bytes);
    size_t all = bytes.end;
    jd__seal_close(&sent, &bytes);
    ck_assert_uint_eq(bytes.end, all);
    for (size_t size = 0; size < all; size++)
        ck_assert_int_eq(
            jd__seal_next(&received, bytes.data, size, LIMIT, NULL, &frame),
            JD_WIRE_PARTIAL);
    ck_assert_uint_eq(all, 16 * each + JD_SEAL_SIZE);
    for (uint64_t i = 1; i <= 16; i++)
        hear(i);
    ck_assert_uint_eq(jd__bytes_size(&bytes), 0);
    tear_down();
}
END_TEST

/* A long frame does not hold up those before it, nor those behind it. */
START_TEST(a_long_frame_is_a_batch_of_its_own)
{
    struct jd_wire_frame frame;
    set_up();
    append(0, 20);
    append(1, 20);
    size_t small = bytes.end + JD_SEAL_SIZE;
    append(2, JD_SEAL_BATCH);
    size_t large = bytes.end + JD_SEAL_SIZE;
    append(3, 20);
    jd__seal_close(&sent, &bytes);
    ck_assert_int_eq(
        jd__seal_next(&received, bytes.data, small, LIMIT, NULL, &frame),
        JD_WIRE_MESSAGE);
    jd__message__free_unpacked(frame.message, NULL);
    jd__wire_bytes_consume(&bytes, frame.bytes);
    hear(1);
    ck_assert_uint_eq(bytes.begin, small);
    hear(2);
    ck_assert_uint_eq(bytes.begin, large);
    hear(3);
    tear_down();
}
END_TEST

/* Joined frames without an end would have us keep them all. */
START_TEST(a_batch_has_an_end)
{
    static uint8_t data[2 * JD_SEAL_BATCH];
    struct jd_wire_frame frame;
    set_up();
    for (size_t at = 0; at < sizeof data; at += 64) {
        jd__wire_put_u32(data + at, 64 - JD_WIRE_HEADER);
        jd__seal_join(data + at);
    }
    ck_assert_int_eq(
        jd__seal_next(&received, data, JD_SEAL_BATCH - 64, LIMIT, NULL, &frame),
        JD_WIRE_PARTIAL);
    ck_assert_int_eq(
        jd__seal_next(&received, data, sizeof data, LIMIT, NULL, &frame),
        JD_WIRE_BROKEN);
    ck_assert_str_eq(
        frame.why, "a batch of 16384 bytes and more, where 16384 are allowed");
    tear_down();
}
END_TEST

/* Byte by byte; only the whole is looked at. */
START_TEST(half_a_frame_is_half_a_frame)
{
    struct jd_wire_frame frame;
    set_up();
    say(7, 100);
    for (size_t size = 0; size < bytes.end; size++) {
        ck_assert_int_eq(
            jd__seal_next(&received, bytes.data, size, LIMIT, NULL, &frame),
            JD_WIRE_PARTIAL);
        if (size >= JD_WIRE_HEADER)
            ck_assert_uint_eq(frame.bytes, bytes.end);
    }
    hear(7);
    tear_down();
}
END_TEST

/* Of both frames and the MAC; a changed length may wait for what does not come,
 * but is never right. */
START_TEST(each_bit_counts)
{
    struct jd_wire_frame frame;
    uint8_t copy[200];
    set_up();
    append(1, 20);
    size_t second = bytes.end;
    say(2, 20);
    size_t size = bytes.end;
    ck_assert_uint_le(size, sizeof copy);
    memcpy(copy, bytes.data, size);
    for (size_t i = 0; i < 8 * size; i++) {
        bool is_length = i < 8 * JD_WIRE_HEADER ||
                         (i >= 8 * second && i < 8 * (second + JD_WIRE_HEADER));
        bytes.data[i / 8] ^= (uint8_t)(1 << i % 8);
        if (is_length)
            ck_assert_int_ne(look(&frame), JD_WIRE_MESSAGE);
        else
            expect_broken();
        memcpy(bytes.data, copy, size);
    }
    hear(1);
    hear(2);
    tear_down();
}
END_TEST

START_TEST(none_is_left_out_or_said_twice)
{
    uint8_t copy[200];
    set_up();
    say(1, 20);
    size_t size = bytes.end;
    memcpy(copy, bytes.data, size);
    hear(1);
    uint8_t *at = jd__wire_bytes_reserve(&bytes, size);
    memcpy(at, copy, size);
    bytes.end += size;
    expect_broken();
    jd__wire_bytes_consume(&bytes, size);
    say(2, 20);
    say(3, 20);
    jd__wire_bytes_consume(&bytes, jd__bytes_size(&bytes) / 2);
    expect_broken();
    tear_down();
}
END_TEST

START_TEST(another_key_is_wrong)
{
    set_up();
    jd__seal_begin(&received, other_key);
    say(1, 20);
    expect_broken();
    tear_down();
}
END_TEST

START_TEST(a_bare_frame_is_none)
{
    struct jd_seal bare = { .is_on = false };
    Jd__Message message = JD__MESSAGE__INIT;
    Jd__Leave leave = JD__LEAVE__INIT;
    struct jd_wire_frame frame;
    set_up();
    message.body_case = JD__MESSAGE__BODY_LEAVE;
    message.leave = &leave;
    for (int i = 0; i < 10; i++)
        ck_assert(jd__seal_append(&bare, &bytes, &message));
    expect_broken();
    jd__wire_bytes_finish(&bytes);
    ck_assert(jd__seal_append(&bare, &bytes, &message));
    ck_assert_int_eq(
        jd__seal_next(&bare, bytes.data, bytes.end, LIMIT, NULL, &frame),
        JD_WIRE_MESSAGE);
    jd__message__free_unpacked(frame.message, NULL);
    tear_down();
}
END_TEST

START_TEST(a_frame_over_the_limit_is_broken_at_once)
{
    static uint8_t header[JD_WIRE_HEADER] = { 1, 0, 1 };
    struct jd_wire_frame frame;
    set_up();
    ck_assert_int_eq(
        jd__seal_next(&received, header, sizeof header, LIMIT, NULL, &frame),
        JD_WIRE_BROKEN);
    tear_down();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("seal");
    TCase *tcase = unit_case(suite, "seal");
    tcase_add_test(tcase, what_was_sent_is_read);
    tcase_add_test(tcase, batches_are_read);
    tcase_add_test(tcase, a_batch_has_one_mac);
    tcase_add_test(tcase, a_long_frame_is_a_batch_of_its_own);
    tcase_add_test(tcase, a_batch_has_an_end);
    tcase_add_test(tcase, half_a_frame_is_half_a_frame);
    tcase_add_test(tcase, each_bit_counts);
    tcase_add_test(tcase, none_is_left_out_or_said_twice);
    tcase_add_test(tcase, another_key_is_wrong);
    tcase_add_test(tcase, a_bare_frame_is_none);
    tcase_add_test(tcase, a_frame_over_the_limit_is_broken_at_once);
    return unit_main(suite);
}

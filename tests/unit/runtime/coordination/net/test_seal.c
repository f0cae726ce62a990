/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_seal.c - frames with a MAC: what was sent is read, and nothing that was
 * changed, left out, said twice or turned round.
 */
#include "runtime/coordination/net/seal.h"
#include "tests/unit/unit.h"

#include <stdio.h>

enum { LIMIT = 4096 };

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

static void say(uint64_t id, size_t size)
{
    static uint8_t value[LIMIT];
    Jd__Message message = JD__MESSAGE__INIT;
    Jd__Delete body = JD__DELETE__INIT;
    message.id = id;
    body.key = jd__wire_bytes(value, size);
    message.body_case = JD__MESSAGE__BODY_DELETE;
    message.delete_ = &body;
    ck_assert(jd__seal_append(&sent, &bytes, &message));
}

/* The first frame's result, without taking it. */
static enum jd_wire_result look(struct jd_wire_frame *frame)
{
    return jd__seal_next(&received, bytes.data + bytes.begin,
                         jd__bytes_size(&bytes), LIMIT, NULL, frame);
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

START_TEST(each_bit_counts)
{
    uint8_t copy[200];
    set_up();
    say(1, 20);
    size_t size = bytes.end;
    ck_assert_uint_le(size, sizeof copy);
    memcpy(copy, bytes.data, size);
    for (size_t i = 8 * JD_WIRE_HEADER; i < 8 * size; i++) {
        bytes.data[i / 8] ^= (uint8_t)(1 << i % 8);
        expect_broken();
        memcpy(bytes.data, copy, size);
    }
    hear(1);
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
    static uint8_t header[JD_WIRE_HEADER] = { 1, 16 };
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
    tcase_add_test(tcase, half_a_frame_is_half_a_frame);
    tcase_add_test(tcase, each_bit_counts);
    tcase_add_test(tcase, none_is_left_out_or_said_twice);
    tcase_add_test(tcase, another_key_is_wrong);
    tcase_add_test(tcase, a_bare_frame_is_none);
    tcase_add_test(tcase, a_frame_over_the_limit_is_broken_at_once);
    return unit_main(suite);
}

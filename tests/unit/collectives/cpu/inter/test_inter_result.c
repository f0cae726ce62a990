/* SPDX-License-Identifier: BSD-3-Clause */
/* test_inter_result.c - what comes by messages is checked before it is used
 * as a number. */
#include "collectives/cpu/inter/inter_result.h"
#include "tests/unit/unit.h"

#include <string.h>

enum { SIZE = 5, GROUP = 2, MOST = 100 };

static const struct jd_inter_ends ends = { .operation = "jd_psum",
                                           .from_process = 7,
                                           .from = 3,
                                           .to_process = 1,
                                           .to = 0 };

static struct jd_inter_result good(void)
{
    struct jd_inter_result s;
    memset(&s, 0, sizeof s);
    s.head.kind = JD_INTER_RESULT;
    s.votes[0] = (struct jd_vote){ .member = 3, .count = 2 };
    s.votes[1].member = s.failed = -1;
    return s;
}

static jd_status check(const struct jd_inter_result *result)
{
    return jd__inter_result_check(result, GROUP, SIZE, MOST, &ends);
}

START_TEST(what_can_be_is_taken)
{
    struct jd_inter_result s = good();
    UNIT_OK(check(&s));
    s.failed = 4;
    s.status = JD_RESOURCE_EXHAUSTED;
    s.votes[1] = (struct jd_vote){ .member = 4, .count = 1 };
    s.bytes = MOST;
    UNIT_OK(check(&s));
}
END_TEST

START_TEST(a_number_that_cannot_be_is_refused)
{
    struct jd_inter_result s[11];
    for (int i = 0; i < 11; i++)
        s[i] = good();
    s[0].votes[0].member = SIZE;
    s[1].votes[0].member = -1;
    s[2].votes[0].count = GROUP + 1;
    s[3].votes[0].count = 0;
    s[4].votes[1].member = SIZE;
    s[5].votes[1].member = -2;
    s[6].failed = SIZE;
    s[7].failed = -2;
    s[8].failed = 1; /* of nothing */
    s[9].failed = 1, s[9].status = 77;
    s[10].bytes = MOST + 1;
    for (int i = 0; i < 11; i++)
        ck_assert_int_eq(check(&s[i]), JD_INTERNAL);
    UNIT_FAILS(check(&s[0]), JD_INTERNAL,
               "jd_psum: what process 7 (member 3) says of 2 members "
               "cannot be (member 5, -1, failed -1, 0 bytes); do all "
               "processes run the same version of jd?");
}
END_TEST

START_TEST(a_transfer_is_no_result)
{
    struct jd_inter_result s = good();
    s.head.kind = JD_INTER_SEND;
    s.head.signature = (struct jd_signature){ .activity = JD_ACTIVITY_SEND,
                                              .source = -1,
                                              .count = 9 };
    ck_assert_int_eq(check(&s), JD_ABORTED);
    s.head.kind = JD_INTER_RECEIVE_ANY_SIZE;
    s.head.signature.activity = JD_ACTIVITY_RECV_ANY_SIZE;
    UNIT_FAILS(
        check(&s), JD_ABORTED,
        "jd_psum: process 7 (member 3) calls jd_recv_any_size of 9 x "
        "not a jd_dtype with process 1 (member 0), which calls jd_psum; a "
        "jd_send() has its jd_recv() there at the same place among the "
        "calls, and all members must make the same collectives in the "
        "same order");
    s.head.kind = 0x7f7f7f7f7f7f7f7f;
    UNIT_FAILS(check(&s), JD_ABORTED,
               "jd_psum: process 7 (member 3) sends data with process 1 "
               "(member 0), which calls jd_psum; a jd_send() has its jd_recv() "
               "there at the same place among the calls, and all members must "
               "make the same collectives in the same order");
}
END_TEST

/* Whatever is taken, no index that comes out of it is outside. */
START_TEST(any_bytes_are_refused_or_harmless)
{
    struct jd_inter_result s;
    uint64_t state = 1;
    int taken = 0;
    for (int n = 0; n < 200000; n++) {
        unsigned char *bytes = (unsigned char *)&s;
        s = good();
        for (int i = 0; i < 3; i++) {
            state = state * UINT64_C(6364136223846793005) + 1;
            bytes[(state >> 40) % sizeof s] = (unsigned char)(state >> 33);
        }
        if (check(&s) != JD_OK)
            continue;
        taken++;
        ck_assert(s.votes[0].member >= 0 && s.votes[0].member < SIZE);
        ck_assert(s.votes[1].member >= -1 && s.votes[1].member < SIZE);
        ck_assert(s.failed >= -1 && s.failed < SIZE && s.bytes <= MOST);
    }
    ck_assert_int_gt(taken, 0);
}
END_TEST

/* ---- as a message -------------------------------------------------------- */

/* Right in front of data, and the same when it has come; its length. */
static size_t expect_trip(const struct jd_inter_result *sent)
{
    _Alignas(16) char space[JD_INTER_RESULT_SPACE + 16],
        other[JD_INTER_RESULT_SPACE];
    char *data = space + JD_INTER_RESULT_SPACE;
    struct jd_inter_result came;
    memset(space, 0x7f, sizeof space);
    memset(other, 0x7f, sizeof other);
    char *message = jd__inter_result_pack(sent, data);
    ck_assert(message >= space && data[0] == 0x7f);
    size_t length = (size_t)(data - message);
    ck_assert_int_eq(length % 16, 0);
    memcpy(other, message, length);
    ck_assert_uint_eq(jd__inter_result_unpack(other, &came), length);
    ck_assert_mem_eq(&came, sent, sizeof came);
    return length;
}

START_TEST(what_all_say_goes_without_votes)
{
    struct jd_inter_result s = good();
    s.head.signature.count = s.votes[0].signature.count = 1000;
    s.is_seen = 1;
    s.bytes = 8;
    ck_assert_uint_lt(expect_trip(&s), JD_INTER_RESULT_SPACE / 2);
    s.failed = 1;
    s.status = JD_DATA_LOSS;
    ck_assert_uint_eq(expect_trip(&s), JD_INTER_RESULT_SPACE);
    s = good();
    s.votes[1] =
        (struct jd_vote){ .signature.count = 3, .member = 4, .count = 1 };
    ck_assert_uint_eq(expect_trip(&s), JD_INTER_RESULT_SPACE);
}
END_TEST

START_TEST(a_short_one_is_checked_as_a_long_one)
{
    _Alignas(16) char space[JD_INTER_RESULT_SPACE] = { 0 };
    struct jd_inter_result s = good(), came;
    s.votes[0].member = SIZE;
    char *message = jd__inter_result_pack(&s, space + sizeof space);
    memmove(space, message, (size_t)(space + sizeof space - message));
    jd__inter_result_unpack(space, &came);
    ck_assert_int_eq(check(&came), JD_INTERNAL);
}
END_TEST

/* ---- merging ------------------------------------------------------------ */

/* Members' calls are told apart by their counts; -1: none; 100 and more: comes
 * with a status. */
static struct jd_inter_result said_by(int first, int n, const int *calls)
{
    struct jd_inter_result r;
    jd__inter_result_clear(&r);
    r.is_seen = 1;
    for (int i = 0; i < n; i++) {
        struct jd_signature s = { .activity = JD_ACTIVITY_PSUM,
                                  .source = -1,
                                  .count = (uint64_t)(calls[i] % 100) };
        s.status = calls[i] >= 100 ? JD_RESOURCE_EXHAUSTED : JD_OK;
        jd__inter_result_add(&r, &s, first + i);
    }
    return r;
}

static void expect_votes(const struct jd_inter_result *r, int first,
                         int agreeing, int odd, int others)
{
    ck_assert_int_eq(r->votes[0].member, first);
    ck_assert_int_eq(r->votes[0].count, agreeing);
    ck_assert_int_eq(r->votes[1].member, odd);
    if (odd >= 0)
        ck_assert_int_eq(r->votes[1].count, others);
}

START_TEST(who_says_the_same_is_one_vote)
{
    struct jd_inter_result r = said_by(0, 4, (int[]){ 5, 5, 5, 5 });
    expect_votes(&r, 0, 4, -1, 0);
    ck_assert(jd__inter_result_agrees(&r));
    r = said_by(2, 4, (int[]){ 5, 6, 5, 6 });
    expect_votes(&r, 2, 2, 3, 2);
    ck_assert(!jd__inter_result_agrees(&r));
    ck_assert_int_eq((int)r.head.signature.count, 5);
}
END_TEST

START_TEST(who_comes_with_a_status_is_told)
{
    struct jd_inter_result a = said_by(0, 2, (int[]){ 5, 5 });
    struct jd_inter_result b = said_by(2, 3, (int[]){ 5, 105, 105 });
    jd__inter_result_merge(&a, &b);
    expect_votes(&a, 0, 5, -1, 0);
    ck_assert_int_eq(a.failed, 3);
    ck_assert_int_eq(a.status, JD_RESOURCE_EXHAUSTED);
    ck_assert(!jd__inter_result_agrees(&a));
    ck_assert(a.is_seen);
    b.is_seen = 0;
    jd__inter_result_merge(&a, &b);
    ck_assert(!a.is_seen);
}
END_TEST

/* Both ends of an exchange merge the other's into their own. */
START_TEST(both_ends_have_the_same)
{
    uint64_t state = 7;
    for (int n = 0; n < 20000; n++) {
        int calls[8], cut;
        for (int i = 0; i < 8; i++) {
            state = state * UINT64_C(6364136223846793005) + 1;
            calls[i] = (int)(state >> 40) % 4 + (state >> 60 == 3 ? 100 : 0);
        }
        cut = 1 + (int)(state >> 33) % 7;
        struct jd_inter_result a = said_by(0, cut, calls);
        struct jd_inter_result b = said_by(cut, 8 - cut, calls + cut);
        struct jd_inter_result below = a, above = b;
        jd__inter_result_merge(&below, &b);
        jd__inter_result_merge(&above, &a);
        for (int i = 0; i < 2; i++) {
            ck_assert_int_eq(below.votes[i].member, above.votes[i].member);
            if (below.votes[i].member < 0)
                continue;
            ck_assert_int_eq(below.votes[i].count, above.votes[i].count);
            ck_assert(jd__signature_agrees(&below.votes[i].signature,
                                           &above.votes[i].signature));
        }
        ck_assert_int_eq(below.failed, above.failed);
        ck_assert_int_eq(below.votes[0].member, 0);
    }
}
END_TEST

/* As a message behind which are its data: its length with them. */
static size_t make_message(const struct jd_inter_result *said, char *space)
{
    char *message = jd__inter_result_pack(said, space + JD_INTER_RESULT_SPACE);
    size_t length = (size_t)(space + JD_INTER_RESULT_SPACE - message);
    memmove(space, message, length);
    return length + said->bytes;
}

/* By the short way and by the long one. */
START_TEST(what_is_alike_is_merged_at_once)
{
    _Alignas(16) char space[JD_INTER_RESULT_SPACE];
    struct jd_inter_result a = said_by(3, 2, (int[]){ 5, 5 });
    struct jd_inter_result b = said_by(0, 2, (int[]){ 5, 5 }), merged = a;
    uint32_t bytes = 77;
    b.is_seen = 0;
    b.bytes = 8;
    size_t came = make_message(&b, space);
    jd__inter_result_merge(&merged, &b);
    ck_assert(jd__inter_result_merge_like(&a, space, came, SIZE, 8, &bytes));
    ck_assert_mem_eq(&a, &merged, sizeof a);
    ck_assert_uint_eq(bytes, 8);
}
END_TEST

static void expect_unlike(const struct jd_inter_result *own,
                          const struct jd_inter_result *said, size_t more)
{
    _Alignas(16) char space[JD_INTER_RESULT_SPACE];
    struct jd_inter_result result = *own;
    uint32_t bytes = 77;
    size_t came = make_message(said, space) + more;
    ck_assert(
        !jd__inter_result_merge_like(&result, space, came, SIZE, 8, &bytes));
    ck_assert_mem_eq(&result, own, sizeof result);
    ck_assert_uint_eq(bytes, 77);
}

START_TEST(what_is_not_alike_is_left)
{
    struct jd_inter_result own = said_by(0, 2, (int[]){ 5, 5 });
    struct jd_inter_result like = said_by(2, 2, (int[]){ 5, 5 });
    struct jd_inter_result unlike[] = { said_by(2, 2, (int[]){ 6, 6 }),
                                        said_by(2, 2, (int[]){ 5, 6 }),
                                        said_by(2, 2, (int[]){ 5, 105 }),
                                        like,
                                        like,
                                        like,
                                        like };
    unlike[3].votes[0].member = SIZE;
    unlike[4].votes[0].member = -1;
    unlike[5].votes[0].count = SIZE + 1;
    unlike[6].votes[0].count = 0;
    for (int i = 0; i < 7; i++)
        expect_unlike(&own, &unlike[i], 0);
    expect_unlike(&own, &like, 1); /* bytes that nobody told of */
    like.bytes = 9;                /* more than there may be */
    expect_unlike(&own, &like, 0);
    like.bytes = 0;
    own = said_by(0, 2, (int[]){ 5, 6 });
    expect_unlike(&own, &like, 0);
    own = said_by(0, 2, (int[]){ 5, 105 });
    expect_unlike(&own, &like, 0);
}
END_TEST

/* Nor is what is no result, or less than one. */
START_TEST(short_bytes_are_left)
{
    _Alignas(16) char space[JD_INTER_RESULT_SPACE] = { 0 };
    struct jd_inter_result own = said_by(0, 2, (int[]){ 5, 5 });
    struct jd_inter_result like = said_by(2, 2, (int[]){ 5, 5 });
    uint32_t bytes;
    ck_assert(!jd__inter_result_merge_like(&own, space, sizeof space, SIZE, 8,
                                           &bytes));
    size_t came = make_message(&like, space);
    for (size_t n = 0; n < came; n++)
        ck_assert(
            !jd__inter_result_merge_like(&own, space, n, SIZE, 8, &bytes));
    ck_assert(jd__inter_result_merge_like(&own, space, came, SIZE, 8, &bytes));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("inter_result");
    TCase *tcase = unit_case(suite, "results");
    tcase_add_test(tcase, what_can_be_is_taken);
    tcase_add_test(tcase, a_number_that_cannot_be_is_refused);
    tcase_add_test(tcase, a_transfer_is_no_result);
    tcase_add_test(tcase, any_bytes_are_refused_or_harmless);
    tcase_add_test(tcase, what_all_say_goes_without_votes);
    tcase_add_test(tcase, a_short_one_is_checked_as_a_long_one);
    tcase = unit_case(suite, "merging");
    tcase_add_test(tcase, who_says_the_same_is_one_vote);
    tcase_add_test(tcase, who_comes_with_a_status_is_told);
    tcase_add_test(tcase, both_ends_have_the_same);
    tcase_add_test(tcase, what_is_alike_is_merged_at_once);
    tcase_add_test(tcase, what_is_not_alike_is_left);
    tcase_add_test(tcase, short_bytes_are_left);
    return unit_main(suite);
}

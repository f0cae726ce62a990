/* SPDX-License-Identifier: BSD-3-Clause */
/* test_inter_result.c - what comes by messages is checked before it is used
 * as a number. */
#include "collectives/cpu/inter/inter_result.h"
#include "tests/unit/unit.h"

#include <string.h>

enum { SIZE = 5, TEAM = 2, MOST = 100 };

static const struct jd_inter_ends ends = { .operation = "jd_psum",
                                           .from_process = 7,
                                           .from = 3,
                                           .to_process = 1,
                                           .to = 0 };

static struct jd_inter_result_head good(void)
{
    struct jd_inter_result_head s;
    memset(&s, 0, sizeof s);
    s.head.kind = JD_INTER_SUMMARY;
    s.voices[0] = (struct jd_vote){ .member = 3, .count = 2 };
    s.voices[1].member = s.failed = -1;
    return s;
}

static jd_status check(const struct jd_inter_result_head *summary)
{
    return jd__inter_result_check(summary, TEAM, SIZE, MOST, &ends);
}

START_TEST(what_can_be_is_taken)
{
    struct jd_inter_result_head s = good();
    UNIT_OK(check(&s));
    s.failed = 4;
    s.status = JD_RESOURCE_EXHAUSTED;
    s.voices[1] = (struct jd_vote){ .member = 4, .count = 1 };
    s.bytes = MOST;
    UNIT_OK(check(&s));
}
END_TEST

START_TEST(a_number_that_cannot_be_is_refused)
{
    struct jd_inter_result_head s[11];
    for (int i = 0; i < 11; i++)
        s[i] = good();
    s[0].voices[0].member = SIZE;
    s[1].voices[0].member = -1;
    s[2].voices[0].count = TEAM + 1;
    s[3].voices[0].count = 0;
    s[4].voices[1].member = SIZE;
    s[5].voices[1].member = -2;
    s[6].failed = SIZE;
    s[7].failed = -2;
    s[8].failed = 1; /* of nothing */
    s[9].failed = 1, s[9].status = 77;
    s[10].bytes = MOST + 1;
    for (int i = 0; i < 11; i++)
        ck_assert_int_eq(check(&s[i]), JD_INTERNAL);
    UNIT_FAILS(check(&s[0]), JD_INTERNAL,
               "jd_psum: what process 7 (member 3) says of its host's 2 "
               "members cannot be (member 5, -1, failed -1, 0 bytes); do all "
               "processes run the same version of jd?");
}
END_TEST

START_TEST(a_transfer_is_no_summary)
{
    struct jd_inter_result_head s = good();
    s.head.kind = JD_INTER_SEND;
    s.head.signature = (struct jd_signature){ .activity = JD_ACTIVITY_SEND,
                                              .source = -1,
                                              .count = 9 };
    ck_assert_int_eq(check(&s), JD_ABORTED);
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
    struct jd_inter_result_head s;
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
        ck_assert(s.voices[0].member >= 0 && s.voices[0].member < SIZE);
        ck_assert(s.voices[1].member >= -1 && s.voices[1].member < SIZE);
        ck_assert(s.failed >= -1 && s.failed < SIZE && s.bytes <= MOST);
    }
    ck_assert_int_gt(taken, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("between_summary");
    TCase *tcase = unit_case(suite, "summaries");
    tcase_add_test(tcase, what_can_be_is_taken);
    tcase_add_test(tcase, a_number_that_cannot_be_is_refused);
    tcase_add_test(tcase, a_transfer_is_no_summary);
    tcase_add_test(tcase, any_bytes_are_refused_or_harmless);
    return unit_main(suite);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* test_service_preemption.c - preemption as the service sees it. */
#include "tests/unit/service.h"

static void preempt(struct peer *peer)
{
    Jd__Preempted body = JD__PREEMPTED__INIT;
    tell(peer, JD__MESSAGE__BODY_PREEMPTED, &body);
}

static void step(struct peer *peer, uint64_t round, int64_t at)
{
    Jd__Step body = JD__STEP__INIT;
    body.round = round;
    body.step = at;
    tell(peer, JD__MESSAGE__BODY_STEP, &body);
}

static void acknowledge(struct peer *peer, uint64_t round)
{
    Jd__Acknowledge body = JD__ACKNOWLEDGE__INIT;
    body.round = round;
    tell(peer, JD__MESSAGE__BODY_ACKNOWLEDGE, &body);
}

static void expect_preemption(struct peer *peer, uint64_t round, unsigned by)
{
    Jd__Message *message = take(peer, JD__MESSAGE__BODY_PREEMPTION);
    ck_assert_uint_eq(message->id, 0);
    ck_assert_uint_eq(message->preemption->round, round);
    ck_assert_uint_eq(message->preemption->process, by);
    drop(message);
}

static void expect_decision(struct peer *peer, uint64_t round, int64_t at)
{
    Jd__Message *message = take(peer, JD__MESSAGE__BODY_DECISION);
    ck_assert_uint_eq(message->decision->round, round);
    ck_assert_int_eq(message->decision->step, at);
    drop(message);
}

static void start_round(int count, int by)
{
    start(count);
    start_joined(count);
    preempt(&peers[by]);
    for (int i = 0; i < count; i++)
        expect_preemption(&peers[i], 1, (unsigned)by);
}

START_TEST(all_stop_after_the_highest_step)
{
    start_round(3, 1);
    step(&peers[0], 1, 5);
    step(&peers[1], 1, 9);
    expect_all_quiet();
    step(&peers[2], 1, -1);
    for (int i = 0; i < 3; i++)
        expect_decision(&peers[i], 1, 10);
    expect_all_quiet();
    finish();
}
END_TEST

START_TEST(steps_are_any_number)
{
    start_round(2, 0);
    step(&peers[0], 1, -1);
    step(&peers[1], 1, -1);
    expect_decision(&peers[0], 1, 0);
    finish();
    start_round(2, 0);
    step(&peers[0], 1, INT64_MAX);
    step(&peers[1], 1, 0);
    expect_decision(&peers[1], 1, INT64_MAX);
    finish();
}
END_TEST

START_TEST(a_round_ends_when_all_have_acknowledged)
{
    start_round(2, 0);
    preempt(&peers[1]); /* in the round already */
    step(&peers[0], 1, 1);
    step(&peers[1], 1, 2);
    for (int i = 0; i < 2; i++)
        expect_decision(&peers[i], 1, 3);
    step(&peers[1], 1, 50); /* too late to count */
    acknowledge(&peers[0], 1);
    acknowledge(&peers[0], 1);
    preempt(&peers[1]); /* it has not acknowledged: still the first */
    expect_all_quiet();
    acknowledge(&peers[1], 1);
    expect_all_quiet();
    preempt(&peers[1]);
    for (int i = 0; i < 2; i++)
        expect_preemption(&peers[i], 2, 1);
    step(&peers[0], 1, 70); /* of the round before */
    acknowledge(&peers[0], 1);
    acknowledge(&peers[1], 1);
    step(&peers[0], 2, 7);
    expect_all_quiet();
    step(&peers[1], 2, 6);
    for (int i = 0; i < 2; i++)
        expect_decision(&peers[i], 2, 8);
    finish();
}
END_TEST

START_TEST(a_signal_after_ones_own_acknowledgement_begins_the_next)
{
    start_round(2, 0);
    step(&peers[0], 1, 1);
    step(&peers[1], 1, 2);
    for (int i = 0; i < 2; i++)
        expect_decision(&peers[i], 1, 3);
    acknowledge(&peers[0], 1);
    preempt(&peers[0]);
    expect_all_quiet();
    acknowledge(&peers[1], 1);
    for (int i = 0; i < 2; i++)
        expect_preemption(&peers[i], 2, 0);
    finish();
}
END_TEST

START_TEST(those_who_leave_are_not_asked)
{
    start_round(4, 0);
    step(&peers[0], 1, 4);
    step(&peers[1], 1, 3);
    leave(&peers[2], false, NO_DEADLINE);
    expect_all_quiet();
    leave(&peers[3], true, 0);
    drop(take_reply(&peers[3], 2, JD_OK));
    for (int i = 0; i < 2; i++)
        expect_decision(&peers[i], 1, 5);
    acknowledge(&peers[0], 1);
    leave(&peers[1], false, NO_DEADLINE);
    preempt(&peers[0]); /* the round was over with that */
    expect_preemption(&peers[0], 2, 0);
    expect_all_quiet();
    finish();
}
END_TEST

START_TEST(a_step_counts_though_its_process_leaves)
{
    start_round(2, 0);
    step(&peers[1], 1, 40);
    leave(&peers[1], false, NO_DEADLINE);
    step(&peers[0], 1, 4);
    expect_decision(&peers[0], 1, 41);
    finish();
}
END_TEST

START_TEST(one_who_comes_back_hears_it_again)
{
    start_round(2, 0);
    step(&peers[0], 1, 5);
    for (int round = 0; round < 2; round++) {
        lose(&peers[1], ETIMEDOUT);
        Jd__Hello hello = make_hello(1, 2, "h0");
        hello.is_back = true;
        accept_peer(&peers[1]);
        say_hello(&peers[1], &open_auth, &hello);
        expect_welcome(&peers[1], &open_auth);
        expect_preemption(&peers[1], 1, 0);
        if (round == 0) {
            expect_quiet(&peers[1]);
            step(&peers[1], 1, 8);
            expect_decision(&peers[0], 1, 9);
        }
        expect_decision(&peers[1], 1, 9);
    }
    acknowledge(&peers[1], 1);
    expect_all_quiet();
    finish();
}
END_TEST

START_TEST(before_all_have_joined_there_is_no_round)
{
    start(2);
    meet(&peers[1], 1, 2, "h0");
    preempt(&peers[1]);
    step(&peers[1], 0, 7);
    step(&peers[1], 1, 7);
    acknowledge(&peers[1], 0);
    expect_all_quiet();
    meet(&peers[0], 0, 2, "h0");
    for (int i = 0; i < 2; i++)
        join(&peers[i], 1000);
    for (int i = 0; i < 2; i++)
        expect_ok(&peers[i], 1);
    preempt(&peers[1]);
    for (int i = 0; i < 2; i++)
        expect_preemption(&peers[i], 1, 1);
    finish();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("service rounds");
    TCase *tcase = unit_case(suite, "rounds");
    tcase_add_test(tcase, all_stop_after_the_highest_step);
    tcase_add_test(tcase, steps_are_any_number);
    tcase_add_test(tcase, a_round_ends_when_all_have_acknowledged);
    tcase_add_test(tcase,
                   a_signal_after_ones_own_acknowledgement_begins_the_next);
    tcase_add_test(tcase, those_who_leave_are_not_asked);
    tcase_add_test(tcase, a_step_counts_though_its_process_leaves);
    tcase_add_test(tcase, one_who_comes_back_hears_it_again);
    tcase_add_test(tcase, before_all_have_joined_there_is_no_round);
    return unit_main(suite);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* test_service_stacks.c - who asks for a stack gets it from its process, or a
 * sentence. */
#include "tests/unit/service.h"

/* ---- helpers ------------------------------------------------------------ */

static struct peer *const observer = &peers[9];

static void start_observed(int count)
{
    start(count);
    start_joined(count);
    come_as(observer, JD__ROLE__OBSERVER);
}

static uint64_t ask_stack(struct peer *peer, uint32_t process)
{
    Jd__StackOf body = JD__STACK_OF__INIT;
    body.process = process;
    return ask(peer, JD__MESSAGE__BODY_STACK_OF, &body, 15000);
}

static void expect_show(int i, uint64_t number)
{
    Jd__Message *message = take(&peers[i], JD__MESSAGE__BODY_SHOW);
    ck_assert_uint_eq(message->show->number, number);
    drop(message);
}

static void tell_stack(int i, uint64_t number, jd_status status,
                       const char *text)
{
    Jd__Stack body = JD__STACK__INIT;
    body.number = number;
    body.status = (int32_t)status;
    body.text = (char *)text;
    tell(&peers[i], JD__MESSAGE__BODY_STACK, &body);
}

static void expect_stack(struct peer *peer, uint64_t id, const char *text)
{
    expect_fails(peer, id, JD_OK, text); /* that is, with this text */
}

/* ---- who may ask -------------------------------------------------------- */

/* On another host, where there is neither a secret nor munge. */
START_TEST(who_may_be_anybody_sees_none)
{
    start(3);
    start_joined(3);
    observer->owner = JD_OWNER_ANYBODY;
    come_as(observer, JD__ROLE__OBSERVER);
    expect_fails(
        observer, ask_stack(observer, 1), JD_PERMISSION_DENIED,
        "process 1 (train, pid 101 on h0): its stack is shown only to who "
        "shows whose it is, and this job has no way to know that of another "
        "host: set JD_SECRET_FILE, the same for the job and jd-info, or ask on "
        "the host of process 0");
    expect_all_quiet();
    finish();
}
END_TEST

/* ---- an answer ---------------------------------------------------------- */

START_TEST(the_process_is_asked_and_its_answer_passed_on)
{
    start_observed(3);
    uint64_t id = ask_stack(observer, 1);
    expect_show(1, 1);
    expect_all_quiet();
    tell_stack(1, 1, JD_OK, "#0 here\n");
    expect_stack(observer, id, "process 1 (train, pid 101 on h0):\n#0 here\n");
    expect_all_quiet();
    finish();
}
END_TEST

START_TEST(what_the_process_says_against_it_is_passed_on)
{
    start_observed(3);
    uint64_t id = ask_stack(observer, 1);
    expect_show(1, 1);
    tell_stack(1, 1, JD_PERMISSION_DENIED, "it has JD_STACK=0");
    expect_fails(observer, id, JD_PERMISSION_DENIED,
                 "process 1 (train, pid 101 on h0): it has JD_STACK=0");
    finish();
}
END_TEST

/* What was read before somebody asked is not the answer. */
START_TEST(each_gets_what_was_read_since)
{
    start_observed(3);
    uint64_t first = ask_stack(observer, 1), second = ask_stack(observer, 1);
    uint64_t third = ask_stack(observer, 1), other = ask_stack(observer, 2);
    for (uint64_t number = 1; number <= 3; number++)
        expect_show(1, number);
    expect_show(2, 4);
    tell_stack(1, 2, JD_OK, "a");
    expect_stack(observer, first, "process 1 (train, pid 101 on h0):\na");
    expect_stack(observer, second, "process 1 (train, pid 101 on h0):\na");
    expect_all_quiet();
    tell_stack(1, 3, JD_OK, "b");
    expect_stack(observer, third, "process 1 (train, pid 101 on h0):\nb");
    tell_stack(1, UINT64_MAX, JD_OK, "nobody has asked");
    expect_all_quiet();
    tell_stack(2, 4, JD_OK, "c");
    expect_stack(observer, other, "process 2 (train, pid 102 on h1):\nc");
    finish();
}
END_TEST

START_TEST(a_process_may_ask_too_and_waits_for_nobody)
{
    start_observed(3);
    uint64_t id = ask_stack(&peers[0], 1);
    expect_show(1, 1);
    Jd__Inquiry body = JD__INQUIRY__INIT;
    uint64_t table = ask(observer, JD__MESSAGE__BODY_INQUIRY, &body, 0);
    Jd__Message *message = take_reply(observer, table, JD_OK);
    ck_assert_str_eq(message->reply->rows[0]->waits, "");
    drop(message);
    tell_stack(1, 1, JD_OK, "a");
    expect_stack(&peers[0], id, "process 1 (train, pid 101 on h0):\na");
    finish();
}
END_TEST

START_TEST(an_observer_that_has_gone_is_not_answered)
{
    start_observed(3);
    ask_stack(observer, 1);
    expect_show(1, 1);
    lose(observer, 0);
    tell_stack(1, 1, JD_OK, "a");
    pass(20);
    expect_quiet(observer);
    finish();
}
END_TEST

/* ---- of those that give up a wait ---------------------------------------- */

static uint64_t give_up(int i, uint32_t process)
{
    Jd__StackOf body = JD__STACK_OF__INIT;
    body.process = process;
    body.gives_up = true;
    return ask(&peers[i], JD__MESSAGE__BODY_STACK_OF, &body, 5000);
}

static void tell_shown(int i, uint32_t process)
{
    Jd__StackShown body = JD__STACK_SHOWN__INIT;
    body.process = process;
    tell(&peers[i], JD__MESSAGE__BODY_STACK_SHOWN, &body);
}

/* The others, whose end is the job's, stay until it is shown. */
START_TEST(one_shows_it_and_then_the_others_go_on)
{
    start_observed(4);
    uint64_t first = give_up(0, 1), second = give_up(2, 1);
    expect_show(1, 1);
    tell_stack(1, 1, JD_OK, "a");
    expect_stack(&peers[0], first, "process 1 (train, pid 101 on h0):\na");
    uint64_t third = give_up(3, 1);
    tell_shown(2, 1); /* it has shown nothing */
    expect_all_quiet();
    tell_shown(0, 1);
    expect_stack(&peers[2], second, "");
    expect_stack(&peers[3], third, "");
    expect_all_quiet();
    finish();
}
END_TEST

START_TEST(who_comes_within_a_minute_goes_on_at_once)
{
    start_observed(3);
    uint64_t first = give_up(0, 1);
    expect_show(1, 1);
    tell_stack(1, 1, JD_OK, "a");
    expect_stack(&peers[0], first, "process 1 (train, pid 101 on h0):\na");
    tell_shown(0, 1);
    expect_stack(&peers[2], give_up(2, 1), "");
    pass(61);
    give_up(2, 1);
    expect_show(1, 2);
    finish();
}
END_TEST

START_TEST(who_only_looks_gets_it_beside_them)
{
    start_observed(3);
    uint64_t first = give_up(0, 1), second = give_up(2, 1);
    uint64_t id = ask_stack(observer, 1);
    expect_show(1, 1);
    expect_show(1, 2);
    tell_stack(1, 2, JD_OK, "a");
    expect_stack(&peers[0], first, "process 1 (train, pid 101 on h0):\na");
    expect_stack(observer, id, "process 1 (train, pid 101 on h0):\na");
    tell_shown(0, 1);
    expect_stack(&peers[2], second, "");
    finish();
}
END_TEST

START_TEST(who_dies_while_showing_it_holds_nobody)
{
    start_observed(3);
    uint64_t first = give_up(0, 1), second = give_up(2, 1);
    expect_show(1, 1);
    tell_stack(1, 1, JD_PERMISSION_DENIED, "no");
    expect_fails(&peers[0], first, JD_PERMISSION_DENIED,
                 "process 1 (train, pid 101 on h0): no");
    lose(&peers[0], ETIMEDOUT);
    expect_stack(&peers[2], second, "");
    finish();
}
END_TEST

START_TEST(a_number_of_no_process_is_not_shown)
{
    start_observed(3);
    tell_shown(0, 3);
    tell_shown(0, UINT32_MAX);
    tell_shown(0, 1);
    expect_all_quiet();
    finish();
}
END_TEST

/* ---- no answer ---------------------------------------------------------- */

START_TEST(who_is_not_there_is_not_asked)
{
    start(3);
    come_as(observer, JD__ROLE__OBSERVER);
    expect_fails(observer, ask_stack(observer, 3), JD_INVALID_ARGUMENT,
                 "there is no process 3: the job's last is 2");
    expect_fails(observer, ask_stack(observer, UINT32_MAX), JD_INVALID_ARGUMENT,
                 "there is no process 4294967295: the job's last is 2");
    expect_fails(observer, ask_stack(observer, 2), JD_FAILED_PRECONDITION,
                 "process 2: it shows no stack: it is not in the job yet");
    finish();
}
END_TEST

START_TEST(who_has_failed_or_is_cut_off_is_not_asked)
{
    start_observed(3);
    lose(&peers[1], ETIMEDOUT);
    expect_fails(observer, ask_stack(observer, 1), JD_FAILED_PRECONDITION,
                 "process 1 (train, pid 101 on h0): it shows no stack: its "
                 "connection is lost; ask again when it is back");
    lose(&peers[2], 0);
    expect_fails(observer, ask_stack(observer, 2), JD_FAILED_PRECONDITION,
                 "process 2 (train, pid 102 on h1): it shows no stack: "
                 "connection closed without shutdown (killed or crashed)");
    finish();
}
END_TEST

START_TEST(a_death_is_the_end_of_the_wait)
{
    start_observed(3);
    uint64_t id = ask_stack(observer, 1), other = ask_stack(observer, 2);
    lose(&peers[1], 0);
    expect_fails(observer, id, JD_UNAVAILABLE,
                 "process 1 (train, pid 101 on h0) was asked for its stack, "
                 "and then its connection has ended");
    expect_quiet(observer);
    expect_show(2, 2);
    tell_stack(2, 2, JD_OK, "a");
    expect_stack(observer, other, "process 2 (train, pid 102 on h1):\na");
    finish();
}
END_TEST

START_TEST(who_does_not_answer_is_named_when_the_time_is_up)
{
    start_observed(3);
    pass(2);
    uint64_t id = ask_stack(observer, 1);
    expect_show(1, 1);
    pass(14.9);
    expect_quiet(observer);
    pass(0.2);
    expect_fails(observer, id, JD_DEADLINE_EXCEEDED,
                 "process 1 (train, pid 101 on h0) has not shown its stack "
                 "within 15 s, and was last heard 17 s ago; one that is "
                 "stopped (SIGSTOP, a debugger) cannot: see on its host what "
                 "ps -o stat,wchan -p 101 says");
    tell_stack(1, 1, JD_OK, "too late");
    expect_all_quiet();
    finish();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("service_stacks");
    TCase *tcase = unit_case(suite, "an answer");
    tcase_add_test(tcase, who_may_be_anybody_sees_none);
    tcase_add_test(tcase, the_process_is_asked_and_its_answer_passed_on);
    tcase_add_test(tcase, what_the_process_says_against_it_is_passed_on);
    tcase_add_test(tcase, each_gets_what_was_read_since);
    tcase_add_test(tcase, a_process_may_ask_too_and_waits_for_nobody);
    tcase_add_test(tcase, an_observer_that_has_gone_is_not_answered);
    tcase = unit_case(suite, "giving up");
    tcase_add_test(tcase, one_shows_it_and_then_the_others_go_on);
    tcase_add_test(tcase, who_comes_within_a_minute_goes_on_at_once);
    tcase_add_test(tcase, who_only_looks_gets_it_beside_them);
    tcase_add_test(tcase, who_dies_while_showing_it_holds_nobody);
    tcase_add_test(tcase, a_number_of_no_process_is_not_shown);
    tcase = unit_case(suite, "no answer");
    tcase_add_test(tcase, who_is_not_there_is_not_asked);
    tcase_add_test(tcase, who_has_failed_or_is_cut_off_is_not_asked);
    tcase_add_test(tcase, a_death_is_the_end_of_the_wait);
    tcase_add_test(tcase, who_does_not_answer_is_named_when_the_time_is_up);
    return unit_main(suite);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* test_service_blocked.c - waits for one that leaves are found out, others not;
 * and for whom waits are in the end. */
#include "tests/unit/waits.h"

/* ---- one that leaves ---------------------------------------------------- */

START_TEST(who_leaves_while_it_is_waited_for_has_failed)
{
    start(2);
    start_joined(2);
    say(0, psum);
    expect_all_quiet();
    now += 1;
    leave(&peers[1], false, 60000);
    answer_look(0, psum);
    pass(0.3);
    expect_all_quiet();
    pass(0.2);
    say_place(0, "jd_psum",
              "jd_psum of 1 x F64 over axis \"x\" (call 2 "
              "there), called at train.c:120 (step+0x4c)");
    answer_look(0, psum);
    pass(0.05);
    expect_failure_begins(&peers[0],
                          "process 1 (train, pid 101 on h0): it is in "
                          "jd_shutdown, and process 0 has waited 0.5 s for it "
                          "in jd_psum over axis \"x\" at train.c:120 "
                          "(step+0x4c); all members must make the same calls "
                          "before they leave, 0.03 s ago");
    finish();
}
END_TEST

START_TEST(who_was_gone_before_has_failed_too)
{
    start(2);
    start_joined(2);
    leave(&peers[1], false, 60000);
    say(0, psum);
    answer_look(0, psum);
    pass(0.5);
    answer_look(0, psum);
    pass(0.05);
    drop(take(&peers[0], JD__MESSAGE__BODY_FAILURE));
    finish();
}
END_TEST

/* The wait is over, or its process has not run since: nobody says it again. */
START_TEST(a_wait_that_is_not_confirmed_is_no_failure)
{
    start(2);
    start_joined(2);
    say(0, psum);
    leave(&peers[1], false, 60000);
    drop(take(&peers[0], JD__MESSAGE__BODY_LOOK));
    pass(0.5);
    drop(take(&peers[0], JD__MESSAGE__BODY_LOOK));
    say_at(0, &psum, 1); /* found out before it was asked the second time */
    pass(30);
    expect_all_quiet();
    finish();
}
END_TEST

START_TEST(what_comes_after_all_ends_the_suspicion)
{
    static const struct said other = {
        .wait = 1, .operation = "jd_psum", .waited = 0.6, .process = 2
    };
    start(3);
    start_joined(3);
    say(0, psum);
    leave(&peers[1], false, 60000);
    answer_look(0, other);
    pass(30);
    expect_all_quiet();
    finish();
}
END_TEST

START_TEST(what_crosses_a_network_has_more_time)
{
    struct said far = psum;
    far.is_far = true;
    start(2);
    start_joined(2);
    say(0, far);
    leave(&peers[1], false, 60000);
    answer_look(0, far);
    pass(4.9);
    expect_all_quiet();
    pass(0.2);
    answer_look(0, far);
    pass(0.05);
    drop(take(&peers[0], JD__MESSAGE__BODY_FAILURE));
    finish();
}
END_TEST

/* Process 0 waits on another host for a message of process 1, of which it has
 * had so many. */
static void say_has(uint64_t messages, uint64_t look)
{
    Jd__Blocked body = JD__BLOCKED__INIT;
    uint32_t missing = 1;
    uint64_t has = 1 + messages;
    body.wait = 1;
    body.operation = (char *)"jd_psum";
    body.waited_ms = 500;
    body.processes = &missing;
    body.n_processes = 1;
    body.messages = &has;
    body.n_messages = 1;
    body.is_far = true;
    body.look = look;
    tell(&peers[0], JD__MESSAGE__BODY_BLOCKED, &body);
}

/* The service asks the one that waits. */
static void answer_has(uint64_t messages)
{
    Jd__Message *look = take(&peers[0], JD__MESSAGE__BODY_LOOK);
    ck_assert_uint_eq(look->look->receiver, 0);
    say_has(messages, look->look->number);
    drop(look);
}

/* It asks the one that leaves. */
static uint64_t take_question(void)
{
    Jd__Message *look = take(&peers[1], JD__MESSAGE__BODY_LOOK);
    uint64_t number = look->look->number;
    ck_assert_uint_eq(look->look->receiver, 1);
    drop(look);
    return number;
}

static void say_sent(uint64_t messages, uint64_t look)
{
    Jd__Sent body = JD__SENT__INIT;
    body.look = look;
    body.messages = messages;
    tell(&peers[1], JD__MESSAGE__BODY_SENT, &body);
}

static void expect_counted(void)
{
    pass(0.05);
    expect_failure_begins(&peers[0],
                          "process 1 (train, pid 101 on h0): it is in "
                          "jd_shutdown, all of its messages have come, and "
                          "process 0 has waited 0.5 s for it in jd_psum; ");
}

static void start_leaving(uint64_t messages)
{
    start(2);
    start_joined(2);
    say_has(messages, 0);
    leave(&peers[1], false, 60000);
    answer_has(messages);
    say_sent(messages, take_question());
    pass(0.3);
    expect_all_quiet();
    pass(0.2);
}

START_TEST(where_nothing_is_under_way_less_time_is_enough)
{
    start_leaving(7);
    if (_i == 0) { /* the answers may come in any order */
        answer_has(7);
        say_sent(7, take_question());
    } else {
        say_sent(7, take_question());
        answer_has(7);
    }
    expect_counted();
    finish();
}
END_TEST

/* The last message of the one that leaves comes late. */
START_TEST(what_is_under_way_has_its_time)
{
    start_leaving(7);
    answer_has(7);
    say_sent(8, take_question());
    pass(4);
    expect_all_quiet();
    say_has(8, 3); /* the next wait, for what is never sent */
    expect_counted();
    finish();
}
END_TEST

START_TEST(what_is_under_way_does_not_take_for_ever)
{
    start_leaving(7);
    answer_has(7);
    say_sent(8, take_question());
    pass(4.6);
    answer_has(7);
    say_sent(8, take_question());
    pass(0.05);
    expect_failure_begins(&peers[0],
                          "process 1 (train, pid 101 on h0): it is in "
                          "jd_shutdown, and process 0 has waited 0.5 s for it "
                          "in jd_psum; ");
    finish();
}
END_TEST

/* An older question's answer does not count, nor that of another process. */
START_TEST(only_the_last_answer_counts)
{
    start_leaving(7);
    uint64_t look = take_question();
    answer_has(7);
    say_sent(7, look - 1);
    say_sent(7, look + 1);
    say_sent(7, 0);
    expect_all_quiet();
    say_sent(7, look);
    expect_counted();
    finish();
}
END_TEST

/* It gave up waiting in jd_shutdown before anybody needed it. */
START_TEST(who_has_left_and_is_waited_for_has_failed)
{
    start(2);
    start_joined(2);
    uint64_t id = leave(&peers[1], false, 1000);
    pass(1.05);
    drop(take_reply(&peers[1], id, JD_DEADLINE_EXCEEDED));
    lose(&peers[1], 0);
    pass(5);
    expect_all_quiet();
    say(0, psum);
    answer_look(0, psum);
    pass(0.5);
    answer_look(0, psum);
    pass(0.05);
    expect_failure_begins(&peers[0],
                          "process 1 (train, pid 101 on h0): it has left the "
                          "job, and process 0 has waited 0.5 s for it in "
                          "jd_psum over axis \"x\"; ");
    finish();
}
END_TEST

/* What a process with several threads says last may be another's. */
START_TEST(a_place_of_several_threads_is_not_said)
{
    struct said one = psum;
    one.has_threads = true;
    start(2);
    start_joined(2);
    say(0, one);
    leave(&peers[1], false, 60000);
    answer_look(0, one);
    pass(0.5);
    say_place(0, "jd_psum", "jd_psum, called at other.c:1");
    answer_look(0, one);
    pass(0.05);
    expect_failure_begins(&peers[0],
                          "process 1 (train, pid 101 on h0): it is in "
                          "jd_shutdown, and process 0 has waited 0.5 s for it "
                          "in jd_psum over axis \"x\"; all members ");
    finish();
}
END_TEST

/* ---- what others do ----------------------------------------------------- */

START_TEST(an_inquiry_has_those_say_what_they_do)
{
    Jd__Inquiry body = JD__INQUIRY__INIT;
    uint32_t one = 1;
    start(2);
    start_joined(2);
    body.processes = &one;
    body.n_processes = 1;
    uint64_t id = ask(&peers[0], JD__MESSAGE__BODY_INQUIRY, &body, 200);
    drop(take(&peers[1], JD__MESSAGE__BODY_LOOK));
    beat_doing(&peers[1], "jd_psum", 8, false, 2000);
    pass(0.2);
    Jd__Message *reply = take_reply(&peers[0], id, JD_OK);
    ck_assert_str_eq(reply->reply->text,
                     "process 1 (train, pid 101 on h0), last heard 0.2 s ago; "
                     "0.2 s ago it was in the program's own code, for 2 s "
                     "already, after jd_psum, its operation 8");
    drop(reply);
    finish();
}
END_TEST

/* ---- from peers that lie ------------------------------------------------ */

START_TEST(numbers_of_nobody_are_nobody)
{
    struct said lie = psum;
    lie.process = 4000000000u;
    start(2);
    start_joined(2);
    for (uint64_t wait = 1; wait < 200; wait++) {
        lie.wait = wait;
        say(0, lie);
    }
    leave(&peers[1], false, 60000);
    pass(30);
    expect_all_quiet();
    finish();
}
END_TEST

/* ---- whom it is for in the end ------------------------------------------ */

/* Process 0 asks for whom another waits in the end. */
static void expect_ends(uint32_t process, const char *operation, double waited,
                        const uint32_t *ranges, size_t count)
{
    Jd__Inquiry body = JD__INQUIRY__INIT;
    body.processes = &process;
    body.n_processes = 1;
    body.operation = (char *)operation;
    body.waited_ms = (uint64_t)(1000 * waited);
    uint64_t id = ask(&peers[0], JD__MESSAGE__BODY_INQUIRY, &body, 1000);
    Jd__Message *message = take(&peers[0], JD__MESSAGE__BODY_REPLY);
    ck_assert_uint_eq(message->id, id);
    ck_assert_uint_eq(message->reply->n_ranges, count);
    for (size_t i = 0; i < count; i++)
        ck_assert_uint_eq(message->reply->ranges[i], ranges[i]);
    drop(message);
}

/* Devices of a process wait for others: of which processes, and of a
 * communicator which members. */
static void say_members(int process, uint64_t wait, uint32_t other,
                        uint32_t member)
{
    Jd__Blocked body = JD__BLOCKED__INIT;
    uint32_t pair[] = { other, member };
    body.wait = wait;
    body.operation = (char *)psum.operation;
    body.waited_ms = 500;
    body.processes = &other;
    body.n_processes = 1;
    body.members = pair;
    body.n_members = 2;
    tell(&peers[process], JD__MESSAGE__BODY_BLOCKED, &body);
}

/* Process 0 asks about process 1: it is process 2, and that member of it. */
static void expect_member(uint32_t member)
{
    Jd__Inquiry body = JD__INQUIRY__INIT;
    uint32_t one = 1;
    body.processes = &one;
    body.n_processes = 1;
    body.operation = (char *)psum.operation;
    body.waited_ms = 1000;
    ask(&peers[0], JD__MESSAGE__BODY_INQUIRY, &body, 1000);
    Jd__Message *message = take(&peers[0], JD__MESSAGE__BODY_REPLY);
    ck_assert_uint_eq(message->reply->n_ranges, 2);
    ck_assert_uint_eq(message->reply->ranges[0], 2);
    ck_assert_uint_eq(message->reply->n_members, 2);
    ck_assert_uint_eq(message->reply->members[0], 2);
    ck_assert_uint_eq(message->reply->members[1], member);
    drop(message);
}

/* Each process has two: 1 waits for the first of 2, who waits for the second.
 */
START_TEST(which_members_a_wait_is_for_in_the_end)
{
    start(3);
    start_joined(3);
    say_members(1, 1, 2, 4);
    say_members(1, 2, 1, 2); /* a device waits for the one that speaks */
    expect_member(4);
    say_members(2, 1, 2, 5);
    expect_member(5);
    finish();
}
END_TEST

START_TEST(members_are_said_to_be_waited_for)
{
    start(2);
    start_joined(2);
    say_members(1, 1, 1, 3);
    Jd__Message *reply = take_reply(&peers[0],
                                    ask(&peers[0], JD__MESSAGE__BODY_INQUIRY,
                                        &(Jd__Inquiry)JD__INQUIRY__INIT, 0),
                                    JD_OK);
    ck_assert_str_eq(reply->reply->rows[1]->waits,
                     "waits in jd_psum over axis \"x\" for process 1 (member "
                     "3), for 0.5 s");
    drop(reply);
    finish();
}
END_TEST

START_TEST(whom_a_wait_is_for_in_the_end)
{
    const char *psum_x = psum.operation;
    start(6);
    start_joined(6);
    say(1, (struct said){ 1, psum_x, 0.5, 2, .is_far = true });
    say(2, (struct said){ 1, psum_x, 0.5, 5, .is_far = true });
    say(3, (struct said){ 1, "jd_barrier", 0.5, 4, .is_far = true });
    expect_ends(1, psum_x, 1, (uint32_t[]){ 5, 1 }, 2);
    expect_ends(2, psum_x, 1, (uint32_t[]){ 5, 1 }, 2);
    expect_ends(3, psum_x, 1, (uint32_t[]){ 3, 1 }, 2);
    expect_ends(4, psum_x, 1, (uint32_t[]){ 4, 1 }, 2);
    expect_ends(77, psum_x, 1, NULL, 0);
    say(5, (struct said){ 1, psum_x, 0.5, 1, .is_far = true }); /* a circle */
    expect_ends(1, psum_x, 1, NULL, 0);
    now += 3; /* what was told before that wait began is another's */
    say(1, (struct said){ 2, psum_x, 0.5, 2, .is_far = true });
    expect_ends(1, psum_x, 1, (uint32_t[]){ 2, 1 }, 2);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("service: waits that cannot end");
    TCase *tcase = unit_case(suite, "one that leaves");
    tcase_add_test(tcase, who_leaves_while_it_is_waited_for_has_failed);
    tcase_add_test(tcase, who_was_gone_before_has_failed_too);
    tcase_add_test(tcase, a_wait_that_is_not_confirmed_is_no_failure);
    tcase_add_test(tcase, what_comes_after_all_ends_the_suspicion);
    tcase_add_test(tcase, what_crosses_a_network_has_more_time);
    tcase_add_loop_test(tcase, where_nothing_is_under_way_less_time_is_enough,
                        0, 2);
    tcase_add_test(tcase, what_is_under_way_has_its_time);
    tcase_add_test(tcase, what_is_under_way_does_not_take_for_ever);
    tcase_add_test(tcase, only_the_last_answer_counts);
    tcase_add_test(tcase, who_has_left_and_is_waited_for_has_failed);
    tcase_add_test(tcase, a_place_of_several_threads_is_not_said);
    tcase = unit_case(suite, "what others do");
    tcase_add_test(tcase, an_inquiry_has_those_say_what_they_do);
    tcase = unit_case(suite, "peers that lie");
    tcase_add_test(tcase, numbers_of_nobody_are_nobody);
    tcase = unit_case(suite, "in the end");
    tcase_add_test(tcase, whom_a_wait_is_for_in_the_end);
    tcase_add_test(tcase, which_members_a_wait_is_for_in_the_end);
    tcase_add_test(tcase, members_are_said_to_be_waited_for);
    return unit_main(suite);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* test_service_blocked.c - waits that cannot end are found out, others not. */
#include "tests/unit/service.h"

/* ---- helpers ------------------------------------------------------------ */

/* A wait that process says it is in: wait, operation, seconds, for whom. */
struct said {
    uint64_t wait;
    const char *operation;
    double waited;
    uint32_t process;
    bool is_far, has_threads, is_transfer;
};

static void say_at(int process, const struct said *said, uint64_t look)
{
    Jd__Blocked body = JD__BLOCKED__INIT;
    uint32_t missing = said->process;
    body.wait = said->wait;
    body.operation = (char *)said->operation;
    body.waited_ms = (uint64_t)(1000 * said->waited);
    body.processes = &missing;
    body.n_processes = 1;
    body.is_far = said->is_far;
    body.is_alone = !said->has_threads;
    body.is_transfer = said->is_transfer;
    body.look = look;
    tell(&peers[process], JD__MESSAGE__BODY_BLOCKED, &body);
}

static void say(int process, struct said said)
{
    say_at(process, &said, 0);
}

/* The service asks, and the process says that it still waits. */
static void answer_look(int process, struct said said)
{
    Jd__Message *look = take(&peers[process], JD__MESSAGE__BODY_LOOK);
    say_at(process, &said, look->look->number);
    drop(look);
}

/* What it is in, for long, and where in its program. */
static void say_place(int process, const char *operation, const char *call)
{
    beat_calling(&peers[process], operation, 7, true, 20000, call);
}

static void expect_failure_begins(struct peer *peer, const char *text)
{
    Jd__Message *message = take(peer, JD__MESSAGE__BODY_FAILURE);
    message->failure->text[strlen(text)] = '\0';
    ck_assert_str_eq(message->failure->text, text);
    drop(message);
}

static void expect_failures(int count, const char *text)
{
    for (int i = 0; i < count; i++) {
        Jd__Message *message = take(&peers[i], JD__MESSAGE__BODY_FAILURE);
        ck_assert_str_eq(message->failure->text, text);
        drop(message);
    }
}

static void start_noticing(int count, double notice)
{
    struct jd_service_spec spec = make_spec(count);
    spec.notice = notice;
    start_spec(&spec);
    start_joined(count);
}

static const struct said psum = { .wait = 1,
                                  .operation = "jd_psum over axis \"x\"",
                                  .waited = 0.5,
                                  .process = 1 };

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

/* ---- in a circle -------------------------------------------------------- */

static const struct said over_a = { .wait = 1,
                                    .operation = "jd_psum over axis \"a\"",
                                    .waited = 20,
                                    .process = 1 };
static const struct said over_b = { .wait = 4,
                                    .operation = "jd_psum over axis \"b\"",
                                    .waited = 20,
                                    .process = 0 };

static void confirm_circle(struct said first, struct said second)
{
    say(0, first);
    say(1, second);
    answer_look(0, first);
    answer_look(1, second);
    pass(0.5);
    answer_look(0, first);
    answer_look(1, second);
    pass(0.05);
}

START_TEST(a_circle_of_waits_ends_the_job)
{
    start_noticing(3, 20);
    confirm_circle(over_a, over_b);
    expect_failures(
        3, "process 1 (train, pid 101 on h0): it waits in jd_psum over axis "
           "\"b\" for process 0, which waits in jd_psum over axis \"a\" for "
           "process 1, for 20 s: none of them can go on; all members must make "
           "the same calls in the same order, 0.03 s ago; it waits in jd_psum "
           "over axis \"b\" for process 0, for 20 s");
    finish();
}
END_TEST

static void expect_no_circle(struct said first, struct said second)
{
    start_noticing(2, 20);
    say(0, first);
    say(1, second);
    pass(10);
    expect_all_quiet();
    finish();
}

START_TEST(a_circle_is_one_only_where_it_is_certain)
{
    struct said same = over_b, short_one = over_b, threads = over_b;
    same.operation = over_a.operation; /* what is under way may come */
    short_one.waited = 19;
    threads.has_threads = true;
    expect_no_circle(over_a, same);
    expect_no_circle(over_a, short_one);
    expect_no_circle(over_a, threads);
}
END_TEST

START_TEST(a_circle_without_notices_is_left_alone)
{
    start_noticing(2, -1);
    say(0, over_a);
    say(1, over_b);
    pass(10);
    expect_all_quiet();
    finish();
}
END_TEST

/* Both ends of a transfer have to meet before anything is under way. */
START_TEST(two_that_send_to_each_other_are_a_circle)
{
    struct said there = { 1, "jd_send over axis \"x\"", 20, 1,
                          .is_transfer = true };
    struct said back = there;
    back.process = 0;
    start_noticing(2, 20);
    confirm_circle(there, back);
    expect_failure_begins(
        &peers[0], "process 1 (train, pid 101 on h0): it waits in jd_send over "
                   "axis \"x\" for process 0, which waits in jd_send over axis "
                   "\"x\" for process 1, for 20 s: none of them can go on; ");
    finish();
}
END_TEST

/* Each is asked by a Look of its own, so that all wait at one time. */
static void answer_looks(int count, const struct said *said)
{
    for (int i = 0; i < count; i++)
        answer_look(i, said[i]);
}

START_TEST(a_long_circle_is_said_in_short)
{
    enum { COUNT = 10 };
    struct said said[COUNT];
    start_noticing(COUNT, 20);
    for (int i = 0; i < COUNT; i++) {
        said[i] = (struct said){ 1, "jd_send", 20, (uint32_t)(i + 1) % COUNT,
                                 .is_transfer = true };
        say(i, said[i]);
    }
    answer_looks(COUNT, said);
    pass(0.5);
    answer_looks(COUNT, said);
    pass(0.05);
    Jd__Message *message = take(&peers[0], JD__MESSAGE__BODY_FAILURE);
    ck_assert_ptr_nonnull(strstr(message->failure->text,
                                 " for process 7, and so on, through 10 "
                                 "processes in all, for 20 s: none of them"));
    drop(message);
    finish();
}
END_TEST

/* It was certain of another circle, and may be over since. */
START_TEST(what_was_confirmed_before_is_asked_again)
{
    struct said third = over_b;
    start_noticing(3, 20);
    third.process = 0;
    say(0, over_a);
    say(1, over_b);
    answer_look(0, over_a);
    drop(take(&peers[1], JD__MESSAGE__BODY_LOOK));
    pass(0.5);
    answer_look(0, over_a); /* it is certain, and process 1 says nothing */
    drop(take(&peers[1], JD__MESSAGE__BODY_LOOK));
    third.wait = 5; /* another wait of process 1 */
    say(1, third);
    drop(take(&peers[0], JD__MESSAGE__BODY_LOOK));
    answer_look(1, third);
    pass(0.5);
    answer_look(1, third);
    drop(take(&peers[0], JD__MESSAGE__BODY_LOOK));
    pass(30);
    expect_all_quiet();
    finish();
}
END_TEST

/* ---- with barriers ------------------------------------------------------ */

static uint64_t arrive_alone(int process, const char *name)
{
    Jd__Arrive body = JD__ARRIVE__INIT;
    body.barrier = jd__wire_text(name);
    body.is_alone = true;
    return ask(&peers[process], JD__MESSAGE__BODY_ARRIVE, &body, 600000);
}

/* What a process asks when the notice about its wait is due. */
static void notice(int process, uint64_t wait)
{
    Jd__Inquiry body = JD__INQUIRY__INIT;
    body.wait = wait;
    uint64_t id = ask(&peers[process], JD__MESSAGE__BODY_INQUIRY, &body, 0);
    drop(take_reply(&peers[process], id, JD_OK));
}

static const struct said waits_for_1 = { .wait = 1,
                                         .operation = "jd_psum over axis \"x\"",
                                         .waited = 20,
                                         .process = 1 };

START_TEST(a_barrier_against_a_call_is_a_circle)
{
    start_noticing(2, 20);
    arrive_alone(1, "here");
    pass(20.1);
    say_place(0, "jd_psum",
              "jd_psum of 1 x F64 over axis \"x\" (call 2 "
              "there), called at train.c:120 (step+0x4c)");
    say(0, waits_for_1);
    answer_look(0, waits_for_1);
    drop(take(&peers[1], JD__MESSAGE__BODY_LOOK));
    say_place(1, "jd_wait_at_barrier",
              "jd_wait_at_barrier, called at \", called at read.c:58 (next)");
    pass(0.5);
    answer_look(0, waits_for_1);
    pass(0.05);
    expect_failure_begins(
        &peers[0],
        "process 0 (train, pid 100 on h0): it waits in jd_psum over axis "
        "\"x\" at train.c:120 (step+0x4c) for process 1, which waits at "
        "barrier \"here\" at read.c:58 (next) for process 0, for 20 s: none "
        "of them can go on; all members must make the same calls in the same "
        "order, ");
    finish();
}
END_TEST

/* The barrier's notice is the later one. */
START_TEST(a_call_against_a_barrier_is_a_circle)
{
    start_noticing(2, 20);
    uint64_t id = arrive_alone(1, "here");
    pass(10);
    say(0, waits_for_1);
    pass(10);
    expect_all_quiet();
    notice(1, id);
    pass(0.5);
    answer_look(0, waits_for_1);
    pass(0.5);
    answer_look(0, waits_for_1);
    pass(1);
    drop(take(&peers[1], JD__MESSAGE__BODY_LOOK));
    expect_all_quiet(); /* process 1 has not said where it waits */
    pass(1);
    drop(take(&peers[0], JD__MESSAGE__BODY_FAILURE));
    finish();
}
END_TEST

START_TEST(barriers_of_two_names_are_a_circle)
{
    start_noticing(2, 20);
    say_place(1, "jd_psum", "jd_psum, called at where.c:1");
    pass(0.01);
    arrive_alone(0, "a");
    uint64_t id = arrive_alone(1, "b");
    pass(20);
    notice(1, id);
    pass(0.5);
    drop(take(&peers[0], JD__MESSAGE__BODY_LOOK));
    drop(take(&peers[1], JD__MESSAGE__BODY_LOOK));
    say_place(0, "jd_wait_at_barrier", "jd_wait_at_barrier, called at a.c:1");
    beat_doing(&peers[1], "jd_wait_at_barrier", 8, true, 20000);
    pass(1.9);
    expect_all_quiet();
    pass(0.5);
    expect_failure_begins(
        &peers[1], "process 0 (train, pid 100 on h0): it waits at barrier "
                   "\"a\" at a.c:1 for process 1, which waits at barrier "
                   "\"b\" for process 0, for 22.8 s: none of them can go on; ");
    finish();
}
END_TEST

/* Both have said where: nobody is waited for. */
START_TEST(barriers_whose_places_are_known_end_at_once)
{
    start_noticing(2, 20);
    arrive_alone(0, "a");
    uint64_t id = arrive_alone(1, "b");
    pass(20);
    notice(1, id);
    pass(0.5);
    for (int i = 0; i < 2; i++) {
        drop(take(&peers[i], JD__MESSAGE__BODY_LOOK));
        say_place(i, "jd_wait_at_barrier", "it, called at a.c:1");
    }
    pass(0.4);
    drop(take(&peers[0], JD__MESSAGE__BODY_FAILURE));
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

/* A process with other threads, or a timeout of the program's own; one that
 * does not wait itself; one whose notice is not due. */
START_TEST(a_barrier_is_in_a_circle_only_where_it_is_certain)
{
    start_noticing(3, 20);
    uint64_t other = arrive(&peers[0], "a", 600000);
    uint64_t id = arrive_alone(1, "b");
    pass(20);
    notice(0, other);
    notice(1, id);
    pass(10);
    expect_all_quiet();
    arrive_alone(2, "c");
    withdraw(&peers[0], other);
    other = arrive_alone(0, "a");
    withdraw(&peers[1], id);
    pass(10);
    notice(0, other);
    pass(5);
    expect_all_quiet();
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
    say(1, (struct said){ 1, psum_x, 0.5, 2, true, false, false });
    say(2, (struct said){ 1, psum_x, 0.5, 5, true, false, false });
    say(3, (struct said){ 1, "jd_barrier", 0.5, 4, true, false, false });
    expect_ends(1, psum_x, 1, (uint32_t[]){ 5, 1 }, 2);
    expect_ends(2, psum_x, 1, (uint32_t[]){ 5, 1 }, 2);
    expect_ends(3, psum_x, 1, (uint32_t[]){ 3, 1 }, 2);
    expect_ends(4, psum_x, 1, (uint32_t[]){ 4, 1 }, 2);
    expect_ends(77, psum_x, 1, NULL, 0);
    say(5,
        (struct said){ 1, psum_x, 0.5, 1, true, false, false }); /* a circle */
    expect_ends(1, psum_x, 1, NULL, 0);
    now += 3; /* what was told before that wait began is another's */
    say(1, (struct said){ 2, psum_x, 0.5, 2, true, false, false });
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
    tcase = unit_case(suite, "in a circle");
    tcase_add_test(tcase, a_circle_of_waits_ends_the_job);
    tcase_add_test(tcase, a_circle_is_one_only_where_it_is_certain);
    tcase_add_test(tcase, a_circle_without_notices_is_left_alone);
    tcase_add_test(tcase, two_that_send_to_each_other_are_a_circle);
    tcase_add_test(tcase, a_long_circle_is_said_in_short);
    tcase_add_test(tcase, what_was_confirmed_before_is_asked_again);
    tcase = unit_case(suite, "with barriers");
    tcase_add_test(tcase, a_barrier_against_a_call_is_a_circle);
    tcase_add_test(tcase, a_call_against_a_barrier_is_a_circle);
    tcase_add_test(tcase, barriers_of_two_names_are_a_circle);
    tcase_add_test(tcase, barriers_whose_places_are_known_end_at_once);
    tcase_add_test(tcase, a_place_of_several_threads_is_not_said);
    tcase_add_test(tcase, a_barrier_is_in_a_circle_only_where_it_is_certain);
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

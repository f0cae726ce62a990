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
    bool is_far, has_threads;
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

static const struct said psum = { 1,     "jd_psum over axis \"x\"",
                                  0.5,   1,
                                  false, false };

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
    answer_look(0, psum);
    pass(0.05);
    expect_failure_begins(&peers[0],
                          "process 1 (train, pid 101 on h0): it is in "
                          "jd_shutdown, and process 0 has waited 0.5 s for it "
                          "in jd_psum over axis \"x\"; all members must make "
                          "the same calls before they leave, 0.03 s ago");
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
    static const struct said other = { 1, "jd_psum", 0.6, 2, false, false };
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

static const struct said over_a = { 1,     "jd_psum over axis \"a\"",
                                    20,    1,
                                    false, false };
static const struct said over_b = { 4,     "jd_psum over axis \"b\"",
                                    20,    0,
                                    false, false };

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
                     "0.2 s ago it was past jd_psum, its operation 8, for 2 s "
                     "already");
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

START_TEST(whom_a_wait_is_for_in_the_end)
{
    const char *psum_x = psum.operation;
    start(6);
    start_joined(6);
    say(1, (struct said){ 1, psum_x, 0.5, 2, true, false });
    say(2, (struct said){ 1, psum_x, 0.5, 5, true, false });
    say(3, (struct said){ 1, "jd_barrier", 0.5, 4, true, false });
    expect_ends(1, psum_x, 1, (uint32_t[]){ 5, 1 }, 2);
    expect_ends(2, psum_x, 1, (uint32_t[]){ 5, 1 }, 2);
    expect_ends(3, psum_x, 1, (uint32_t[]){ 3, 1 }, 2);
    expect_ends(4, psum_x, 1, (uint32_t[]){ 4, 1 }, 2);
    expect_ends(77, psum_x, 1, NULL, 0);
    say(5, (struct said){ 1, psum_x, 0.5, 1, true, false }); /* a circle */
    expect_ends(1, psum_x, 1, NULL, 0);
    now += 3; /* what was told before that wait began is another's */
    say(1, (struct said){ 2, psum_x, 0.5, 2, true, false });
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
    tcase_add_test(tcase, who_has_left_and_is_waited_for_has_failed);
    tcase = unit_case(suite, "in a circle");
    tcase_add_test(tcase, a_circle_of_waits_ends_the_job);
    tcase_add_test(tcase, a_circle_is_one_only_where_it_is_certain);
    tcase_add_test(tcase, a_circle_without_notices_is_left_alone);
    tcase = unit_case(suite, "what others do");
    tcase_add_test(tcase, an_inquiry_has_those_say_what_they_do);
    tcase = unit_case(suite, "peers that lie");
    tcase_add_test(tcase, numbers_of_nobody_are_nobody);
    tcase = unit_case(suite, "in the end");
    tcase_add_test(tcase, whom_a_wait_is_for_in_the_end);
    return unit_main(suite);
}

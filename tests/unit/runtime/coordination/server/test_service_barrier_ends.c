/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_service_barrier_ends.c - barriers whose time is up, that are cancelled,
 * or that somebody leaves or dies before.
 */
#include "tests/unit/service.h"

static const int first_two[] = { 0, 1, -1 };

/* Process 2 has died, and all that has been said. */
static void let_die(struct peer *peer, int error)
{
    lose(peer, error);
    pass(0.05);
    for (int i = 0; i < 10; i++) {
        if (peers[i].first == peers[i].last)
            continue;
        drop(take(&peers[i], JD__MESSAGE__BODY_FAILURE));
    }
}

/* ---- the time is up ----------------------------------------------------- */

START_TEST(each_caller_has_a_deadline_of_its_own)
{
    start(3);
    start_joined(3);
    uint64_t id = arrive(&peers[0], "b", 20);
    uint64_t other = arrive(&peers[1], "b", 5000);
    ck_assert_double_eq_tol(tick(), 1000.02, 1e-9);
    now += 0.0195;
    tick();
    expect_all_quiet();
    now += 0.0006;
    tick();
    expect_fails(
        &peers[0], id, JD_DEADLINE_EXCEEDED,
        "gave up after 0.0201 s, waiting for process 2 (train, pid 102 "
        "on h1), last heard 0.0201 s ago");
    expect_all_quiet();
    arrive(&peers[2], "b", 5000);
    expect_all_quiet(); /* who gave up is not counted any more */
    id = arrive(&peers[0], "b", 5000);
    expect_ok(&peers[0], id);
    expect_ok(&peers[1], other);
    expect_ok(&peers[2], 2);
    finish();
}
END_TEST

START_TEST(a_timeout_names_all_who_miss)
{
    start(12);
    start_joined(12);
    arrive_with(&peers[4], "else", (int[]){ 4, 5, -1 }, "", 90000);
    beat_doing(&peers[5], "jd_psum", 12, true, 4000);
    uint64_t id = arrive(&peers[0], "b", 1500);
    arrive(&peers[1], "b", 90000);
    now += 1.5;
    tick();
    expect_fails(
        &peers[0], id, JD_DEADLINE_EXCEEDED,
        "gave up after 1.5 s, waiting for processes 2-11 (all of h1, h2, h3, "
        "h4, h5): process 2 (train, pid 102 on h1), last heard 1.5 s ago; "
        "process 3 (train, pid 103 on h1), last heard 1.5 s ago; process 4 "
        "(train, pid 104 on h2), last heard 1.5 s ago; it waits at barrier "
        "\"else\", for 1.5 s; process 5 (train, pid 105 on h2), last heard 1.5 "
        "s ago; 1.5 s ago it was in jd_psum, its operation 12, for 4 s "
        "already; process 6 (train, pid 106 on h3), last heard 1.5 s ago; "
        "process 7 (train, pid 107 on h3), last heard 1.5 s ago; process 8 "
        "(train, pid 108 on h4), last heard 1.5 s ago; process 9 (train, pid "
        "109 on h4), last heard 1.5 s ago; and 2 more");
    finish();
}
END_TEST

static void expect_late(struct peer *peer, uint64_t id, const char *missing)
{
    Jd__Message *message = take_reply(peer, id, JD_DEADLINE_EXCEEDED);
    expect_processes(message->reply->ranges, message->reply->n_ranges, missing);
    drop(message);
}

/* Whose stack is worth a look: of each barrier the lowest; of a key nobody's.
 */
START_TEST(who_has_not_come_is_told_as_a_number_too)
{
    start(6);
    start_joined(6);
    uint64_t one = arrive_with(&peers[0], "a", (int[]){ 0, 3, 4, -1 }, "", 500);
    uint64_t other = arrive_with(&peers[1], "b", (int[]){ 1, 5, -1 }, "", 500);
    uint64_t key = get(&peers[2], "k", 500);
    uint64_t last =
        arrive_with(&peers[4], "a", (int[]){ 0, 3, 4, -1 }, "", 500);
    now += 0.6;
    tick();
    expect_late(&peers[0], one, "3 ");
    expect_late(&peers[1], other, "5 ");
    expect_late(&peers[4], last, "3 ");
    Jd__Message *message = take_reply(&peers[2], key, JD_DEADLINE_EXCEEDED);
    ck_assert_uint_eq(message->reply->n_ranges, 0);
    drop(message);
    finish();
}
END_TEST

/* By the deadline here, and by the caller's own. */
START_TEST(who_came_and_gave_up_is_not_to_blame)
{
    for (int way = 0; way < 2; way++) {
        start(3);
        start_joined(3);
        uint64_t id = arrive(&peers[1], "b", 1500);
        uint64_t early = arrive(&peers[0], "b", way ? 9000 : 500);
        now += 0.6;
        if (way)
            withdraw(&peers[0], early);
        tick();
        forget_messages(&peers[0]);
        now += 1;
        tick();
        expect_fails(&peers[1], id, JD_DEADLINE_EXCEEDED,
                     "gave up after 1.6 s, waiting for process 2 (train, pid "
                     "102 on h1), last heard 1.6 s ago; process 0 came and "
                     "gave up");
        finish();
    }
}
END_TEST

START_TEST(who_gave_up_and_came_again_waits)
{
    start(3);
    start_joined(3);
    uint64_t id = arrive(&peers[1], "b", 1500);
    arrive(&peers[0], "b", 500);
    now += 0.6;
    tick();
    forget_messages(&peers[0]);
    arrive(&peers[0], "b", 5000);
    now += 1;
    tick();
    expect_fails(&peers[1], id, JD_DEADLINE_EXCEEDED,
                 "gave up after 1.6 s, waiting for process 2 (train, pid 102 "
                 "on h1), last heard 1.6 s ago");
    finish();
}
END_TEST

START_TEST(a_withdrawn_wait_leaves_nothing)
{
    start(2);
    start_joined(2);
    uint64_t id = arrive(&peers[0], "b", NO_DEADLINE);
    withdraw(&peers[0], id);
    expect_all_quiet();
    id = cancel_barrier(&peers[1], "b");
    expect_fails(&peers[1], id, JD_NOT_FOUND, "nobody waits there");
    withdraw(&peers[0], 99);
    ck_assert_double_gt(tick(), now);
    finish();
}
END_TEST

START_TEST(who_waits_without_a_deadline_waits)
{
    struct jd_service_spec spec = make_spec(2);
    spec.heartbeat_timeout = -1;
    start_spec(&spec);
    start_joined(2);
    uint64_t id = arrive(&peers[0], "b", NO_DEADLINE);
    ck_assert(isinf(tick()));
    now += 1e9;
    ck_assert(isinf(tick()));
    expect_all_quiet();
    arrive(&peers[1], "b", 1);
    expect_ok(&peers[0], id);
    expect_ok(&peers[1], 2);
    finish();
}
END_TEST

/* Deadlines come in their order, whatever was withdrawn between. */
START_TEST(deadlines_come_in_order)
{
    enum { COUNT = 200 };
    uint64_t ids[COUNT];
    char name[16];
    int next = 0;
    start(2);
    start_joined(2);
    for (int i = 0; i < COUNT; i++) {
        snprintf(name, sizeof name, "b%d", i * 37 % COUNT);
        ids[i * 37 % COUNT] =
            arrive(&peers[0], name, 10 * (i * 37 % COUNT + 1));
    }
    for (int i = 0; i < COUNT; i += 3)
        withdraw(&peers[0], ids[i]);
    for (; next < COUNT; next++) {
        if (next % 3 == 0)
            continue;
        now = 1000 + 0.01 * (next + 1) + 1e-4;
        tick();
        drop(take_reply(&peers[0], ids[next], JD_DEADLINE_EXCEEDED));
        expect_all_quiet();
    }
    finish();
}
END_TEST

/* ---- cancelled, left, dead ---------------------------------------------- */

START_TEST(cancel_ends_it_for_all)
{
    start(3);
    start_joined(3);
    uint64_t id = arrive(&peers[0], "b", 1000);
    uint64_t other = arrive(&peers[1], "b", 1000);
    uint64_t by = cancel_barrier(&peers[2], "b");
    expect_fails(&peers[0], id, JD_CANCELLED, "cancelled by process 2");
    expect_fails(&peers[1], other, JD_CANCELLED, "cancelled by process 2");
    expect_ok(&peers[2], by);
    by = cancel_barrier(&peers[2], "b");
    expect_fails(&peers[2], by, JD_NOT_FOUND, "nobody waits there");
    finish();
}
END_TEST

START_TEST(a_helper_may_cancel)
{
    Jd__Hello hello = make_hello(0, 2, "h0");
    start(2);
    start_joined(2);
    hello.role = JD__ROLE__HELPER;
    accept_peer(&peers[9]);
    say_hello(&peers[9], &open_auth, &hello);
    expect_welcome(&peers[9], &open_auth);
    uint64_t id = arrive(&peers[0], "b", 1000);
    expect_ok(&peers[9], cancel_barrier(&peers[9], "b"));
    expect_fails(&peers[0], id, JD_CANCELLED, "cancelled by a helper");
    finish();
}
END_TEST

START_TEST(a_death_ends_those_that_wait_for_it)
{
    start(4);
    start_joined(4);
    uint64_t all = arrive(&peers[0], "all", NO_DEADLINE);
    uint64_t some =
        arrive_with(&peers[0], "some", (int[]){ 0, 2, -1 }, "", NO_DEADLINE);
    uint64_t others =
        arrive_with(&peers[1], "others", (int[]){ 1, 3, -1 }, "", NO_DEADLINE);
    lose(&peers[2], ECONNRESET);
    now += 0.02;
    tick();
    expect_all_quiet(); /* others may have died with it */
    now += 0.02;
    tick();
    for (int i = 0; i < 4; i++)
        if (i != 2)
            drop(take(&peers[i], JD__MESSAGE__BODY_FAILURE));
    static const char text[] = "process 2 (train, pid 102 on h1) has failed: "
                               "connection closed without shutdown (killed or "
                               "crashed)";
    for (int i = 0; i < 2; i++) {
        Jd__Message *m = take(&peers[0], JD__MESSAGE__BODY_REPLY);
        ck_assert(m->id == all || m->id == some);
        ck_assert_int_eq(m->reply->status, JD_ABORTED);
        ck_assert_str_eq(m->reply->text, text);
        drop(m);
    }
    expect_all_quiet();
    uint64_t late = arrive(&peers[3], "all", 1000);
    expect_fails(&peers[3], late, JD_ABORTED, text);
    late = arrive_with(&peers[3], "others", (int[]){ 1, 3, -1 }, "", 1000);
    expect_ok(&peers[3], late); /* those who live still meet */
    expect_ok(&peers[1], others);
    finish();
}
END_TEST

START_TEST(a_later_death_ends_barriers_at_once)
{
    start(4);
    start_joined(4);
    let_die(&peers[2], 0);
    uint64_t id =
        arrive_with(&peers[0], "b", (int[]){ 0, 1, 3, -1 }, "", NO_DEADLINE);
    lose(&peers[3], 0);
    drop(take_reply(&peers[0], id, JD_ABORTED));
    expect_all_quiet(); /* the first failure stands */
    finish();
}
END_TEST

/* It waits there itself, on a connection that lives: it reported an error. */
START_TEST(a_barrier_ends_though_the_failed_one_waits_there)
{
    start(3);
    start_joined(3);
    uint64_t id = arrive(&peers[0], "b", NO_DEADLINE);
    uint64_t own = arrive(&peers[1], "b", NO_DEADLINE);
    Jd__Report body = JD__REPORT__INIT;
    body.code = JD_INTERNAL;
    body.text = (char *)"no";
    tell(&peers[1], JD__MESSAGE__BODY_REPORT, &body);
    pass(0.05);
    drop(take(&peers[0], JD__MESSAGE__BODY_FAILURE));
    expect_fails(&peers[0], id, JD_ABORTED,
                 "process 1 (train, pid 101 on h0) has failed: reported an "
                 "error: INTERNAL: no");
    drop(take(&peers[1], JD__MESSAGE__BODY_FAILURE));
    drop(take_reply(&peers[1], own, JD_ABORTED));
    finish();
}
END_TEST

START_TEST(one_who_left_is_not_waited_for)
{
    static const char text[] = "process 2 (train, pid 102 on h1) has called "
                               "jd_shutdown and will not come";
    start(3);
    start_joined(3);
    uint64_t id = arrive(&peers[0], "b", NO_DEADLINE);
    uint64_t two = arrive_with(&peers[1], "two", first_two, "", NO_DEADLINE);
    leave(&peers[2], false, NO_DEADLINE);
    expect_fails(&peers[0], id, JD_ABORTED, text);
    id = arrive(&peers[0], "b", 1000);
    expect_fails(&peers[0], id, JD_ABORTED, text);
    expect_all_quiet();
    id = arrive_with(&peers[0], "two", first_two, "", 1000);
    expect_ok(&peers[0], id);
    expect_ok(&peers[1], two);
    finish();
}
END_TEST

START_TEST(a_lost_connection_withdraws_its_wait)
{
    start(3);
    start_joined(3);
    arrive(&peers[0], "b", NO_DEADLINE);
    lose(&peers[0], ETIMEDOUT); /* it may come back */
    uint64_t id = arrive(&peers[1], "b", 500);
    arrive(&peers[2], "b", 5000);
    now += 0.5;
    tick();
    expect_fails(&peers[1], id, JD_DEADLINE_EXCEEDED,
                 "gave up after 0.5 s, waiting for process 0 (train, pid 100 "
                 "on h0), last heard 0.5 s ago");
    finish();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("service barrier ends");
    TCase *tcase = unit_case(suite, "deadlines");
    tcase_add_test(tcase, each_caller_has_a_deadline_of_its_own);
    tcase_add_test(tcase, a_timeout_names_all_who_miss);
    tcase_add_test(tcase, who_has_not_come_is_told_as_a_number_too);
    tcase_add_test(tcase, who_came_and_gave_up_is_not_to_blame);
    tcase_add_test(tcase, who_gave_up_and_came_again_waits);
    tcase_add_test(tcase, a_withdrawn_wait_leaves_nothing);
    tcase_add_test(tcase, who_waits_without_a_deadline_waits);
    tcase_add_test(tcase, deadlines_come_in_order);
    tcase = unit_case(suite, "endings");
    tcase_add_test(tcase, cancel_ends_it_for_all);
    tcase_add_test(tcase, a_helper_may_cancel);
    tcase_add_test(tcase, a_death_ends_those_that_wait_for_it);
    tcase_add_test(tcase, a_later_death_ends_barriers_at_once);
    tcase_add_test(tcase, a_barrier_ends_though_the_failed_one_waits_there);
    tcase_add_test(tcase, one_who_left_is_not_waited_for);
    tcase_add_test(tcase, a_lost_connection_withdraws_its_wait);
    return unit_main(suite);
}

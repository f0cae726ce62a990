/* SPDX-License-Identifier: BSD-3-Clause */
/* test_service_joining.c - how all come together, come back, and part. */
#include "tests/unit/service.h"

/* ---- all join ----------------------------------------------------------- */

START_TEST(join_waits_for_all_and_says_who_shares_a_host)
{
    start(5);
    for (int i = 0; i < 5; i++) {
        const char *const hosts[] = { "h0", "h1", "h2" };
        const char *host = hosts[i / 2];
        meet(&peers[i], i, 5, host);
        expect_all_quiet();
        ck_assert_uint_eq(join(&peers[i], 1000), 1);
    }
    for (int i = 0; i < 5; i++) {
        Jd__Message *message = take_reply(&peers[i], 1, JD_OK);
        int hosts[5];
        ck_assert_uint_eq(
            jd__process_lists_unpack_hosts(message->reply->hosts,
                                           message->reply->n_hosts, hosts, 5),
            5);
        for (int j = 0; j < 5; j++)
            ck_assert_int_eq(hosts[j], j / 2);
        drop(message);
    }
    uint64_t id = join(&peers[1], 1000); /* again: it is done */
    expect_ok(&peers[1], id);
    finish();
}
END_TEST

START_TEST(join_names_the_absent)
{
    start(6);
    for (int i = 0; i < 4; i++)
        meet(&peers[i], i, 6, "h0");
    uint64_t id = join(&peers[0], 2500);
    lose(&peers[2], 0);
    beat_doing(&peers[1], "jd_psum", 3, true, 500);
    now += 2.4995;
    tick();
    expect_all_quiet();
    now += 0.001;
    tick();
    expect_fails(
        &peers[0], id, JD_DEADLINE_EXCEEDED,
        "gave up after 2.5 s, waiting for processes 1-5: process 1 (train, pid "
        "101 on h0), last heard 2.5 s ago; 2.5 s ago it was in jd_psum, its "
        "operation 3; process 2 (train, pid 102 on h0), which came and went "
        "again; process 3 "
        "(train, pid 103 on h0), last heard 2.5 s ago; process 4, which has "
        "not come; "
        "process 5, which has not come");
    finish();
}
END_TEST

/* Process 0 ends when its time is up, and all others with it. */
START_TEST(all_who_join_hear_who_is_absent)
{
    static const char text[] = "gave up after 1.5 s, waiting for process 2, "
                               "which has not come";
    start(4);
    meet(&peers[0], 0, 4, "h0");
    meet(&peers[1], 1, 4, "h0");
    meet(&peers[3], 3, 4, "h0");
    uint64_t first = join(&peers[0], 1500);
    now += 0.5;
    uint64_t second = join(&peers[1], 60000);
    uint64_t third = join(&peers[3], NO_DEADLINE);
    pass(1.1);
    expect_fails(&peers[0], first, JD_DEADLINE_EXCEEDED, text);
    expect_fails(&peers[1], second, JD_DEADLINE_EXCEEDED, text);
    expect_fails(&peers[3], third, JD_DEADLINE_EXCEEDED, text);
    join(&peers[0], 1000); /* once more: none of them has joined */
    meet(&peers[2], 2, 4, "h0");
    join(&peers[2], 1000);
    expect_all_quiet();
    finish();
}
END_TEST

START_TEST(one_who_went_before_all_had_joined_may_come_again)
{
    start(2);
    meet(&peers[1], 1, 2, "h1");
    join(&peers[1], 1000);
    lose(&peers[1], 0);
    Jd__Hello hello = make_hello(1, 2, "h1");
    hello.incarnation = 55;
    accept_peer(&peers[1]);
    say_hello(&peers[1], &open_auth, &hello);
    expect_welcome(&peers[1], &open_auth);
    meet(&peers[0], 0, 2, "h0");
    join(&peers[0], 1000);
    expect_all_quiet();
    uint64_t id = join(&peers[1], 1000);
    expect_ok(&peers[1], id);
    expect_ok(&peers[0], 1);
    finish();
}
END_TEST

/* Its time is up, or it has withdrawn, or it has left. */
START_TEST(one_who_gave_up_joining_has_not_joined)
{
    for (int way = 0; way < 4; way++) {
        start(3);
        for (int i = 0; i < 3; i++)
            meet(&peers[i], i, 3, "h0");
        uint64_t id = join(&peers[2], way == 0 ? 100 : 1000);
        now += 0.2;
        tick();
        if (way == 1) {
            withdraw(&peers[2], id);
        } else if (way > 1) {
            leave(&peers[2], true, 0);
            if (way == 3)
                lose(&peers[2], 0);
        }
        forget_messages(&peers[2]);
        join(&peers[0], 1000);
        join(&peers[1], 1000);
        expect_all_quiet();
        finish();
    }
}
END_TEST

START_TEST(nobody_joins_a_job_that_has_failed)
{
    start(3);
    for (int i = 0; i < 3; i++)
        meet(&peers[i], i, 3, "h0");
    join(&peers[1], 1000);
    uint64_t first = join(&peers[2], 1000);
    (void)first;
    report(&peers[1], JD__REPORT__KIND__ERROR, JD_INTERNAL, "no");
    lose(&peers[1], 0);
    join(&peers[0], 1000); /* the last: process 1 has no connection */
    pass(0.1);
    drop(take(&peers[0], JD__MESSAGE__BODY_FAILURE));
    drop(take(&peers[2], JD__MESSAGE__BODY_FAILURE));
    Jd__Hello hello = make_hello(1, 3, "h0");
    refuse(&hello, &open_auth, JD_ABORTED,
           "the job has failed: process 1 (train, pid 101 on h0): reported an "
           "error: INTERNAL: no, 0.03 s ago");
    finish();
}
END_TEST

/* ---- coming back -------------------------------------------------------- */

/* Process i again, after its connection was lost. */
static void come_back(struct peer *peer, int i, int count, uint64_t incarnation)
{
    Jd__Hello hello = make_hello(i, count, "h0");
    hello.is_back = true;
    hello.incarnation = incarnation;
    accept_peer(peer);
    say_hello(peer, &open_auth, &hello);
}

static uint64_t increment(struct peer *peer, uint64_t id)
{
    Jd__Increment body = JD__INCREMENT__INIT;
    body.key = jd__wire_text("n");
    body.by = 1;
    peer->last_id = id - 1;
    return ask(peer, JD__MESSAGE__BODY_INCREMENT, &body, 0);
}

START_TEST(one_who_comes_back_is_answered_again)
{
    start(2);
    start_joined(2);
    uint64_t id = increment(&peers[1], 2);
    expect_number(&peers[1], id, 1);
    lose(&peers[1], ETIMEDOUT);
    pass(1);
    expect_all_quiet();
    come_back(&peers[1], 1, 2, 7001);
    expect_welcome(&peers[1], &open_auth);
    increment(&peers[1], 2);
    expect_number(&peers[1], 2, 1);
    increment(&peers[1], 3);
    expect_number(&peers[1], 3, 2);
    finish();
}
END_TEST

START_TEST(one_who_passed_a_barrier_does_not_wait_in_the_next)
{
    start(2);
    start_joined(2);
    uint64_t id = arrive(&peers[1], "b", 5000);
    arrive(&peers[0], "b", 5000);
    expect_ok(&peers[0], 2);
    expect_ok(&peers[1], id); /* which is lost on the way */
    lose(&peers[1], ETIMEDOUT);
    come_back(&peers[1], 1, 2, 7001);
    expect_welcome(&peers[1], &open_auth);
    peers[1].last_id = id - 1;
    arrive(&peers[1], "b", 5000);
    expect_ok(&peers[1], id);
    finish();
}
END_TEST

START_TEST(heartbeats_and_gets_do_not_push_out_what_was_answered)
{
    start(2);
    start_joined(2);
    uint64_t id = increment(&peers[1], 2);
    expect_number(&peers[1], id, 1);
    for (uint64_t i = 0; i < 60; i++) {
        Jd__Heartbeat body = JD__HEARTBEAT__INIT;
        peers[1].last_id = UINT64_MAX - 1;
        ask(&peers[1], JD__MESSAGE__BODY_HEARTBEAT, &body, 0);
        peers[1].last_id = 3 + i;
        get(&peers[1], "n", 0);
        forget_messages(&peers[1]);
    }
    lose(&peers[1], ETIMEDOUT);
    come_back(&peers[1], 1, 2, 7001);
    expect_welcome(&peers[1], &open_auth);
    increment(&peers[1], 2);
    expect_number(&peers[1], 2, 1);
    finish();
}
END_TEST

START_TEST(the_old_connection_ends_where_the_new_one_comes)
{
    start(2);
    start_joined(2);
    struct peer *new = &peers[9];
    arrive(&peers[1], "b", 5000);
    come_back(new, 1, 2, 7001);
    expect_welcome(new, &open_auth);
    ck_assert(peers[1].is_ended);
    uint64_t id = arrive(&peers[0], "b", 5000);
    expect_all_quiet(); /* the old connection's wait is no more */
    new->last_id = 1;
    arrive(new, "b", 5000);
    expect_ok(new, 2);
    expect_ok(&peers[0], id);
    close_ended(&peers[1]);
    pass(1);
    expect_all_quiet();
    finish();
}
END_TEST

START_TEST(one_who_is_back_but_was_never_here_is_refused)
{
    start(2);
    meet(&peers[0], 0, 2, "h0");
    come_back(&peers[1], 1, 2, 7001);
    expect_refused(&peers[1], JD_ABORTED,
                   "it was connected to another start of this service, which "
                   "is gone; it should end");
    close_ended(&peers[1]);
    meet(&peers[1], 1, 2, "h1");
    finish();
}
END_TEST

START_TEST(another_incarnation_does_not_come_back)
{
    start(2);
    start_joined(2);
    come_back(&peers[9], 1, 2, 99);
    ck_assert(peers[9].is_ended);
    ck_assert(!peers[1].is_ended);
    forget_messages(&peers[9]);
    uint64_t id = set(&peers[1], "a", "b");
    expect_ok(&peers[1], id);
    finish();
}
END_TEST

/* The Welcome was lost on the way: it comes again as the same. */
START_TEST(the_same_process_may_meet_twice)
{
    start(2);
    meet(&peers[1], 1, 2, "h0");
    meet(&peers[9], 1, 2, "h0");
    ck_assert(peers[1].is_ended);
    ck_assert(!peers[9].is_ended);
    finish();
}
END_TEST

/* ---- all part ----------------------------------------------------------- */

START_TEST(process_0_leaves_last)
{
    start(3);
    start_joined(3);
    uint64_t ids[3];
    for (int i = 0; i < 3; i++) {
        expect_all_quiet();
        ids[i] = leave(&peers[i], false, 5000);
    }
    expect_quiet(&peers[0]);
    expect_ok(&peers[1], ids[1]);
    expect_ok(&peers[2], ids[2]);
    lose(&peers[1], 0);
    expect_quiet(&peers[0]);
    lose(&peers[2], 0);
    expect_ok(&peers[0], ids[0]);
    lose(&peers[0], 0);
    finish();
}
END_TEST

START_TEST(process_0_waits_a_second_for_the_others_to_close)
{
    start(2);
    start_joined(2);
    leave(&peers[1], false, NO_DEADLINE);
    uint64_t id = leave(&peers[0], false, NO_DEADLINE);
    expect_ok(&peers[1], 2);
    ck_assert_double_le(tick(), 1001);
    now += 0.99;
    tick();
    expect_quiet(&peers[0]);
    now += 0.02;
    tick();
    expect_ok(&peers[0], id);
    finish();
}
END_TEST

START_TEST(who_waits_to_leave_hears_for_whom)
{
    start(3);
    start_joined(3);
    uint64_t id = leave(&peers[1], false, 1500);
    beat_doing(&peers[2], "jd_psum", 9, false, 250);
    pass(1.5);
    expect_fails(
        &peers[1], id, JD_DEADLINE_EXCEEDED,
        "gave up after 1.5 s, waiting for processes 0,2: process 0 (train, pid "
        "100 on h0), last heard 1.5 s ago; process 2 (train, pid 102 on h1), "
        "last heard 1.5 s ago; 1.5 s ago it was in the program's own code, "
        "after jd_psum, its operation 9");
    lose(&peers[1], 0); /* it has left all the same */
    pass(0.1);
    expect_all_quiet();
    leave(&peers[2], false, 1500);
    leave(&peers[0], false, 1500);
    expect_ok(&peers[2], 2);
    lose(&peers[2], 0);
    expect_ok(&peers[0], 2);
    finish();
}
END_TEST

START_TEST(a_withdrawn_leave_counts_as_one)
{
    start(2);
    start_joined(2);
    uint64_t id = leave(&peers[1], false, 1500);
    withdraw(&peers[1], id);
    lose(&peers[1], 0);
    pass(2);
    expect_all_quiet();
    id = leave(&peers[0], false, 1500);
    expect_ok(&peers[0], id);
    finish();
}
END_TEST

START_TEST(at_once_waits_for_nobody)
{
    start(3);
    start_joined(3);
    uint64_t id = leave(&peers[1], true, 0);
    expect_fails(&peers[1], id, JD_OK, "");
    lose(&peers[1], 0);
    pass(1);
    expect_all_quiet();
    finish();
}
END_TEST

START_TEST(leaving_ends_with_a_death)
{
    start(3);
    start_joined(3);
    uint64_t id = leave(&peers[1], false, NO_DEADLINE);
    lose(&peers[2], ECONNRESET);
    pass(0.1);
    static const char text[] = "process 2 (train, pid 102 on h1): connection "
                               "closed without shutdown (killed or crashed), "
                               "0.03 s ago";
    Jd__Message *message = take(&peers[1], JD__MESSAGE__BODY_FAILURE);
    ck_assert_str_eq(message->failure->text, text);
    drop(message);
    expect_fails(&peers[1], id, JD_ABORTED, text);
    drop(take(&peers[0], JD__MESSAGE__BODY_FAILURE));
    id = leave(&peers[0], false, NO_DEADLINE);
    expect_fails(&peers[0], id, JD_ABORTED, text);
    finish();
}
END_TEST

START_TEST(one_who_dies_while_it_leaves_has_failed)
{
    start(2);
    start_joined(2);
    leave(&peers[1], false, NO_DEADLINE);
    lose(&peers[1], 0);
    pass(0.1);
    drop(take(&peers[0], JD__MESSAGE__BODY_FAILURE));
    finish();
}
END_TEST

/* It reported an error, and goes on to shut down. */
START_TEST(one_who_failed_stays_failed_when_it_leaves)
{
    Jd__Inquiry inquiry = JD__INQUIRY__INIT;
    start(2);
    start_joined(2);
    report(&peers[1], JD__REPORT__KIND__ERROR, JD_INTERNAL, "no");
    uint64_t id = leave(&peers[1], false, 5000); /* before it is said */
    pass(0.1);
    Jd__Message *message = take(&peers[0], JD__MESSAGE__BODY_FAILURE);
    expect_processes(message->failure->ranges, message->failure->n_ranges,
                     "1 ");
    drop(message);
    message = take(&peers[1], JD__MESSAGE__BODY_FAILURE);
    ck_assert(message->failure->includes_you);
    drop(message);
    drop(take_reply(&peers[1], id, JD_ABORTED));
    forget_messages(&peers[1]);
    id = leave(&peers[1], false, 5000);
    drop(take_reply(&peers[1], id, JD_ABORTED));
    id = ask(&peers[0], JD__MESSAGE__BODY_INQUIRY, &inquiry, 0);
    message = take_reply(&peers[0], id, JD_OK);
    ck_assert_int_eq(message->reply->rows[1]->state, JD__ROW__STATE__FAILED);
    ck_assert_str_eq(message->reply->rows[1]->failure,
                     "reported an error: INTERNAL: no");
    drop(message);
    finish();
}
END_TEST

START_TEST(one_who_has_left_need_not_wait_again)
{
    start(2);
    start_joined(2);
    uint64_t id = leave(&peers[1], false, 100);
    pass(0.2);
    drop(take_reply(&peers[1], id, JD_DEADLINE_EXCEEDED));
    id = leave(&peers[1], false, NO_DEADLINE);
    expect_ok(&peers[1], id);
    lose(&peers[1], 0);
    id = leave(&peers[0], false, NO_DEADLINE);
    expect_ok(&peers[0], id);
    finish();
}
END_TEST

/* Its report stands, and there is somebody to name. */
static void check_leave_after_report(bool withdraws)
{
    start(2);
    start_joined(2);
    report(&peers[1], JD__REPORT__KIND__ERROR, JD_INTERNAL, "no");
    uint64_t id = leave(&peers[1], false, 10);
    if (withdraws)
        withdraw(&peers[1], id);
    pass(0.1);
    Jd__Message *message = take(&peers[0], JD__MESSAGE__BODY_FAILURE);
    expect_processes(message->failure->ranges, message->failure->n_ranges,
                     "1 ");
    ck_assert_str_ne(message->failure->text, "");
    drop(message);
    finish();
}

START_TEST(one_who_failed_stays_failed_when_its_leave_ends)
{
    check_leave_after_report(false);
    check_leave_after_report(true);
}
END_TEST

START_TEST(one_who_has_left_does_not_come_again)
{
    start(2);
    start_joined(2);
    leave(&peers[1], true, 0);
    forget_messages(&peers[1]);
    lose(&peers[1], 0);
    Jd__Hello hello = make_hello(1, 2, "h0");
    hello.incarnation = 3;
    refuse(&hello, &open_auth, JD_ALREADY_EXISTS,
           "it says that it is process 1, but process 1 (train, pid 101 on h0) "
           "has left already; each process needs an index of its own "
           "(JD_PROCESS_ID), and a job of several attempts a new service");
    finish();
}
END_TEST

/* ---- the table ---------------------------------------------------------- */

START_TEST(the_table_says_what_each_process_does)
{
    Jd__Inquiry inquiry = JD__INQUIRY__INIT;
    start(4);
    meet(&peers[0], 0, 4, "h0");
    meet(&peers[1], 1, 4, "h1");
    come_as(&peers[9], JD__ROLE__OBSERVER);
    beat_doing(&peers[1], "jd_psum", 7, true, 1500);
    join(&peers[1], 90000);
    now += 2;
    uint64_t id = ask(&peers[9], JD__MESSAGE__BODY_INQUIRY, &inquiry, 0);
    Jd__Message *message = take_reply(&peers[9], id, JD_OK);
    ck_assert_uint_eq(message->reply->count, 4);
    ck_assert_uint_eq(message->reply->n_rows, 4);
    const Jd__Row *row = message->reply->rows[1];
    ck_assert_uint_eq(row->process, 1);
    ck_assert_int_eq(row->state, JD__ROW__STATE__CONNECTED);
    ck_assert_str_eq(row->host, "h1");
    ck_assert_uint_eq(row->pid, 101);
    ck_assert_str_eq(row->program, "train");
    ck_assert_uint_eq(row->heard_ms, 2000);
    ck_assert_uint_eq(row->incarnation, 7001);
    ck_assert_str_eq(row->progress->operation, "jd_psum");
    ck_assert_uint_eq(row->progress->number, 7);
    ck_assert(row->progress->inside);
    ck_assert_uint_eq(row->progress->since_ms, 3500);
    ck_assert_str_eq(row->waits, "waits for all to join, for 2 s");
    ck_assert_int_eq(message->reply->rows[3]->state, JD__ROW__STATE__ABSENT);
    ck_assert_str_eq(message->reply->rows[3]->host, "");
    ck_assert_uint_eq(message->reply->rows[3]->heard_ms, 0);
    drop(message);
    finish();
}
END_TEST

START_TEST(one_may_ask_what_a_request_waits_for)
{
    Jd__Inquiry inquiry = JD__INQUIRY__INIT;
    start(3);
    meet(&peers[1], 1, 3, "h0");
    meet(&peers[2], 2, 3, "h0");
    for (int i = 2; i >= 1; i--) {
        inquiry.wait = join(&peers[i], 90000);
        uint64_t id = ask(&peers[i], JD__MESSAGE__BODY_INQUIRY, &inquiry, 0);
        drop(take_reply(&peers[i], id, JD_OK));
    }
    uint64_t id = ask(&peers[1], JD__MESSAGE__BODY_INQUIRY, &inquiry, 0);
    Jd__Message *message = take_reply(&peers[1], id, JD_OK);
    ck_assert_str_eq(message->reply->text, "process 0, which has not come");
    ck_assert_int_eq(message->reply->number, 1); /* the lowest that waits */
    drop(message);
    id = ask(&peers[2], JD__MESSAGE__BODY_INQUIRY, &inquiry, 0);
    expect_number(&peers[2], id, 0);
    inquiry.wait = 77;
    id = ask(&peers[1], JD__MESSAGE__BODY_INQUIRY, &inquiry, 0);
    expect_fails(&peers[1], id, JD_OK, "");
    finish();
}
END_TEST

START_TEST(it_goes_with_everything_pending)
{
    Jd__Live live = JD__LIVE__INIT;
    start(4);
    start_joined(3 + 1);
    accept_peer(&peers[20]);
    come_as(&peers[21], JD__ROLE__HELPER);
    get(&peers[21], "x,y", 1000);
    get(&peers[0], "x,y", NO_DEADLINE);
    arrive(&peers[0], "b", 1000);
    arrive_with(&peers[1], "c", (int[]){ 1, 2, -1 }, "", NO_DEADLINE);
    arrive_with(&peers[0], "c", (int[]){ 0, 2, -1 }, "", NO_DEADLINE);
    ask(&peers[2], JD__MESSAGE__BODY_LIVE, &live, 1000);
    leave(&peers[3], false, 1000);
    report(&peers[2], JD__REPORT__KIND__CHECK, 1, "text");
    finish();
}
END_TEST

static void add_joining(Suite *suite)
{
    TCase *tcase = unit_case(suite, "joining");
    tcase_add_test(tcase, join_waits_for_all_and_says_who_shares_a_host);
    tcase_add_test(tcase, join_names_the_absent);
    tcase_add_test(tcase, all_who_join_hear_who_is_absent);
    tcase_add_test(tcase, one_who_went_before_all_had_joined_may_come_again);
    tcase_add_test(tcase, one_who_gave_up_joining_has_not_joined);
    tcase_add_test(tcase, nobody_joins_a_job_that_has_failed);
    tcase = unit_case(suite, "coming back");
    tcase_add_test(tcase, one_who_comes_back_is_answered_again);
    tcase_add_test(tcase, one_who_passed_a_barrier_does_not_wait_in_the_next);
    tcase_add_test(tcase,
                   heartbeats_and_gets_do_not_push_out_what_was_answered);
    tcase_add_test(tcase, the_old_connection_ends_where_the_new_one_comes);
    tcase_add_test(tcase, one_who_is_back_but_was_never_here_is_refused);
    tcase_add_test(tcase, another_incarnation_does_not_come_back);
    tcase_add_test(tcase, the_same_process_may_meet_twice);
}

static void add_leaving(Suite *suite)
{
    TCase *tcase = unit_case(suite, "leaving");
    tcase_add_test(tcase, process_0_leaves_last);
    tcase_add_test(tcase, process_0_waits_a_second_for_the_others_to_close);
    tcase_add_test(tcase, who_waits_to_leave_hears_for_whom);
    tcase_add_test(tcase, a_withdrawn_leave_counts_as_one);
    tcase_add_test(tcase, at_once_waits_for_nobody);
    tcase_add_test(tcase, leaving_ends_with_a_death);
    tcase_add_test(tcase, one_who_dies_while_it_leaves_has_failed);
    tcase_add_test(tcase, one_who_failed_stays_failed_when_it_leaves);
    tcase_add_test(tcase, one_who_has_left_need_not_wait_again);
    tcase_add_test(tcase, one_who_failed_stays_failed_when_its_leave_ends);
    tcase_add_test(tcase, one_who_has_left_does_not_come_again);
    tcase = unit_case(suite, "the table");
    tcase_add_test(tcase, the_table_says_what_each_process_does);
    tcase_add_test(tcase, one_may_ask_what_a_request_waits_for);
    tcase_add_test(tcase, it_goes_with_everything_pending);
}

int main(void)
{
    Suite *suite = suite_create("service joining");
    add_joining(suite);
    add_leaving(suite);
    return unit_main(suite);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* test_service_admission.c - who is let in, and what each may do. */
#include "tests/unit/service.h"

static const struct jd_auth secret_auth = { .way = JD_AUTH_SECRET,
                                            .key = "secret",
                                            .source = "JD_SECRET" };
static const struct jd_auth munge_auth = { .way = JD_AUTH_MUNGE,
                                           .source = "munge" };

/* ---- who is let in ------------------------------------------------------ */

static void start_secret(int count)
{
    struct jd_service_spec spec = make_spec(count);
    spec.auth = &secret_auth;
    start_spec(&spec);
}

START_TEST(one_who_knows_the_secret_is_let_in)
{
    start_secret(2);
    Jd__Hello hello = make_hello(1, 2, "h0");
    accept_peer(&peers[1]);
    say_hello(&peers[1], &secret_auth, &hello);
    expect_welcome(&peers[1], &secret_auth);
    ck_assert(!peers[1].is_ended);
    finish();
}
END_TEST

START_TEST(strangers_are_refused_by_reason)
{
    start_secret(4);
    Jd__Hello hello = make_hello(1, 4, "h0");
    refuse(&hello, &open_auth, JD_UNAUTHENTICATED,
           "it does not know the job's secret (here it is from JD_SECRET); set "
           "the same everywhere");
    hello = make_hello(1, 4, "h0");
    hello.protocol = 9;
    refuse(&hello, &secret_auth, JD_UNIMPLEMENTED,
           "it speaks protocol 9, this service 4; all processes need the same "
           "version of jd");
    hello = make_hello(1, 4, "h0");
    hello.job = (char *)"other";
    refuse(&hello, &secret_auth, JD_PERMISSION_DENIED,
           "it belongs to another job (\"other\"; this one is \"job\"); two "
           "jobs need two ports");
    hello = make_hello(1, 4, "h0");
    hello.attempt = 1;
    refuse(&hello, &secret_auth, JD_ABORTED,
           "it belongs to attempt 1 of the job, and this is attempt 2; it "
           "should end");
    hello = make_hello(1, 3, "h0");
    refuse(&hello, &secret_auth, JD_INVALID_ARGUMENT,
           "it believes that the job has 3 processes, but it has 4");
    hello = make_hello(4, 4, "h0");
    refuse(&hello, &secret_auth, JD_OUT_OF_RANGE,
           "it says that it is process 4, but the processes are 0 to 3");
    hello = make_hello(1, 4, "h0");
    hello.process = UINT32_MAX;
    refuse(&hello, &secret_auth, JD_OUT_OF_RANGE,
           "it says that it is process 4294967295, but the processes are 0 to "
           "3");
    hello = make_hello(1, 4, "h0");
    hello.nonce.len = 31;
    refuse(&hello, &secret_auth, JD_INVALID_ARGUMENT,
           "its nonce has 31 bytes, not 32");
    finish();
}
END_TEST

/* Whatever it asks for: neither the job's name nor its attempt nor its count
 * is told before it has shown that it knows the secret. */
START_TEST(a_stranger_learns_nothing_of_the_job)
{
    static const char sentence[] =
        "it does not know the job's secret (here it is from JD_SECRET); set "
        "the same everywhere";
    start_secret(4);
    Jd__Hello hello = make_hello(1, 4, "h0");
    hello.job = (char *)"other";
    refuse(&hello, &open_auth, JD_UNAUTHENTICATED, sentence);
    hello = make_hello(1, 4, "h0");
    hello.attempt = 1;
    refuse(&hello, &open_auth, JD_UNAUTHENTICATED, sentence);
    hello = make_hello(1, 3, "h0");
    refuse(&hello, &open_auth, JD_UNAUTHENTICATED, sentence);
    hello = make_hello(9, 4, "h0");
    refuse(&hello, &open_auth, JD_UNAUTHENTICATED, sentence);
    finish();
}
END_TEST

START_TEST(without_a_secret_another_user_of_the_host_is_refused)
{
    start(2);
    Jd__Hello hello = make_hello(1, 2, "h0");
    accept_peer(&peers[1]);
    peers[1].owner = JD_OWNER_OTHER;
    say_hello(&peers[1], &open_auth, &hello);
    expect_refused(&peers[1], JD_UNAUTHENTICATED,
                   "it belongs to another user of this host; let its user "
                   "start all processes, or set JD_SECRET_FILE, the same for "
                   "all");
    ck_assert(!peers[1].is_welcome);
    finish();
}
END_TEST

START_TEST(a_duplicate_is_refused_and_the_first_goes_on)
{
    start(2);
    meet(&peers[1], 1, 2, "h1");
    Jd__Hello hello = make_hello(1, 2, "h9");
    hello.incarnation = 1;
    refuse(&hello, &open_auth, JD_ALREADY_EXISTS,
           "it says that it is process 1, but process 1 (train, pid 101 on h1) "
           "is there already; each process needs an index of its own "
           "(JD_PROCESS_ID), and a job of several attempts a new service");
    uint64_t id = set(&peers[1], "a", "b");
    expect_ok(&peers[1], id);
    expect_all_quiet();
    finish();
}
END_TEST

START_TEST(the_first_words_must_be_a_hello)
{
    start(2);
    accept_peer(&peers[1]);
    set(&peers[1], "a", "b");
    expect_refused(&peers[1], JD_INVALID_ARGUMENT,
                   "it began with \"set\", not with \"hello\"");
    finish();
}
END_TEST

START_TEST(one_who_says_nothing_is_refused_after_5_s)
{
    start(2);
    accept_peer(&peers[1]);
    now += 2;
    accept_peer(&peers[2]);
    now += 2.99;
    ck_assert_double_eq_tol(tick(), 1005, 1e-9);
    expect_all_quiet();
    now += 0.01;
    ck_assert_double_eq_tol(tick(), 1007, 1e-9);
    expect_refused(&peers[1], JD_DEADLINE_EXCEEDED,
                   "it has not said who it is in 5 s");
    expect_all_quiet();
    close_ended(&peers[1]);
    meet(&peers[2], 1, 2, "h0"); /* the test's own peer begins anew */
    finish();
}
END_TEST

/* Of a job of 3, of which 2 are there: there is room for 64 strangers beside
 * the one that is missing, and all of it is taken. */
static struct peer crowd[3];

static void fill_up(void)
{
    start(3);
    meet(&peers[62], 1, 3, "h0");
    meet(&peers[63], 2, 3, "h0");
    for (int i = 0; i < 62; i++)
        accept_peer(&peers[i]);
    for (int i = 0; i < 3; i++)
        accept_peer(&crowd[i]);
    expect_all_quiet();
}

static int count_dropped(void)
{
    int count = 0;
    for (int i = 0; i < 62; i++)
        count += peers[i].is_dropped;
    for (int i = 0; i < 3; i++)
        count += crowd[i].is_dropped;
    return count;
}

static void leave_crowd(void)
{
    for (int i = 0; i < 3; i++) {
        forget_messages(&crowd[i]);
        crowd[i] = (struct peer){ .connection = NULL };
    }
    finish();
}

START_TEST(of_too_many_silent_strangers_the_oldest_goes)
{
    struct peer one_more = { .connection = NULL };
    fill_up();
    now += 0.6;
    accept_peer(&one_more);
    expect_refused(&peers[0], JD_RESOURCE_EXHAUSTED,
                   "more than 65 connections have not shown yet who they are, "
                   "and it is one of them; it may come again");
    ck_assert(peers[0].is_dropped);
    ck_assert_int_eq(count_dropped(), 1);
    Jd__Hello hello = make_hello(0, 3, "h0");
    say_hello(&peers[1], &open_auth, &hello);
    expect_welcome(&peers[1], &open_auth);
    leave_crowd();
}
END_TEST

/* They have a second to read why, but not where others come. */
START_TEST(the_refused_count_until_they_are_gone)
{
    struct peer more[2] = { { .connection = NULL } };
    fill_up();
    set(&peers[7], "a", "b");
    expect_refused(&peers[7], JD_INVALID_ARGUMENT,
                   "it began with \"set\", not with \"hello\"");
    ck_assert(!peers[7].is_dropped);
    accept_peer(&more[0]);
    ck_assert(peers[7].is_dropped);
    ck_assert_int_eq(count_dropped(), 1);
    accept_peer(&more[1]);
    ck_assert_int_eq(count_dropped() + more[0].is_dropped, 2);
    forget_messages(&more[0]);
    leave_crowd();
}
END_TEST

/* Another comes, who says nothing. The service has fewer than these. */
static void accept_one_more(void)
{
    static struct peer pool[100];
    struct peer *peer = pool;
    while (peer->connection)
        peer++;
    ck_assert(peer < pool + 100);
    forget_messages(peer);
    accept_peer(peer);
}

START_TEST(the_services_own_process_is_no_stranger)
{
    struct peer own = { .connection = NULL };
    start(3);
    accept_peer(&own);
    jd__service_own(service, own.connection);
    for (int i = 0; i < 1000; i++)
        accept_one_more();
    now += 6;
    tick();
    ck_assert(!own.is_ended);
    Jd__Hello hello = make_hello(0, 3, "h0");
    say_hello(&own, &open_auth, &hello);
    expect_welcome(&own, &open_auth);
    lose(&own, 0);
    finish();
}
END_TEST

static int count_told(void)
{
    int count = 0;
    for (int i = 0; i < 62; i++)
        count += peers[i].first < peers[i].last;
    return count;
}

/* The others find their connection closed. */
START_TEST(of_a_flood_few_hear_why_they_go)
{
    struct peer more[30] = { { .connection = NULL } };
    fill_up();
    now += 0.6;
    for (int i = 0; i < 20; i++)
        accept_peer(&more[i]);
    ck_assert_int_eq(count_dropped(), 20);
    ck_assert_int_eq(count_told(), 1);
    now += 0.011;
    for (int i = 20; i < 30; i++)
        accept_peer(&more[i]);
    ck_assert_int_eq(count_dropped(), 30);
    ck_assert_int_eq(count_told(), 2);
    for (int i = 0; i < 62; i++)
        forget_messages(&peers[i]);
    leave_crowd();
}
END_TEST

/* 100 come between its connection and its words, more than there is room for;
 * true where it is still there. */
static bool comes_through(struct peer *member)
{
    accept_peer(member);
    for (int i = 0; i < 100; i++)
        accept_one_more();
    forget_messages(member);
    return !member->is_dropped;
}

/* One in five does: 200 in vain are one in 10^19. */
START_TEST(a_flood_keeps_no_member_out_for_good)
{
    struct peer member = { .connection = NULL };
    int tries = 1;
    fill_up();
    while (!comes_through(&member))
        ck_assert_int_lt(tries++, 200);
    Jd__Hello hello = make_hello(0, 3, "h0");
    say_hello(&member, &open_auth, &hello);
    expect_welcome(&member, &open_auth);
    lose(&member, 0);
    leave_crowd();
}
END_TEST

/* munge is asked about 64, and one waits for its turn: those who have not
 * spoken go before, as chance has it, and those who are looked at never. */
START_TEST(who_is_being_vouched_for_is_not_dropped)
{
    static const struct jd_auth munge = { .way = JD_AUTH_MUNGE };
    struct jd_service_spec spec = make_spec(2);
    struct peer more[300] = { { .connection = NULL } };
    spec.auth = &munge;
    start_spec(&spec);
    for (int i = 0; i < 64; i++) {
        Jd__Hello hello = make_hello(i % 2, 2, "h0");
        hello.credential = (char *)"C";
        accept_peer(&peers[i]);
        say_hello(&peers[i], &munge, &hello);
    }
    for (int i = 0; i < 300; i++)
        accept_peer(&more[i]);
    for (int i = 0; i < 64; i++)
        ck_assert(!peers[i].is_dropped);
    jd__service_vouched(service, peers[0].connection, JD_OK, "", now);
    expect_welcome(&peers[0], &munge);
    for (int i = 0; i < 300; i++)
        forget_messages(&more[i]);
    finish();
}
END_TEST

START_TEST(where_descriptors_are_short_a_stranger_goes)
{
    start(2);
    ck_assert(!jd__strangers_shed(service, now));
    for (int i = 0; i < 3; i++)
        accept_peer(&peers[i]);
    set(&peers[1], "a", "b");
    ck_assert(jd__strangers_shed(service, now));
    ck_assert(peers[1].is_dropped);
    ck_assert(jd__strangers_shed(service, now));
    ck_assert(jd__strangers_shed(service, now));
    ck_assert(!jd__strangers_shed(service, now));
    finish();
}
END_TEST

START_TEST(munge_is_asked_64_times_at_once)
{
    static const struct jd_auth munge = { .way = JD_AUTH_MUNGE };
    struct jd_service_spec spec = make_spec(70);
    struct peer more[2] = { { .connection = NULL } };
    spec.auth = &munge;
    start_spec(&spec);
    for (int i = 0; i < 66; i++) {
        struct peer *peer = i < 64 ? &peers[i] : &more[i - 64];
        Jd__Hello hello = make_hello(i, 70, "h0");
        hello.credential = (char *)"C";
        accept_peer(peer);
        say_hello(peer, &munge, &hello);
        ck_assert(i < 64 ? peer->credential != NULL : !peer->credential);
    }
    jd__service_vouched(service, peers[7].connection, JD_OK, "", now);
    tick();
    ck_assert(peers[7].is_welcome);
    ck_assert_ptr_nonnull(more[0].credential);
    ck_assert_ptr_null(more[1].credential);
    lose(&peers[8], 0);
    tick();
    ck_assert_ptr_nonnull(more[1].credential);
    for (int i = 0; i < 2; i++) {
        jd__service_vouched(service, more[i].connection, JD_OK, "", now);
        expect_welcome(&more[i], &munge);
        free(more[i].credential);
        lose(&more[i], 0);
    }
    finish();
}
END_TEST

START_TEST(a_secret_of_mpi_is_not_for_observers)
{
    struct jd_auth auth = { .way = JD_AUTH_SECRET, .source = "MPI" };
    struct jd_service_spec spec = make_spec(2);
    spec.auth = &auth;
    start_spec(&spec);
    Jd__Hello hello = make_hello(0, 0, "h0");
    hello.role = JD__ROLE__OBSERVER;
    refuse(&hello, &secret_auth, JD_UNAUTHENTICATED,
           "only the job's own processes know its secret; start the job with "
           "JD_SECRET_FILE set, and jd-info with the same");
    finish();
}
END_TEST

START_TEST(observers_have_a_secret_of_their_own)
{
    struct jd_auth auth = { .way = JD_AUTH_SECRET, .source = "MPI" };
    struct jd_service_spec spec = make_spec(2);
    spec.auth = &auth;
    spec.observer_auth = &secret_auth;
    start_spec(&spec);
    Jd__Hello hello = make_hello(0, 0, "h0");
    hello.role = JD__ROLE__OBSERVER;
    hello.job = (char *)"";
    accept_peer(&peers[1]);
    say_hello(&peers[1], &secret_auth, &hello);
    expect_welcome(&peers[1], &secret_auth);
    hello = make_hello(1, 2, "h0");
    refuse(&hello, &secret_auth, JD_UNAUTHENTICATED,
           "it does not know the job's secret (here it is from MPI); set the "
           "same everywhere");
    finish();
}
END_TEST

/* ---- munge -------------------------------------------------------------- */

static void start_munge(void)
{
    struct jd_service_spec spec = make_spec(2);
    spec.auth = &munge_auth;
    start_spec(&spec);
}

static void say_munge_hello(struct peer *peer)
{
    Jd__Hello hello = make_hello(1, 2, "h0");
    hello.credential = (char *)"MUNGE:xyz";
    accept_peer(peer);
    say_hello(peer, &munge_auth, &hello);
}

START_TEST(munge_lets_in)
{
    start_munge();
    say_munge_hello(&peers[1]);
    ck_assert_str_eq(peers[1].credential, "MUNGE:xyz");
    expect_quiet(&peers[1]);
    jd__service_vouched(service, peers[1].connection, JD_OK, "", now);
    expect_welcome(&peers[1], &munge_auth);
    finish();
}
END_TEST

/* It is among no strangers, so munge is asked at once. */
START_TEST(munge_lets_the_services_own_process_in)
{
    start_munge();
    accept_peer(&peers[0]);
    jd__service_own(service, peers[0].connection);
    Jd__Hello hello = make_hello(0, 2, "h0");
    hello.credential = (char *)"MUNGE:own";
    say_hello(&peers[0], &munge_auth, &hello);
    ck_assert_pstr_eq(peers[0].credential, "MUNGE:own");
    jd__service_vouched(service, peers[0].connection, JD_OK, "", now);
    expect_welcome(&peers[0], &munge_auth);
    finish();
}
END_TEST

START_TEST(munge_refuses)
{
    start_munge();
    say_munge_hello(&peers[1]);
    jd__service_vouched(service, peers[1].connection, JD_UNAUTHENTICATED,
                        "it is of another user", now);
    expect_refused(&peers[1], JD_UNAUTHENTICATED, "it is of another user");
    close_ended(&peers[1]);
    Jd__Hello hello = make_hello(1, 2, "h0");
    refuse(&hello, &munge_auth, JD_UNAUTHENTICATED,
           "it brings no munge credential, which this job asks for; set "
           "JD_SECRET_FILE where there is no munge");
    has_no_munge = true;
    say_munge_hello(&peers[1]);
    expect_refused(&peers[1], JD_RESOURCE_EXHAUSTED,
                   "munge cannot be asked: no memory or thread");
    has_no_munge = false;
    finish();
}
END_TEST

START_TEST(while_munge_is_asked_there_is_nothing_to_say)
{
    start_munge();
    say_munge_hello(&peers[1]);
    set(&peers[1], "a", "b");
    expect_refused(&peers[1], JD_INVALID_ARGUMENT,
                   "it went on (\"set\") before it was let in");
    jd__service_vouched(service, peers[1].connection, JD_OK, "", now);
    expect_quiet(&peers[1]);
    close_ended(&peers[1]);
    say_munge_hello(&peers[1]);
    now += 5;
    tick();
    expect_refused(&peers[1], JD_DEADLINE_EXCEEDED,
                   "it has not said who it is in 5 s");
    close_ended(&peers[1]);
    say_munge_hello(&peers[1]);
    lose(&peers[1], 0);
    finish();
}
END_TEST

/* ---- who may do what ---------------------------------------------------- */

static void check_denied(struct peer *peer, Jd__Message__BodyCase body,
                         void *body_message, const char *name)
{
    char text[160];
    uint64_t id = ask(peer, body, body_message, 0);
    snprintf(text, sizeof text,
             "the service does not take \"%s\" from this connection, which is "
             "no process of the job",
             name);
    expect_fails(peer, id, JD_PERMISSION_DENIED, text);
}

static void check_no_member(struct peer *peer)
{
    Jd__Join join = JD__JOIN__INIT;
    Jd__Leave leave = JD__LEAVE__INIT;
    Jd__Arrive arrive = JD__ARRIVE__INIT;
    Jd__Live live = JD__LIVE__INIT;
    Jd__Report report = JD__REPORT__INIT;
    Jd__Preempted preempted = JD__PREEMPTED__INIT;
    Jd__Step step = JD__STEP__INIT;
    Jd__Acknowledge acknowledge = JD__ACKNOWLEDGE__INIT;
    Jd__Armed armed = JD__ARMED__INIT;
    Jd__Stack stack = JD__STACK__INIT;
    check_denied(peer, JD__MESSAGE__BODY_JOIN, &join, "join");
    check_denied(peer, JD__MESSAGE__BODY_LEAVE, &leave, "leave");
    check_denied(peer, JD__MESSAGE__BODY_ARRIVE, &arrive, "arrive");
    check_denied(peer, JD__MESSAGE__BODY_LIVE, &live, "live");
    check_denied(peer, JD__MESSAGE__BODY_REPORT, &report, "report");
    check_denied(peer, JD__MESSAGE__BODY_PREEMPTED, &preempted, "preempted");
    check_denied(peer, JD__MESSAGE__BODY_STEP, &step, "step");
    check_denied(peer, JD__MESSAGE__BODY_ACKNOWLEDGE, &acknowledge,
                 "acknowledge");
    check_denied(peer, JD__MESSAGE__BODY_ARMED, &armed, "armed");
    check_denied(peer, JD__MESSAGE__BODY_STACK, &stack, "stack");
}

START_TEST(an_observer_only_looks)
{
    Jd__Set set_body = JD__SET__INIT;
    Jd__Get get_body = JD__GET__INIT;
    Jd__List list = JD__LIST__INIT;
    Jd__Delete delete_body = JD__DELETE__INIT;
    Jd__Increment increment = JD__INCREMENT__INIT;
    Jd__Cancel cancel = JD__CANCEL__INIT;
    Jd__Inquiry inquiry = JD__INQUIRY__INIT;
    Jd__Heartbeat heartbeat = JD__HEARTBEAT__INIT;
    start(2);
    struct peer *peer = &peers[1];
    come_as(peer, JD__ROLE__OBSERVER);
    check_no_member(peer);
    check_denied(peer, JD__MESSAGE__BODY_SET, &set_body, "set");
    check_denied(peer, JD__MESSAGE__BODY_GET, &get_body, "get");
    check_denied(peer, JD__MESSAGE__BODY_LIST, &list, "list");
    check_denied(peer, JD__MESSAGE__BODY_DELETE, &delete_body, "delete");
    check_denied(peer, JD__MESSAGE__BODY_INCREMENT, &increment, "increment");
    check_denied(peer, JD__MESSAGE__BODY_CANCEL, &cancel, "cancel");
    uint64_t id = ask(peer, JD__MESSAGE__BODY_INQUIRY, &inquiry, 0);
    expect_ok(peer, id);
    id = ask(peer, JD__MESSAGE__BODY_HEARTBEAT, &heartbeat, 0);
    expect_ok(peer, id);
    finish();
}
END_TEST

START_TEST(a_helper_has_the_store_and_counts_as_nobody)
{
    start(2);
    come_as(&peers[9], JD__ROLE__HELPER);
    check_no_member(&peers[9]);
    uint64_t id = set(&peers[9], "a", "b");
    expect_ok(&peers[9], id);
    id = get(&peers[9], "c", 500);
    start_joined(2);
    lose(&peers[9], 0);
    pass(0.1);
    expect_all_quiet();
    finish();
}
END_TEST

START_TEST(what_only_the_service_says_breaks_the_protocol)
{
    Jd__Reply reply = JD__REPLY__INIT;
    start(2);
    start_joined(2);
    come_as(&peers[9], JD__ROLE__HELPER);
    tell(&peers[9], JD__MESSAGE__BODY_REPLY, &reply);
    ck_assert(peers[9].is_ended);
    close_ended(&peers[9]);
    expect_all_quiet();
    tell(&peers[1], JD__MESSAGE__BODY_REPLY, &reply);
    ck_assert(peers[1].is_ended);
    close_ended(&peers[1]);
    pass(0.05);
    Jd__Message *message = take(&peers[0], JD__MESSAGE__BODY_FAILURE);
    ck_assert_str_eq(message->failure->text,
                     "process 1 (train, pid 101 on h0): it broke the protocol "
                     "(it sent \"reply\"), 0.03 s ago");
    drop(message);
    finish();
}
END_TEST

START_TEST(a_second_hello_breaks_the_protocol)
{
    Jd__Hello hello = JD__HELLO__INIT;
    start(2);
    start_joined(2);
    tell(&peers[1], JD__MESSAGE__BODY_HELLO, &hello);
    ck_assert(peers[1].is_ended);
    finish();
}
END_TEST

static void add_meeting(Suite *suite)
{
    TCase *tcase = unit_case(suite, "who is let in");
    tcase_add_test(tcase, one_who_knows_the_secret_is_let_in);
    tcase_add_test(tcase, strangers_are_refused_by_reason);
    tcase_add_test(tcase, a_stranger_learns_nothing_of_the_job);
    tcase_add_test(tcase, without_a_secret_another_user_of_the_host_is_refused);
    tcase_add_test(tcase, a_duplicate_is_refused_and_the_first_goes_on);
    tcase_add_test(tcase, the_first_words_must_be_a_hello);
    tcase_add_test(tcase, one_who_says_nothing_is_refused_after_5_s);
    tcase_add_test(tcase, of_too_many_silent_strangers_the_oldest_goes);
    tcase_add_test(tcase, of_a_flood_few_hear_why_they_go);
    tcase_add_test(tcase, the_refused_count_until_they_are_gone);
    tcase_add_test(tcase, the_services_own_process_is_no_stranger);
    tcase_add_test(tcase, a_flood_keeps_no_member_out_for_good);
    tcase_add_test(tcase, who_is_being_vouched_for_is_not_dropped);
    tcase_add_test(tcase, where_descriptors_are_short_a_stranger_goes);
    tcase_add_test(tcase, munge_is_asked_64_times_at_once);
    tcase_add_test(tcase, a_secret_of_mpi_is_not_for_observers);
    tcase_add_test(tcase, observers_have_a_secret_of_their_own);
    tcase_add_test(tcase, munge_lets_in);
    tcase_add_test(tcase, munge_lets_the_services_own_process_in);
    tcase_add_test(tcase, munge_refuses);
    tcase_add_test(tcase, while_munge_is_asked_there_is_nothing_to_say);
    tcase = unit_case(suite, "who may do what");
    tcase_add_test(tcase, an_observer_only_looks);
    tcase_add_test(tcase, a_helper_has_the_store_and_counts_as_nobody);
    tcase_add_test(tcase, what_only_the_service_says_breaks_the_protocol);
    tcase_add_test(tcase, a_second_hello_breaks_the_protocol);
}

int main(void)
{
    Suite *suite = suite_create("service meeting");
    add_meeting(suite);
    return unit_main(suite);
}

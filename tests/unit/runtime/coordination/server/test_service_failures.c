/* SPDX-License-Identifier: BSD-3-Clause */
/* test_service_failures.c - who has failed, and who hears and says what. */
#include "runtime/coordination/server/speakers.h"
#include "tests/unit/service.h"

/* ---- helpers ------------------------------------------------------------ */

static Jd__Message *take_failure(struct peer *peer)
{
    return take(peer, JD__MESSAGE__BODY_FAILURE);
}

static void expect_failure(struct peer *peer, const char *text)
{
    Jd__Message *message = take_failure(peer);
    ck_assert_str_eq(message->failure->text, text);
    drop(message);
}

static void expect_culprits(const Jd__Failure *failure, const char *list)
{
    expect_processes(failure->ranges, failure->n_ranges, list);
}

/* All come and join; per_host of them share a host. */
static void start_hosts(int count, int per_host,
                        enum jd_failure_speakers speakers)
{
    struct jd_service_spec spec = make_spec(count);
    char host[16];
    spec.speakers = speakers;
    start_spec(&spec);
    for (int i = 0; i < count; i++) {
        snprintf(host, sizeof host, "n%d", i / per_host);
        meet(&peers[i], i, count, host);
        join(&peers[i], 1000);
    }
    for (int i = 0; i < count; i++)
        expect_ok(&peers[i], 1);
}

/* ---- deaths ------------------------------------------------------------- */

static void check_death(int error, const char *why, const char *how)
{
    char text[256];
    start(2);
    start_joined(2);
    jd__service_lost(service, peers[1].connection, error, why, now);
    pass(0.05);
    snprintf(text, sizeof text,
             "process 1 (train, pid 101 on h0): %s, 0.03 s "
             "ago",
             how);
    expect_failure(&peers[0], text);
    finish();
}

START_TEST(a_closed_connection_is_death_at_once)
{
    static const char closed[] = "connection closed without shutdown (killed "
                                 "or crashed)";
    check_death(0, NULL, closed);
    check_death(ECONNRESET, NULL, closed);
    check_death(EPIPE, NULL, closed);
    check_death(
        EPROTO, "a frame of 4 bytes is no message",
        "its connection was given up: a frame of 4 bytes is no message");
    check_death(ENOMEM, NULL,
                "its connection was given up: Cannot allocate memory");
}
END_TEST

START_TEST(a_cut_connection_is_not_death_yet)
{
    static const int errors[] = { ETIMEDOUT, EHOSTUNREACH, ENETUNREACH,
                                  ENETDOWN };
    for (int i = 0; i < 4; i++) {
        start(2);
        start_joined(2);
        lose(&peers[1], errors[i]);
        for (int t = 0; t < 99; t++) {
            pass(1);
            beat(&peers[0]);
        }
        expect_all_quiet();
        pass(2.1);
        expect_failure(&peers[0],
                       "process 1 (train, pid 101 on h0): no sign of life for "
                       "101 s (its host is down or cut off, or it is stopped; "
                       "JD_HEARTBEAT_TIMEOUT is 100 s), 0.03 s ago");
        finish();
    }
}
END_TEST

START_TEST(a_report_says_what_the_dead_was_doing)
{
    start(2);
    start_joined(2);
    beat_doing(&peers[1], "jd_psum", 8, true, 2000);
    now += 3;
    lose(&peers[1], 0);
    pass(0.05);
    expect_failure(
        &peers[0],
        "process 1 (train, pid 101 on h0): connection closed without "
        "shutdown (killed or crashed), 0.03 s ago; 3 s ago it was in "
        "jd_psum, its operation 8, for 2 s already");
    finish();
}
END_TEST

/* Words of the operation before are not said of this one. */
START_TEST(a_report_says_where_the_dead_called)
{
    start(2);
    start_joined(2);
    beat_calling(&peers[1], "jd_kv_get", 7, true, 2000, "jd_kv_get of old");
    beat_calling(&peers[1], "jd_psum", 8, true, 2000, "jd_psum at a\n.c:7");
    now += 3;
    lose(&peers[1], 0);
    pass(0.05);
    expect_failure(
        &peers[0],
        "process 1 (train, pid 101 on h0): connection closed without "
        "shutdown (killed or crashed), 0.03 s ago; 3 s ago it was in "
        "jd_psum, its operation 8, for 2 s already: jd_psum at a?.c:7");
    finish();
    start(2);
    start_joined(2);
    beat_calling(&peers[1], "jd_kv_get", 7, true, 2000, "jd_kv_get of old");
    beat_doing(&peers[1], "jd_psum", 8, true, 0);
    lose(&peers[1], 0);
    pass(0.05);
    expect_failure(
        &peers[0],
        "process 1 (train, pid 101 on h0): connection closed without "
        "shutdown (killed or crashed), 0.03 s ago; 0.03 s ago it was in "
        "jd_psum, its operation 8");
    finish();
}
END_TEST

START_TEST(words_of_a_call_are_cut)
{
    char words[1024], wanted[1024];
    memset(words, 'w', sizeof words - 1);
    words[sizeof words - 1] = '\0';
    start(2);
    start_joined(2);
    beat_calling(&peers[1], "jd_psum", 8, true, 0, words);
    lose(&peers[1], 0);
    pass(0.05);
    snprintf(wanted, sizeof wanted,
             "process 1 (train, pid 101 on h0): connection closed without "
             "shutdown (killed or crashed), 0.03 s ago; 0.03 s ago it was in "
             "jd_psum, its operation 8: %.320s",
             words);
    expect_failure(&peers[0], wanted);
    finish();
}
END_TEST

START_TEST(those_who_die_together_stand_in_one_sentence)
{
    start(7);
    start_joined(7); /* two on each host */
    lose(&peers[2], 0);
    now += 0.01;
    tick();
    lose(&peers[5], 0);
    lose(&peers[3], 0);
    now += 0.019;
    tick();
    expect_all_quiet();
    now += 0.0025;
    tick();
    Jd__Message *message = take_failure(&peers[0]);
    ck_assert_str_eq(
        message->failure->text,
        "processes 2-3,5 (all of h1) failed: process 2 (train, pid 102 on h1): "
        "connection closed without shutdown (killed or crashed), 0.03 s ago; "
        "process 3 (train, pid 103 on h1): connection closed without shutdown "
        "(killed or crashed), 0.02 s ago; process 5 (train, pid 105 on h2): "
        "connection closed without shutdown (killed or crashed), 0.02 s ago");
    expect_culprits(message->failure, "2 3 5 ");
    ck_assert_uint_eq(message->failure->age_ms, 31);
    ck_assert(!message->failure->includes_you);
    drop(message);
    finish();
}
END_TEST

START_TEST(many_are_counted)
{
    start_hosts(20, 20, JD_SPEAK_SOME);
    for (int i = 1; i < 20; i += 2)
        lose(&peers[i], 0);
    pass(0.05);
    Jd__Message *message = take_failure(&peers[0]);
    const char *text = message->failure->text;
    ck_assert_str_eq(strstr(text, "; and"), "; and 2 more");
    ck_assert_ptr_nonnull(strstr(text, "processes 1,3,5,7,9,11,13,15,17,19 "
                                       "failed: process 1 (train"));
    expect_culprits(message->failure, "1 3 5 7 9 11 13 15 17 19 ");
    drop(message);
    finish();
}
END_TEST

START_TEST(the_first_failure_stands)
{
    start(4);
    start_joined(4);
    lose(&peers[3], 0);
    pass(0.05);
    for (int i = 0; i < 3; i++)
        drop(take_failure(&peers[i]));
    lose(&peers[2], 0);
    report(&peers[1], JD__REPORT__KIND__ERROR, JD_INTERNAL, "too");
    expect_number(&peers[1], 2, 1);
    pass(200);
    expect_all_quiet();
    finish();
}
END_TEST

/* ---- silence ------------------------------------------------------------ */

static void beat_all_but(int count, int silent_from, int silent_to)
{
    for (int i = 0; i < count; i++)
        if (i < silent_from || i > silent_to)
            beat(&peers[i]);
}

START_TEST(silence_is_death_after_the_timeout)
{
    struct jd_service_spec spec = make_spec(3);
    spec.heartbeat_timeout = 2;
    start_spec(&spec);
    start_joined(3);
    pass(0.05);
    beat(&peers[1]); /* between two looks */
    for (int i = 0; i < 10; i++) {
        pass(0.2);
        beat_all_but(3, 1, 1);
    }
    expect_all_quiet();
    pass(0.1);
    expect_failure(
        &peers[0],
        "process 1 (train, pid 101 on h0): no sign of life for 2.05 s "
        "(its host is down or cut off, or it is stopped; "
        "JD_HEARTBEAT_TIMEOUT is 2 s), 0.03 s ago");
    Jd__Message *message = take_failure(&peers[1]); /* when it wakes up */
    ck_assert(message->failure->includes_you);
    ck_assert(!message->failure->speak);
    drop(message);
    finish();
}
END_TEST

/* Their last heartbeats are up to a tenth of the timeout apart. */
START_TEST(a_silent_host_falls_as_a_whole)
{
    struct jd_service_spec spec = make_spec(4);
    spec.heartbeat_timeout = 10;
    start_spec(&spec);
    start_joined(4);
    pass(0.9);
    beat(&peers[3]);
    for (int i = 0; i < 10; i++) {
        pass(1);
        beat_all_but(4, 2, 3);
    }
    Jd__Message *message = take_failure(&peers[0]);
    ck_assert_ptr_nonnull(strstr(message->failure->text,
                                 "processes 2-3 (all of h1) failed: process 2 "
                                 "(train, pid 102 on h1): no sign of life"));
    drop(message);
    finish();
}
END_TEST

START_TEST(any_message_is_a_sign_of_life)
{
    struct jd_service_spec spec = make_spec(2);
    spec.heartbeat_timeout = 2;
    start_spec(&spec);
    start_joined(2);
    for (int i = 0; i < 20; i++) {
        pass(1);
        beat(&peers[0]);
        get(&peers[1], "a", 0);
        forget_messages(&peers[1]);
    }
    expect_all_quiet();
    finish();
}
END_TEST

START_TEST(without_heartbeats_silence_is_nothing)
{
    struct jd_service_spec spec = make_spec(2);
    spec.heartbeat_timeout = -1;
    start_spec(&spec);
    start_joined(2);
    ck_assert(isinf(tick()));
    now += 1e6;
    tick();
    expect_all_quiet();
    finish();
}
END_TEST

/* What the others sent meanwhile is still to be read. */
START_TEST(a_service_that_was_stopped_blames_nobody)
{
    struct jd_service_spec spec = make_spec(2);
    spec.heartbeat_timeout = 2;
    start_spec(&spec);
    start_joined(2);
    pass(1);
    now += 60;
    double next = tick();
    ck_assert_double_gt(next, now);
    ck_assert_double_le(next, now + 0.1001);
    beat(&peers[0]);
    beat(&peers[1]);
    now = next;
    tick();
    pass(1);
    expect_all_quiet();
    pass(1.5);
    ck_assert_int_gt(peers[0].last, 0);
    finish();
}
END_TEST

/* A little more than a tenth of the timeout. */
START_TEST(a_service_that_slept_a_little_looks_once_more)
{
    struct jd_service_spec spec = make_spec(2);
    spec.heartbeat_timeout = 10;
    start_spec(&spec);
    start_joined(2);
    pass(9.3);
    double look = tick(); /* when the next is due */
    ck_assert_double_le(look, now + 0.5);
    now = look + 1.1;
    look = tick();
    pass(0.4);
    expect_all_quiet();
    now = look;
    pass(0.1);
    ck_assert_int_gt(peers[0].last, 0);
    finish();
}
END_TEST

START_TEST(nobody_is_watched_until_all_have_joined)
{
    start(3);
    meet(&peers[0], 0, 3, "h0");
    meet(&peers[1], 1, 3, "h0");
    join(&peers[1], NO_DEADLINE);
    pass(500);
    expect_all_quiet();
    finish();
}
END_TEST

/* ---- who speaks --------------------------------------------------------- */

/* Process victim dies; the speakers are these, and so many are silent; one of
 * them tells what was called last (-1: nobody). */
static void check_speakers(int count, int per_host,
                           enum jd_failure_speakers speakers, int victim,
                           const char *list, unsigned silent, int teller)
{
    char text[400] = "";
    start_hosts(count, per_host, speakers);
    lose(&peers[victim], 0);
    pass(0.05);
    for (int i = 0; i < count; i++) {
        if (i == victim)
            continue;
        Jd__Message *message = take_failure(&peers[i]);
        ck_assert_uint_eq(message->failure->silent, silent);
        if (message->failure->speak)
            snprintf(text + strlen(text), sizeof text - strlen(text), "%d ", i);
        ck_assert_int_eq(message->failure->tells_calls, i == teller);
        drop(message);
    }
    ck_assert_str_eq(text, list);
    finish();
}

START_TEST(some_speak)
{
    check_speakers(2, 2, JD_SPEAK_SOME, 1, "0 ", 0, 0);
    check_speakers(17, 4, JD_SPEAK_SOME, 3,
                   "0 1 2 4 5 6 7 8 9 10 11 12 13 14 15 16 ", 0, 0);
    check_speakers(18, 9, JD_SPEAK_SOME, 1, "0 9 ", 15, 0);
    check_speakers(18, 9, JD_SPEAK_SOME, 9, "0 10 ", 15, 10);
    check_speakers(40, 40, JD_SPEAK_SOME, 7, "0 ", 38, 0);
    check_speakers(40, 1, JD_SPEAK_SOME, 7,
                   "0 1 2 3 4 5 6 8 9 10 11 12 13 14 15 16 ", 23, 0);
}
END_TEST

START_TEST(all_one_or_none_speak)
{
    check_speakers(20, 2, JD_SPEAK_ALL, 19,
                   "0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 ", 0, 18);
    check_speakers(20, 2, JD_SPEAK_ONE, 19, "0 ", 18, 0);
    check_speakers(3, 2, JD_SPEAK_NONE, 1, "", 2, -1);
}
END_TEST

/* ---- reports ------------------------------------------------------------ */

static void check_report(Jd__Report__Kind kind, int code, const char *said,
                         const char *how)
{
    char text[256];
    start(3);
    start_joined(3);
    uint64_t id = report(&peers[1], kind, code, said);
    expect_all_quiet(); /* the others hear it first */
    pass(0.031);
    snprintf(text, sizeof text,
             "process 1 (train, pid 101 on h0): %s, 0.03 s "
             "ago; it is ending, for 0.03 s",
             how);
    expect_failure(&peers[0], text);
    Jd__Message *message = take_failure(&peers[1]);
    ck_assert(message->failure->includes_you);
    drop(message);
    pass(0.1);
    expect_number(&peers[1], id, 1);
    finish();
}

START_TEST(reports_are_told)
{
    check_report(JD__REPORT__KIND__ERROR, JD_NOT_FOUND, "no such file",
                 "reported an error: NOT_FOUND: no such file");
    check_report(JD__REPORT__KIND__ABORT, 3, "enough",
                 "called jd_abort(3): "
                 "enough");
    check_report(JD__REPORT__KIND__EXIT, 9, "",
                 "exited with code 9 without "
                 "jd_shutdown");
    check_report(JD__REPORT__KIND__CHECK, 1, "a.c:7: jd_psum: bad",
                 "a.c:7: "
                 "jd_psum: "
                 "bad");
}
END_TEST

START_TEST(what_a_process_says_of_itself_is_cut)
{
    static char said[10001];
    memset(said, 'x', sizeof said - 1);
    static const Jd__Report__Kind kinds[] = { JD__REPORT__KIND__ERROR,
                                              JD__REPORT__KIND__ABORT,
                                              JD__REPORT__KIND__CHECK };
    for (int i = 0; i < 3; i++) {
        start(2);
        start_joined(2);
        report(&peers[1], kinds[i], 3, said);
        pass(0.05);
        Jd__Message *message = take_failure(&peers[0]);
        const char *text = strstr(message->failure->text, "xx");
        ck_assert_uint_eq(strspn(text, "x"), 4096);
        drop(message);
        finish();
    }
}
END_TEST

START_TEST(the_reply_comes_after_the_sentence)
{
    start(2);
    start_joined(2);
    uint64_t id = report(&peers[1], JD__REPORT__KIND__ABORT, 3, "enough");
    now += 0.0299;
    tick();
    expect_all_quiet();
    now += 0.0002;
    tick();
    drop(take_failure(&peers[0]));
    drop(take_failure(&peers[1]));
    expect_number(&peers[1], id, 1);
    finish();
}
END_TEST

START_TEST(equal_checks_are_printed_once)
{
    start(4);
    start_joined(4);
    uint64_t two = report(&peers[2], JD__REPORT__KIND__CHECK, 1, "same");
    now += 0.02;
    tick();
    uint64_t one = report(&peers[1], JD__REPORT__KIND__CHECK, 1, "same");
    uint64_t three = report(&peers[3], JD__REPORT__KIND__CHECK, 1, "other");
    uint64_t again = report(&peers[2], JD__REPORT__KIND__CHECK, 1, "same");
    pass(0.2);
    for (int i = 0; i < 4; i++)
        drop(take_failure(&peers[i]));
    Jd__Message *message = take_reply(&peers[1], one, JD_OK);
    ck_assert_int_eq(message->reply->number, 1); /* the lowest */
    expect_processes(message->reply->ranges, message->reply->n_ranges, "1 2 ");
    drop(message);
    expect_number(&peers[2], two, 0);
    expect_number(&peers[2], again, 0);
    message = take_reply(&peers[3], three, JD_OK);
    ck_assert_int_eq(message->reply->number, 1);
    expect_processes(message->reply->ranges, message->reply->n_ranges, "3 ");
    drop(message);
    finish();
}
END_TEST

START_TEST(a_check_is_answered_within_its_moment)
{
    start(2);
    start_joined(2);
    uint64_t id = report(&peers[1], JD__REPORT__KIND__CHECK, 1, "same");
    pass(0.0999);
    drop(take_failure(&peers[0]));
    drop(take_failure(&peers[1]));
    expect_all_quiet();
    pass(0.0002);
    expect_number(&peers[1], id, 1);
    finish();
}
END_TEST

START_TEST(a_reporter_that_dies_is_no_second_failure)
{
    start(3);
    start_joined(3);
    report(&peers[1], JD__REPORT__KIND__CHECK, 1, "same");
    report(&peers[2], JD__REPORT__KIND__CHECK, 1, "same");
    lose(&peers[1], 0);
    pass(0.2);
    Jd__Message *message = take_failure(&peers[0]);
    ck_assert_str_eq(
        message->failure->text,
        "processes 1-2 failed: process 1 (train, pid 101 on h0): "
        "same, 0.03 s ago; process 2 (train, pid 102 on h1): same, "
        "0.03 s ago; it is ending, for 0.03 s");
    drop(message);
    drop(take_failure(&peers[2]));
    expect_number(&peers[2], 2, 1);
    expect_all_quiet();
    finish();
}
END_TEST

/* ---- after it ----------------------------------------------------------- */

START_TEST(the_store_lives_on_and_the_armed_are_counted)
{
    Jd__Armed armed = JD__ARMED__INIT;
    start(3);
    start_joined(3);
    ck_assert(!jd__service_has_armed(service));
    expect_ok(&peers[0], ask(&peers[0], JD__MESSAGE__BODY_ARMED, &armed, 0));
    ck_assert(!jd__service_has_armed(service)); /* process 0's own */
    expect_ok(&peers[2], ask(&peers[2], JD__MESSAGE__BODY_ARMED, &armed, 0));
    ck_assert(jd__service_has_armed(service));
    expect_ok(&peers[1], set(&peers[1], "a", "1"));
    lose(&peers[1], 0);
    pass(0.05);
    drop(take_failure(&peers[0]));
    drop(take_failure(&peers[2]));
    Jd__Message *message = take_reply(&peers[2], get(&peers[2], "a", 0), JD_OK);
    ck_assert_mem_eq(message->reply->entries[0]->value.data, "1", 1);
    drop(message);
    ck_assert(jd__service_has_armed(service));
    ck_assert(jd__service_is_used(service));
    lose(&peers[2], 0);
    ck_assert(!jd__service_has_armed(service));
    ck_assert(!jd__service_is_used(service));
    finish();
}
END_TEST

static void arm(struct peer *peer)
{
    Jd__Armed armed = JD__ARMED__INIT;
    expect_ok(peer, ask(peer, JD__MESSAGE__BODY_ARMED, &armed, 0));
}

/* Of processes 0 to 2 the last dies. */
static void start_and_lose_one(bool zero_is_armed)
{
    start(3);
    start_joined(3);
    arm(&peers[1]);
    if (zero_is_armed)
        arm(&peers[0]);
    lose(&peers[2], 0);
    pass(0.05);
    drop(take_failure(&peers[0]));
    drop(take_failure(&peers[1]));
}

static uint64_t ask_who_lives(struct peer *peer)
{
    Jd__Live live = JD__LIVE__INIT;
    return ask(peer, JD__MESSAGE__BODY_LIVE, &live, 1000);
}

static void expect_living(struct peer *peer, uint64_t id, const char *list)
{
    Jd__Message *message = take_reply(peer, id, JD_OK);
    expect_processes(message->reply->ranges, message->reply->n_ranges, list);
    drop(message);
}

/* It has no callback of its own: it will not ask. */
START_TEST(process_0_that_stays_for_others_does_not_live)
{
    start_and_lose_one(false);
    uint64_t id = ask_who_lives(&peers[1]);
    expect_living(&peers[1], id, "1 ");
    finish();
}
END_TEST

START_TEST(process_0_with_a_callback_lives)
{
    start_and_lose_one(true);
    uint64_t id = ask_who_lives(&peers[1]);
    expect_all_quiet();
    uint64_t zero = ask_who_lives(&peers[0]);
    expect_living(&peers[0], zero, "0 1 ");
    expect_living(&peers[1], id, "0 1 ");
    finish();
}
END_TEST

START_TEST(process_0_that_asks_who_lives_lives)
{
    start_and_lose_one(false);
    uint64_t zero = ask_who_lives(&peers[0]);
    expect_all_quiet();
    uint64_t id = ask_who_lives(&peers[1]);
    expect_living(&peers[0], zero, "0 1 ");
    expect_living(&peers[1], id, "0 1 ");
    id = ask_who_lives(&peers[1]); /* and from then on */
    expect_all_quiet();
    finish();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("service failures");
    TCase *tcase = unit_case(suite, "deaths");
    tcase_add_test(tcase, a_closed_connection_is_death_at_once);
    tcase_add_test(tcase, a_cut_connection_is_not_death_yet);
    tcase_add_test(tcase, a_report_says_what_the_dead_was_doing);
    tcase_add_test(tcase, a_report_says_where_the_dead_called);
    tcase_add_test(tcase, words_of_a_call_are_cut);
    tcase_add_test(tcase, those_who_die_together_stand_in_one_sentence);
    tcase_add_test(tcase, many_are_counted);
    tcase_add_test(tcase, the_first_failure_stands);
    tcase = unit_case(suite, "silence");
    tcase_add_test(tcase, silence_is_death_after_the_timeout);
    tcase_add_test(tcase, a_silent_host_falls_as_a_whole);
    tcase_add_test(tcase, any_message_is_a_sign_of_life);
    tcase_add_test(tcase, without_heartbeats_silence_is_nothing);
    tcase_add_test(tcase, a_service_that_was_stopped_blames_nobody);
    tcase_add_test(tcase, a_service_that_slept_a_little_looks_once_more);
    tcase_add_test(tcase, nobody_is_watched_until_all_have_joined);
    tcase = unit_case(suite, "who speaks");
    tcase_add_test(tcase, some_speak);
    tcase_add_test(tcase, all_one_or_none_speak);
    tcase = unit_case(suite, "reports");
    tcase_add_test(tcase, reports_are_told);
    tcase_add_test(tcase, what_a_process_says_of_itself_is_cut);
    tcase_add_test(tcase, the_reply_comes_after_the_sentence);
    tcase_add_test(tcase, equal_checks_are_printed_once);
    tcase_add_test(tcase, a_check_is_answered_within_its_moment);
    tcase_add_test(tcase, a_reporter_that_dies_is_no_second_failure);
    tcase_add_test(tcase, the_store_lives_on_and_the_armed_are_counted);
    tcase_add_test(tcase, process_0_that_stays_for_others_does_not_live);
    tcase_add_test(tcase, process_0_with_a_callback_lives);
    tcase_add_test(tcase, process_0_that_asks_who_lives_lives);
    return unit_main(suite);
}

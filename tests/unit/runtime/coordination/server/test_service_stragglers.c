/* SPDX-License-Identifier: BSD-3-Clause */
/* test_service_stragglers.c - who makes the others wait is said, and no other.
 */
#include "base/log.h"
#include "tests/unit/service.h"

#include <unistd.h>

/* ---- helpers ------------------------------------------------------------ */

static FILE *captured;

static void capture(void)
{
    captured = tmpfile();
    ck_assert_ptr_nonnull(captured);
    ck_assert_int_ge(dup2(fileno(captured), STDERR_FILENO), 0);
    jd__log_set_level("info");
}

/* How many lines were said that contain it. */
static int count_said(const char *text)
{
    char line[1000];
    int count = 0;
    rewind(captured);
    while (fgets(line, sizeof line, captured))
        count += strstr(line, text) != NULL;
    fseek(captured, 0, SEEK_END);
    return count;
}

/* Process i has waited for that one, in one wait of all that it has waited. */
static void tell_waited_at(int i, uint32_t process, double seconds,
                           const char *call, uint64_t site, double all)
{
    Jd__Heartbeat body = JD__HEARTBEAT__INIT;
    Jd__Waited waited = JD__WAITED__INIT, *pointer = &waited;
    waited.process = process;
    waited.waited_us = (uint64_t)(1e6 * seconds);
    waited.call = (char *)call;
    waited.site = site;
    body.waited = &pointer;
    body.n_waited = 1;
    body.waited_us = (uint64_t)(1e6 * all);
    tell(&peers[i], JD__MESSAGE__BODY_HEARTBEAT, &body);
}

/* Of a jd that knows no sites. */
static void tell_waited(int i, uint32_t process, double seconds,
                        const char *call, double all)
{
    tell_waited_at(i, process, seconds, call, 0, all);
}

static void wait_at(int i, uint32_t process, double seconds, uint64_t site)
{
    tell_waited_at(i, process, seconds, "", site, seconds);
}

static void wait_for(int i, uint32_t process, double seconds)
{
    tell_waited(i, process, seconds, "jd_psum at train+0x4c1", seconds);
}

static void start_four(void)
{
    struct jd_service_spec spec = make_spec(4);
    spec.heartbeat_timeout = -1;
    start_spec(&spec);
    start_joined(4);
    capture();
}

static Jd__Message *take_table(void)
{
    Jd__Inquiry body = JD__INQUIRY__INIT;
    uint64_t id = ask(&peers[0], JD__MESSAGE__BODY_INQUIRY, &body, 0);
    return take_reply(&peers[0], id, JD_OK);
}

static void expect_row(int process, uint64_t caused_ms, uint32_t to,
                       const char *in, uint64_t waited_ms)
{
    Jd__Message *message = take_table();
    const Jd__Row *row = message->reply->rows[process];
    ck_assert_uint_eq(row->caused_ms, caused_ms);
    ck_assert_uint_eq(row->caused_to, to);
    ck_assert_str_eq(row->caused_in, in);
    ck_assert_uint_eq(row->waited_ms, waited_ms);
    drop(message);
}

/* ---- who is said -------------------------------------------------------- */

START_TEST(a_straggler_is_said_once)
{
    start_four();
    for (int second = 0; second < 120; second++) {
        for (int i = 0; i < 4; i++)
            if (i != 2)
                wait_for(i, 2, 0.25);
        pass(1);
        if (second < 24) /* 0.1 of a minute, not more */
            ck_assert_int_eq(count_said("makes others wait"), 0);
    }
    ck_assert_int_eq(count_said("makes others wait"), 1);
    ck_assert_int_eq(
        count_said("info process 2 (train, pid 102 on h1) makes others wait: 3 "
                   "for "),
        1);
    ck_assert_int_eq(count_said(" s each of the last minute, most of it in "
                                "jd_psum at train+0x4c1; jd-info --job shows "
                                "what it does"),
                     1);
    finish();
}
END_TEST

START_TEST(a_tenth_of_a_minute_is_not_said)
{
    start_four();
    for (int second = 0; second < 120; second++) {
        for (int i = 0; i < 4; i++)
            if (i != 2)
                wait_for(i, 2, 0.09);
        pass(1);
    }
    ck_assert_int_eq(count_said("makes others wait"), 0);
    finish();
}
END_TEST

START_TEST(where_waiting_is_even_nobody_is_said)
{
    start_four();
    for (int second = 0; second < 120; second++) {
        for (int i = 0; i < 4; i++)
            for (uint32_t k = 0; k < 4; k++)
                if (k != (uint32_t)i)
                    wait_for(i, k, 0.3);
        pass(1);
    }
    ck_assert_int_eq(count_said("makes others wait"), 0);
    finish();
}
END_TEST

/* Others wait for 1, which hands on what comes late from 2; what it has waited
 * itself comes later, and in another slot of the minute. */
START_TEST(who_hands_on_is_not_said)
{
    start_four();
    pass(4.5);
    wait_for(0, 1, 30);
    wait_for(3, 1, 30);
    pass(1.5);
    wait_for(1, 2, 30);
    pass(60);
    ck_assert_int_eq(count_said("process 1 "), 0);
    ck_assert_int_eq(count_said("process 2 "), 1);
    finish();
}
END_TEST

/* The last word of a process is judged though nobody says more. */
START_TEST(one_long_wait_is_enough)
{
    start_four();
    wait_for(0, 3, 7);
    double next = tick();
    ck_assert(next > now && next <= now + 10);
    pass(9.9);
    ck_assert(isinf(tick()) || count_said("process 3 ") == 0);
    pass(5);
    ck_assert_int_eq(count_said("process 3 "), 1);
    ck_assert(service->stragglers_due == 0);
    finish();
}
END_TEST

START_TEST(who_has_left_is_not_said)
{
    start_four();
    wait_for(0, 3, 50);
    leave(&peers[3], true, 0);
    pass(20);
    ck_assert_int_eq(count_said("makes others wait"), 0);
    finish();
}
END_TEST

/* ---- the table ---------------------------------------------------------- */

START_TEST(the_table_has_the_last_minute)
{
    start_four();
    expect_row(2, 0, 0, "", 0);
    wait_for(0, 2, 3);
    tell_waited(1, 2, 5, "jd_all_gather at train+0x1", 9);
    expect_row(2, 4000, 2, "jd_all_gather at train+0x1", 0);
    expect_row(1, 0, 0, "", 9000);
    pass(30);
    wait_for(0, 2, 1);
    expect_row(2, 4500, 2, "jd_all_gather at train+0x1", 0);
    expect_row(0, 0, 0, "", 4000);
    pass(31); /* the first are older than a minute */
    expect_row(2, 1000, 1, "jd_all_gather at train+0x1", 0);
    expect_row(1, 0, 0, "", 0);
    pass(1000);
    expect_row(2, 0, 0, "", 0);
    finish();
}
END_TEST

/* Nobody has said anything for more than a minute. */
START_TEST(after_a_silence_a_minute_begins_anew)
{
    start_four();
    wait_for(0, 2, 3);
    pass(70);
    wait_for(0, 2, 1);
    expect_row(2, 1000, 1, "jd_psum at train+0x4c1", 0);
    finish();
}
END_TEST

START_TEST(the_call_is_one_of_the_last_minute)
{
    start_four();
    for (int i = 0; i < 300; i++) {
        wait_for(0, 2, 1);
        pass(1);
    }
    for (int i = 0; i < 60; i++) {
        tell_waited(0, 2, 1, "jd_all_gather at train+0x1", 1);
        pass(1);
    }
    Jd__Message *message = take_table();
    ck_assert_str_eq(message->reply->rows[2]->caused_in,
                     "jd_all_gather at train+0x1");
    drop(message);
    finish();
}
END_TEST

/* Who names many in turn names each anew: there are no more than all others. */
START_TEST(no_more_wait_than_there_are)
{
    start_four();
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < 4; i++) {
            if (i == 2)
                continue;
            peers[i].connection->member->num_named = 0; /* others since */
            wait_for(i, 2, 1);
        }
    Jd__Message *message = take_table();
    ck_assert_uint_eq(message->reply->rows[2]->caused_to, 3);
    drop(message);
    finish();
}
END_TEST

START_TEST(what_cannot_be_does_not_count)
{
    start_four();
    wait_for(0, 4, 5);          /* of nobody */
    wait_for(0, UINT32_MAX, 5); /* nor is that one */
    wait_for(2, 2, 5);          /* itself */
    wait_for(1, 2, 1e12);
    expect_row(2, 60000, 1, "jd_psum at train+0x4c1", 5000);
    expect_row(0, 0, 0, "", 10000);
    tell_waited(1, 3, 1, "a\nb", 1);
    expect_row(3, 1000, 1, "a?b", 0);
    finish();
}
END_TEST

/* ---- the words of a site ------------------------------------------------ */

static void expect_question(int i, uint64_t site)
{
    Jd__Message *message = take(&peers[i], JD__MESSAGE__BODY_NAME_SITE);
    ck_assert_uint_eq(message->name_site->site, site);
    drop(message);
}

static void expect_no_question(void)
{
    for (int i = 0; i < 4; i++)
        expect_quiet(&peers[i]);
}

static void name_site(int i, uint64_t site, const char *text)
{
    Jd__SiteNamed body = JD__SITE_NAMED__INIT;
    body.site = site;
    body.text = (char *)text;
    tell(&peers[i], JD__MESSAGE__BODY_SITE_NAMED, &body);
}

/* However many tell of it, and not before it is worth it. */
START_TEST(one_is_asked_for_the_words)
{
    start_four();
    wait_at(0, 2, 0.5, 77);
    wait_at(1, 2, 0.5, 77);
    expect_no_question();
    wait_at(3, 2, 5, 77);
    expect_question(3, 77);
    for (int i = 0; i < 4; i++)
        if (i != 2)
            wait_at(i, 2, 20, 77);
    expect_no_question();
    expect_row(2, 22000, 3, "", 0);
    name_site(3, 77, "jd_psum at train.c:120 (step+0x4c)");
    expect_row(2, 22000, 3, "jd_psum at train.c:120 (step+0x4c)", 0);
    wait_at(1, 3, 9, 77); /* another culprit, the same call */
    expect_row(3, 9000, 1, "jd_psum at train.c:120 (step+0x4c)", 25000);
    pass(15);
    expect_no_question();
    ck_assert_int_eq(
        count_said("most of it in jd_psum at train.c:120 (step+0x4c); "), 1);
    finish();
}
END_TEST

START_TEST(who_does_not_answer_is_not_waited_for)
{
    start_four();
    wait_at(0, 2, 7, 77);
    expect_question(0, 77);
    pass(4.9);
    wait_at(1, 2, 7, 77);
    expect_no_question();
    pass(0.2);
    wait_at(1, 2, 7, 77);
    expect_question(1, 77);
    name_site(1, 77, ""); /* nor does that one know it */
    pass(10);
    ck_assert_int_eq(count_said("s each of the last minute; jd-info"), 1);
    finish();
}
END_TEST

START_TEST(only_what_was_asked_for_is_named)
{
    start_four();
    wait_at(0, 2, 0.5, 77);
    name_site(0, 77, "too early");
    name_site(0, 78, "of nobody");
    expect_row(2, 500, 1, "", 0);
    wait_at(0, 2, 1, 77);
    expect_question(0, 77);
    name_site(0, 77, "a\nb");
    name_site(1, 77, "too late");
    expect_row(2, 1500, 1, "a?b", 0);
    finish();
}
END_TEST

/* Whoever tells of it again is asked again. */
START_TEST(of_too_many_sites_the_oldest_is_forgotten)
{
    start_four();
    for (uint64_t site = 1; site <= JD_SERVICE_SITES; site++) {
        wait_at(0, 2, 50, site);
        wait_at(1, 2, 50, site == 1 ? site : 1); /* the vote stays with it */
        if (site == 1) {
            expect_question(0, 1);
            name_site(0, 1, "the first");
        }
    }
    expect_no_question();
    ck_assert_str_eq(jd__sites_words(service, 1), "the first");
    for (uint64_t site = 1; site <= JD_SERVICE_SITES; site++)
        wait_at(0, 3, 0.001, 1000 + site);
    ck_assert_str_eq(jd__sites_words(service, 1), "");
    ck_assert_int_eq(service->num_sites, JD_SERVICE_SITES);
    pass(120);
    wait_at(0, 2, 50, 1);
    expect_question(0, 1);
    finish();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("service_stragglers");
    TCase *tcase = unit_case(suite, "who is said");
    tcase_add_test(tcase, a_straggler_is_said_once);
    tcase_add_test(tcase, a_tenth_of_a_minute_is_not_said);
    tcase_add_test(tcase, where_waiting_is_even_nobody_is_said);
    tcase_add_test(tcase, who_hands_on_is_not_said);
    tcase_add_test(tcase, one_long_wait_is_enough);
    tcase_add_test(tcase, who_has_left_is_not_said);
    tcase = unit_case(suite, "the table");
    tcase_add_test(tcase, the_table_has_the_last_minute);
    tcase_add_test(tcase, after_a_silence_a_minute_begins_anew);
    tcase_add_test(tcase, the_call_is_one_of_the_last_minute);
    tcase_add_test(tcase, no_more_wait_than_there_are);
    tcase_add_test(tcase, what_cannot_be_does_not_count);
    tcase = unit_case(suite, "the words of a site");
    tcase_add_test(tcase, one_is_asked_for_the_words);
    tcase_add_test(tcase, who_does_not_answer_is_not_waited_for);
    tcase_add_test(tcase, only_what_was_asked_for_is_named);
    tcase_add_test(tcase, of_too_many_sites_the_oldest_is_forgotten);
    return unit_main(suite);
}

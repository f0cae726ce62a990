/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_service_scale.c - the service with 10,000 processes. What happens once
 * in a job's life may cost each process a little, but not each process all of
 * them: a walk over all for each of them takes minutes here. The seconds of
 * each step stand on stderr.
 */
#include "base/clock.h"

#define UNIT_MAX_PEERS 10000
#include "tests/unit/service_crowd.h"

/* What each has been sent; of texts only the newest of all is kept. */
static struct {
    int replies, failures;
    int32_t status;
    int64_t number;
} got[COUNT];
static char *last_text;
static double begun;

/* ---- helpers ------------------------------------------------------------ */

static void keep_text(const char *text)
{
    if (last_text && strcmp(last_text, text) == 0)
        return;
    free(last_text);
    last_text = strdup(text);
}

static void crowd_send(void *arg, const Jd__Message *message)
{
    struct peer *peer = arg;
    size_t i = (size_t)(peer - peers);
    if (crowd_is_let_in(peer, message))
        return;
    if (message->body_case == JD__MESSAGE__BODY_REPLY) {
        got[i].replies++;
        got[i].status = message->reply->status;
        got[i].number = message->reply->number;
        keep_text(message->reply->text);
    } else if (message->body_case == JD__MESSAGE__BODY_FAILURE) {
        got[i].failures++;
        keep_text(message->failure->text);
    }
}

static void begin(void)
{
    begun = jd__clock_now();
}

static void end(const char *what)
{
    fprintf(stderr, "%d processes: %s: %.3f s\n", (int)COUNT, what,
            jd__clock_now() - begun);
}

static void forget_replies(void)
{
    memset(got, 0, sizeof got);
}

/* Each of these has so many replies, with this status. */
static void expect_replies(int from, int count, jd_status status)
{
    for (int i = from; i < count; i++) {
        ck_assert_int_eq(got[i].replies, 1);
        ck_assert_str_eq(jd_status_name((jd_status)got[i].status),
                         jd_status_name(status));
    }
}

static void start_crowd(void)
{
    crowd_start(crowd_send);
    begin();
    for (int i = 0; i < COUNT; i++)
        crowd_come(i);
    end("all come");
}

static void start_crowd_joined(void)
{
    start_crowd();
    begin();
    for (int i = 0; i < COUNT; i++)
        join(&peers[i], NO_DEADLINE);
    end("all join");
    expect_replies(0, COUNT, JD_OK);
    forget_replies();
}

static void finish_crowd(void)
{
    begin();
    finish();
    end("the service goes");
    forget_replies();
    free(last_text);
    last_text = NULL;
}

/* ---- deadlines ---------------------------------------------------------- */

START_TEST(a_barrier_of_all_times_out)
{
    start_crowd_joined();
    begin();
    for (int i = 1; i < COUNT; i++)
        arrive(&peers[i], "b", 1000);
    end("all but one arrive");
    now += 1.5;
    begin();
    tick();
    end("the barrier times out");
    expect_replies(1, COUNT, JD_DEADLINE_EXCEEDED);
    ck_assert_ptr_nonnull(strstr(last_text, "process 0 (train"));
    finish_crowd();
}
END_TEST

START_TEST(a_barrier_of_half_times_out)
{
    static int list[COUNT / 2 + 1];
    for (int i = 0; i < COUNT / 2; i++)
        list[i] = 2 * i;
    list[COUNT / 2] = -1;
    start_crowd_joined();
    for (int i = 2; i < 32; i += 2)
        arrive_with(&peers[i], "b", list, "", 1000);
    now += 1.5;
    begin();
    tick();
    end("a barrier of half of them, listed, times out");
    finish_crowd();
}
END_TEST

START_TEST(the_meeting_times_out)
{
    start_crowd();
    begin();
    for (int i = 1; i < COUNT; i++)
        join(&peers[i], 1000);
    end("all but one join");
    now += 1.5;
    begin();
    tick();
    end("the meeting times out");
    expect_replies(1, COUNT, JD_DEADLINE_EXCEEDED);
    ck_assert_ptr_nonnull(strstr(last_text, "process 0 (train"));
    finish_crowd();
}
END_TEST

START_TEST(everybody_asks_what_it_waits_for)
{
    Jd__Inquiry inquiry = JD__INQUIRY__INIT;
    start_crowd_joined();
    for (int i = COUNT - 1; i > 0; i--)
        arrive(&peers[i], "b", NO_DEADLINE);
    begin();
    for (int i = 1; i < COUNT; i++) {
        inquiry.wait = peers[i].last_id;
        ask(&peers[i], JD__MESSAGE__BODY_INQUIRY, &inquiry, 0);
        ck_assert_int_eq(got[i].number, i == 1);
    }
    end("all ask what they wait for");
    expect_replies(1, COUNT, JD_OK);
    finish_crowd();
}
END_TEST

/* ---- the end ------------------------------------------------------------ */

START_TEST(all_leave)
{
    start_crowd_joined();
    begin();
    for (int i = 0; i < COUNT; i++)
        leave(&peers[i], false, NO_DEADLINE);
    end("all leave");
    expect_replies(1, COUNT, JD_OK);
    ck_assert_int_eq(got[0].replies, 0);
    begin();
    for (int i = 1; i < COUNT; i++)
        lose(&peers[i], 0);
    end("all close");
    expect_replies(0, COUNT, JD_OK);
    finish_crowd();
}
END_TEST

START_TEST(leaving_times_out)
{
    start_crowd_joined();
    for (int i = 1; i < COUNT; i++)
        leave(&peers[i], false, 1000);
    now += 1.5;
    begin();
    tick();
    end("leaving times out");
    expect_replies(1, COUNT, JD_DEADLINE_EXCEEDED);
    finish_crowd();
}
END_TEST

/* ---- failures ----------------------------------------------------------- */

START_TEST(a_hundred_die_at_a_barrier)
{
    start_crowd_joined();
    for (int i = 1; i < COUNT; i++)
        arrive(&peers[i], "b", NO_DEADLINE);
    begin();
    for (int i = 100; i < 200; i++)
        lose(&peers[i], 0);
    pass(0.5);
    end("a hundred die");
    expect_replies(1, 100, JD_ABORTED);
    for (int i = 200; i < COUNT; i++)
        ck_assert_int_eq(got[i].failures, 1);
    begin();
    for (int i = 200; i < COUNT; i++)
        lose(&peers[i], 0);
    end("the others end");
    finish_crowd();
}
END_TEST

START_TEST(all_ask_who_lives)
{
    Jd__Live live = JD__LIVE__INIT;
    start_crowd_joined();
    begin();
    for (int i = 0; i < COUNT; i++)
        ask(&peers[i], JD__MESSAGE__BODY_LIVE, &live, 1000);
    end("all ask who lives");
    expect_replies(0, COUNT, JD_OK);
    finish_crowd();
}
END_TEST

/* The server asks after each message when the next is due. */
static void report_all(bool with_same_text)
{
    char text[64];
    start_crowd_joined();
    begin();
    for (int i = 0; i < COUNT; i++) {
        snprintf(text, sizeof text, "a.c:%d: jd_psum: no",
                 with_same_text ? 7 : i);
        report(&peers[i], JD__REPORT__KIND__CHECK, 1, text);
        tick();
    }
    pass(0.5);
    end(with_same_text ? "all report the same" : "all report their own");
    expect_replies(0, COUNT, JD_OK);
    for (int i = 0; i < COUNT; i++) {
        ck_assert_int_eq(got[i].number, i == 0 || !with_same_text);
        ck_assert_int_eq(got[i].failures, 1);
    }
    finish_crowd();
}

START_TEST(all_report_the_same)
{
    report_all(true);
}
END_TEST

START_TEST(all_report_their_own)
{
    report_all(false);
}
END_TEST

/* ---- preemption --------------------------------------------------------- */

START_TEST(all_answer_a_preemption)
{
    Jd__Preempted preempted = JD__PREEMPTED__INIT;
    Jd__Step step = JD__STEP__INIT;
    Jd__Acknowledge acknowledge = JD__ACKNOWLEDGE__INIT;
    start_crowd_joined();
    begin();
    tell(&peers[7], JD__MESSAGE__BODY_PREEMPTED, &preempted);
    step.round = acknowledge.round = 1;
    for (int i = 0; i < COUNT; i++)
        tell(&peers[i], JD__MESSAGE__BODY_STEP, &step);
    for (int i = 0; i < COUNT; i++)
        tell(&peers[i], JD__MESSAGE__BODY_ACKNOWLEDGE, &acknowledge);
    end("all agree on a step, and acknowledge it");
    finish_crowd();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("service at scale");
    TCase *tcase = unit_case(suite, "deadlines");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, a_barrier_of_all_times_out);
    tcase_add_test(tcase, a_barrier_of_half_times_out);
    tcase_add_test(tcase, the_meeting_times_out);
    tcase_add_test(tcase, everybody_asks_what_it_waits_for);
    tcase = unit_case(suite, "the end");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, all_leave);
    tcase_add_test(tcase, leaving_times_out);
    tcase = unit_case(suite, "failures");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, a_hundred_die_at_a_barrier);
    tcase_add_test(tcase, all_ask_who_lives);
    tcase_add_test(tcase, all_report_the_same);
    tcase_add_test(tcase, all_report_their_own);
    tcase = unit_case(suite, "preemption");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, all_answer_a_preemption);
    return unit_main(suite);
}

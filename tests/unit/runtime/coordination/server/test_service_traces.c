/* SPDX-License-Identifier: BSD-3-Clause */
/* test_service_traces.c - who asks for what processes have called gets it part
 * by part, or a sentence; and the service holds none of it. */
#define UNIT_MAX_PEERS 1100
#define UNIT_MAX_INBOX 16
#include "tests/unit/service.h"

enum { COUNT = 3, MANY = 1000, FIRST_OBSERVER = 1001 };

/* ---- helpers ------------------------------------------------------------ */

static struct peer *const observer = &peers[FIRST_OBSERVER];

static void start_observed(int count)
{
    start(count);
    start_joined(count);
    come_as(observer, JD__ROLE__OBSERVER);
}

static uint64_t ask_part(struct peer *peer, uint32_t process, uint32_t place,
                         uint64_t offset, int64_t timeout)
{
    Jd__TraceOf body = JD__TRACE_OF__INIT;
    body.process = process;
    body.place = place;
    body.offset = offset;
    return ask(peer, JD__MESSAGE__BODY_TRACE_OF, &body, timeout);
}

static uint64_t ask_first(struct peer *peer, uint32_t process)
{
    return ask_part(peer, process, 0, 0, 15000);
}

/* Returns the reader. */
static uint64_t expect_show(int i, uint64_t number, uint32_t place,
                            uint64_t offset)
{
    Jd__Message *message = take(&peers[i], JD__MESSAGE__BODY_SHOW_TRACE);
    uint64_t reader = message->show_trace->reader;
    ck_assert_uint_eq(message->show_trace->number, number);
    ck_assert_uint_eq(message->show_trace->place, place);
    ck_assert_uint_eq(message->show_trace->offset, offset);
    drop(message);
    return reader;
}

static void tell_part(int i, uint64_t number, jd_status status,
                      const char *text, size_t bytes)
{
    static uint8_t zeros[JD_WIRE_TRACE_PART + 1];
    Jd__TracePart body = JD__TRACE_PART__INIT;
    body.number = number;
    body.status = (int32_t)status;
    body.text = (char *)text;
    body.places = 2;
    body.size = 40000;
    body.bytes = jd__wire_bytes(zeros, bytes);
    tell(&peers[i], JD__MESSAGE__BODY_TRACE_PART, &body);
}

static void expect_part(struct peer *peer, uint64_t id, size_t bytes)
{
    Jd__Message *message = take_reply(peer, id, JD_OK);
    ck_assert_ptr_nonnull(message->reply->trace);
    ck_assert_uint_eq(message->reply->trace->places, 2);
    ck_assert_uint_eq(message->reply->trace->size, 40000);
    ck_assert_uint_eq(message->reply->trace->bytes.len, bytes);
    drop(message);
}

/* ---- parts -------------------------------------------------------------- */

START_TEST(each_part_is_asked_of_the_process_and_passed_on)
{
    start_observed(COUNT);
    uint64_t id = ask_first(observer, 1);
    uint64_t reader = expect_show(1, 1, 0, 0);
    expect_all_quiet();
    tell_part(1, 1, JD_OK, "", JD_WIRE_TRACE_PART);
    expect_part(observer, id, JD_WIRE_TRACE_PART);
    id = ask_part(observer, 1, 0, JD_WIRE_TRACE_PART, 15000);
    ck_assert_uint_eq(expect_show(1, 2, 0, JD_WIRE_TRACE_PART), reader);
    tell_part(1, 2, JD_OK, "", 10);
    expect_part(observer, id, 10);
    expect_all_quiet();
    finish();
}
END_TEST

START_TEST(what_the_process_says_against_it_is_passed_on)
{
    start_observed(COUNT);
    uint64_t id = ask_first(observer, 1);
    expect_show(1, 1, 0, 0);
    tell_part(1, 1, JD_FAILED_PRECONDITION, "it records nothing", 0);
    expect_fails(observer, id, JD_FAILED_PRECONDITION,
                 "process 1 (train, pid 101 on h0): it records nothing");
    finish();
}
END_TEST

START_TEST(a_part_that_is_too_large_is_not)
{
    start_observed(COUNT);
    uint64_t id = ask_first(observer, 1);
    expect_show(1, 1, 0, 0);
    tell_part(1, 1, JD_OK, "", JD_WIRE_TRACE_PART + 1);
    expect_fails(observer, id, JD_INTERNAL,
                 "process 1 (train, pid 101 on h0) has sent a part of 32769 "
                 "bytes of what it has called, and 32768 are the most; its jd "
                 "is broken");
    finish();
}
END_TEST

/* Nor one that another process sends, nor one twice. */
START_TEST(what_nobody_has_asked_for_goes_nowhere)
{
    start_observed(COUNT);
    uint64_t id = ask_first(observer, 1);
    expect_show(1, 1, 0, 0);
    tell_part(2, 1, JD_OK, "", 1);
    tell_part(1, 2, JD_OK, "", 1);
    expect_all_quiet();
    tell_part(1, 1, JD_OK, "", 1);
    expect_part(observer, id, 1);
    tell_part(1, 1, JD_OK, "", 1);
    expect_all_quiet();
    finish();
}
END_TEST

/* Nothing that others wait for is in its way. */
START_TEST(a_process_may_ask_too_and_waits_for_nobody)
{
    start_observed(COUNT);
    uint64_t id = ask_first(&peers[0], 1);
    expect_show(1, 1, 0, 0);
    Jd__Inquiry body = JD__INQUIRY__INIT;
    uint64_t table = ask(observer, JD__MESSAGE__BODY_INQUIRY, &body, 0);
    Jd__Message *message = take_reply(observer, table, JD_OK);
    ck_assert_str_eq(message->reply->rows[0]->waits, "");
    drop(message);
    tell_part(1, 1, JD_OK, "", 1);
    expect_part(&peers[0], id, 1);
    finish();
}
END_TEST

/* ---- readers ------------------------------------------------------------ */

START_TEST(one_part_at_a_time)
{
    start_observed(COUNT);
    uint64_t id = ask_first(observer, 1);
    expect_fails(observer, ask_first(observer, 2), JD_FAILED_PRECONDITION,
                 "the part of a trace that was asked for before has not come "
                 "yet; one at a time is shown");
    expect_show(1, 1, 0, 0);
    expect_all_quiet();
    tell_part(1, 1, JD_OK, "", 1);
    expect_part(observer, id, 1);
    finish();
}
END_TEST

/* What it was sent waits in the service, which gets no more for it. */
START_TEST(who_does_not_read_gets_no_more)
{
    start_observed(COUNT);
    observer->backlog = 2 * JD_WIRE_TRACE_PART + 1;
    expect_fails(observer, ask_first(observer, 1), JD_RESOURCE_EXHAUSTED,
                 "65537 bytes were sent that are not read yet; ask again when "
                 "they are");
    expect_all_quiet();
    observer->backlog = 2 * JD_WIRE_TRACE_PART;
    ask_first(observer, 1);
    expect_show(1, 1, 0, 0);
    finish();
}
END_TEST

START_TEST(so_many_readers_and_no_more)
{
    static const char full[] =
        "4 others read calls of this job now, and no more may at once; ask "
        "again when one of them has ended";
    start_observed(COUNT);
    uint64_t number = 0;
    for (int i = 0; i < 5; i++)
        if (i)
            come_as(observer + i, JD__ROLE__OBSERVER);
    for (int i = 0; i < 4; i++) {
        ask_first(observer + i, 1);
        expect_show(1, ++number, 0, 0);
    }
    expect_fails(observer + 4, ask_first(observer + 4, 1),
                 JD_RESOURCE_EXHAUSTED, full);
    lose(observer + 2, 0);
    ask_first(observer + 4, 2);
    expect_show(2, ++number, 0, 0);
    finish();
}
END_TEST

/* One that came and asks for nothing any more. */
START_TEST(a_place_is_free_after_a_while)
{
    start_observed(COUNT);
    for (int i = 0; i < 4; i++) {
        if (i)
            come_as(observer + i, JD__ROLE__OBSERVER);
        uint64_t id = ask_first(observer + i, 1);
        expect_show(1, (uint64_t)i + 1, 0, 0);
        tell_part(1, (uint64_t)i + 1, JD_OK, "", 1);
        expect_part(observer + i, id, 1);
    }
    come_as(observer + 4, JD__ROLE__OBSERVER);
    pass(29);
    drop(take_reply(observer + 4, ask_first(observer + 4, 1),
                    JD_RESOURCE_EXHAUSTED));
    pass(2);
    ask_first(observer + 4, 1);
    ck_assert_uint_eq(expect_show(1, 5, 0, 0), 5);
    finish();
}
END_TEST

/* What 1,000 processes show passes through, and nothing of it stays. */
START_TEST(nothing_stays_of_what_a_thousand_show)
{
    start_observed(MANY);
    for (int i = 0; i < MANY; i++)
        for (uint64_t part = 0; part < 3; part++) {
            uint64_t id = ask_part(observer, (uint32_t)i, 0,
                                   part * JD_WIRE_TRACE_PART, 15000);
            expect_show(i, service->num_trace_shows, 0,
                        part * JD_WIRE_TRACE_PART);
            ck_assert_int_eq(service->traces.count, 1);
            tell_part(i, service->num_trace_shows, JD_OK, "",
                      JD_WIRE_TRACE_PART);
            expect_part(observer, id, JD_WIRE_TRACE_PART);
            ck_assert_int_eq(service->traces.count, 0);
            ck_assert_uint_eq(service->heap.count, 0);
        }
    ck_assert_uint_eq(service->num_trace_shows, 3 * MANY);
    ck_assert_uint_eq(service->num_trace_readers, 1);
    expect_all_quiet();
    finish();
}
END_TEST

/* ---- no answer ---------------------------------------------------------- */

START_TEST(who_may_be_anybody_sees_none)
{
    start(COUNT);
    start_joined(COUNT);
    observer->owner = JD_OWNER_ANYBODY;
    come_as(observer, JD__ROLE__OBSERVER);
    expect_fails(
        observer, ask_first(observer, 1), JD_PERMISSION_DENIED,
        "process 1 (train, pid 101 on h0): what it has called is shown only to "
        "who shows whose it is, and this job has no way to know that of "
        "another host: set JD_SECRET_FILE, the same for the job and jd-trace, "
        "or ask on the host of process 0");
    expect_all_quiet();
    finish();
}
END_TEST

/* Its agent would end its connection. */
START_TEST(one_of_an_earlier_version_is_not_asked)
{
    start(COUNT);
    peers[1].is_old = true;
    start_joined(COUNT);
    come_as(observer, JD__ROLE__OBSERVER);
    expect_fails(observer, ask_first(observer, 1), JD_UNIMPLEMENTED,
                 "process 1 (train, pid 101 on h0): its jd is of an earlier "
                 "version, which cannot show what it has called while it runs; "
                 "JD_TRACE_DIR has it when the job has ended");
    expect_all_quiet();
    finish();
}
END_TEST

START_TEST(who_is_not_there_is_not_asked)
{
    start(COUNT);
    come_as(observer, JD__ROLE__OBSERVER);
    expect_fails(observer, ask_first(observer, 3), JD_INVALID_ARGUMENT,
                 "there is no process 3: the job's last is 2");
    expect_fails(observer, ask_first(observer, UINT32_MAX), JD_INVALID_ARGUMENT,
                 "there is no process 4294967295: the job's last is 2");
    expect_fails(observer, ask_first(observer, 2), JD_FAILED_PRECONDITION,
                 "process 2: it shows no calls: it is not in the job yet");
    finish();
}
END_TEST

START_TEST(a_death_is_the_end_of_the_wait)
{
    start_observed(COUNT);
    uint64_t id = ask_first(observer, 1);
    lose(&peers[1], 0);
    expect_fails(observer, id, JD_UNAVAILABLE,
                 "process 1 (train, pid 101 on h0) was asked for what it has "
                 "called, and then its connection has ended");
    expect_fails(observer, ask_first(observer, 1), JD_FAILED_PRECONDITION,
                 "process 1 (train, pid 101 on h0): it shows no calls: "
                 "connection closed without shutdown (killed or crashed)");
    id = ask_first(observer, 2);
    expect_show(2, 2, 0, 0);
    tell_part(2, 2, JD_OK, "", 1);
    expect_part(observer, id, 1);
    finish();
}
END_TEST

START_TEST(who_does_not_answer_is_named_when_the_time_is_up)
{
    start_observed(COUNT);
    pass(2);
    uint64_t id = ask_first(observer, 1);
    expect_show(1, 1, 0, 0);
    pass(14.9);
    expect_quiet(observer);
    pass(0.2);
    expect_fails(observer, id, JD_DEADLINE_EXCEEDED,
                 "process 1 (train, pid 101 on h0) has not shown what it has "
                 "called within 15 s, and was last heard 17 s ago; one that is "
                 "stopped (SIGSTOP, a debugger) cannot: see on its host what "
                 "ps -o stat,wchan -p 101 says");
    tell_part(1, 1, JD_OK, "", 1);
    expect_all_quiet();
    finish();
}
END_TEST

/* Whatever the asker says: without an end, or one of days. */
START_TEST(nobody_waits_for_ever)
{
    start_observed(COUNT);
    uint64_t id = ask_part(observer, 1, 0, 0, NO_DEADLINE);
    uint64_t other = ask_part(&peers[0], 1, 0, 0, INT64_MAX);
    pass(59);
    expect_quiet(observer);
    pass(2);
    drop(take_reply(observer, id, JD_DEADLINE_EXCEEDED));
    drop(take_reply(&peers[0], other, JD_DEADLINE_EXCEEDED));
    finish();
}
END_TEST

START_TEST(an_observer_that_has_gone_is_not_answered)
{
    start_observed(COUNT);
    ask_first(observer, 1);
    expect_show(1, 1, 0, 0);
    lose(observer, 0);
    tell_part(1, 1, JD_OK, "", 1);
    pass(20);
    expect_quiet(observer);
    finish();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("service_traces");
    TCase *tcase = unit_case(suite, "parts");
    tcase_add_test(tcase, each_part_is_asked_of_the_process_and_passed_on);
    tcase_add_test(tcase, what_the_process_says_against_it_is_passed_on);
    tcase_add_test(tcase, a_part_that_is_too_large_is_not);
    tcase_add_test(tcase, what_nobody_has_asked_for_goes_nowhere);
    tcase_add_test(tcase, a_process_may_ask_too_and_waits_for_nobody);
    tcase = unit_case(suite, "readers");
    tcase_add_test(tcase, one_part_at_a_time);
    tcase_add_test(tcase, who_does_not_read_gets_no_more);
    tcase_add_test(tcase, so_many_readers_and_no_more);
    tcase_add_test(tcase, a_place_is_free_after_a_while);
    tcase_add_test(tcase, nothing_stays_of_what_a_thousand_show);
    tcase = unit_case(suite, "no answer");
    tcase_add_test(tcase, who_may_be_anybody_sees_none);
    tcase_add_test(tcase, one_of_an_earlier_version_is_not_asked);
    tcase_add_test(tcase, who_is_not_there_is_not_asked);
    tcase_add_test(tcase, a_death_is_the_end_of_the_wait);
    tcase_add_test(tcase, who_does_not_answer_is_named_when_the_time_is_up);
    tcase_add_test(tcase, nobody_waits_for_ever);
    tcase_add_test(tcase, an_observer_that_has_gone_is_not_answered);
    return unit_main(suite);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* test_service_queues.c - who has queued how much on its GPUs. */
#include "tests/unit/service.h"

#define COMM 77

static void tell_queued(int process, uint64_t comm, uint64_t calls,
                        bool is_over)
{
    Jd__Heartbeat body = JD__HEARTBEAT__INIT;
    Jd__Queued queued = JD__QUEUED__INIT;
    Jd__Queued *pointers[] = { &queued };
    queued.comm = comm;
    queued.calls = calls;
    queued.is_over = is_over;
    body.queued = pointers;
    body.n_queued = 1;
    tell(&peers[process], JD__MESSAGE__BODY_HEARTBEAT, &body);
}

/* Process 0 asks who has queued as many calls. */
static void expect_there(uint64_t comm, uint64_t calls, const char *list,
                         int64_t fewest, uint32_t over)
{
    Jd__Inquiry body = JD__INQUIRY__INIT;
    body.comm = comm;
    body.calls = calls;
    uint64_t id = ask(&peers[0], JD__MESSAGE__BODY_INQUIRY, &body, 1000);
    Jd__Message *message = take_reply(&peers[0], id, JD_OK);
    expect_processes(message->reply->ranges, message->reply->n_ranges, list);
    ck_assert_int_eq(message->reply->number, fewest);
    ck_assert_uint_eq(message->reply->count, over);
    ck_assert_uint_eq(message->reply->n_rows, 0);
    drop(message);
}

START_TEST(who_has_queued_as_much_is_there)
{
    start(4);
    start_joined(4);
    expect_there(COMM, 12, "", 0, 0);
    tell_queued(0, COMM, 12, false);
    tell_queued(1, COMM, 10, false);
    tell_queued(2, COMM, 13, false);
    tell_queued(3, COMM + 1, 50, false); /* another communicator */
    pass(0.3);
    expect_there(COMM, 12, "0 2 ", 10, 0);
    expect_there(COMM, 10, "0 1 2 ", 0, 0);
    tell_queued(1, COMM, 12, false);
    pass(0.3);
    expect_there(COMM, 12, "0 1 2 ", 0, 0);
    finish();
}
END_TEST

START_TEST(of_one_that_is_over_nothing_is_known)
{
    start(3);
    start_joined(3);
    tell_queued(0, COMM, 12, false);
    tell_queued(1, COMM, 12, false);
    tell_queued(1, COMM, 0, true);
    expect_there(COMM, 12, "0 1 ", 0, 1);
    tell_queued(1, COMM, 1, false); /* it was made anew */
    pass(0.3);
    expect_there(COMM, 12, "0 ", 1, 0);
    finish();
}
END_TEST

/* Of many that ask the same at once. */
START_TEST(an_answer_stays_for_a_moment)
{
    start(2);
    start_joined(2);
    tell_queued(1, COMM, 1, false);
    expect_there(COMM, 2, "", 1, 0);
    tell_queued(1, COMM, 2, false);
    expect_there(COMM, 2, "", 1, 0);
    expect_there(COMM, 1, "1 ", 0, 0);
    tell_queued(1, COMM, 3, false);
    expect_there(COMM, 3, "1 ", 0, 0);
    pass(0.3);
    expect_there(COMM, 2, "1 ", 0, 0);
    finish();
}
END_TEST

/* It has some that it does not record. */
START_TEST(who_does_not_tell_all_may_have_queued_the_others)
{
    Jd__Heartbeat body = JD__HEARTBEAT__INIT;
    start(2);
    start_joined(2);
    tell_queued(1, COMM, 3, false);
    body.queued_is_partial = true;
    tell(&peers[1], JD__MESSAGE__BODY_HEARTBEAT, &body);
    expect_there(COMM + 1, 5, "1 ", 0, 1);
    expect_there(COMM, 5, "", 3, 0);
    finish();
}
END_TEST

START_TEST(of_many_the_oldest_are_forgotten)
{
    start(2);
    start_joined(2);
    for (uint64_t i = 1; i <= 64; i++)
        tell_queued(1, i, 5, false);
    expect_there(65, 5, "", 0, 0);
    tell_queued(1, 65, 5, false);
    expect_there(1, 6, "1 ", 0, 1); /* not known any more */
    expect_there(2, 6, "", 5, 0);
    expect_there(65, 5, "1 ", 0, 0);
    finish();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("service queues");
    TCase *tcase = unit_case(suite, "queues");
    tcase_add_test(tcase, who_has_queued_as_much_is_there);
    tcase_add_test(tcase, of_one_that_is_over_nothing_is_known);
    tcase_add_test(tcase, an_answer_stays_for_a_moment);
    tcase_add_test(tcase, who_does_not_tell_all_may_have_queued_the_others);
    tcase_add_test(tcase, of_many_the_oldest_are_forgotten);
    return unit_main(suite);
}

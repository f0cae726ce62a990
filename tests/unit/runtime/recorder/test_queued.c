/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_queued.c - how much this process tells that it has queued. The recorder
 * is the process's: Check gives each test a process of its own.
 */
#include "runtime/recorder/queued.h"
#include "jd.h"
#include "runtime/recorder/recorder.h"
#include "tests/unit/unit.h"

static struct jd_queued told[JD_QUEUED_MOST];

static struct jd_ring_comm *get_comm(uint64_t id, int member)
{
    struct jd_ring_comm *comm =
        jd__recorder_comm_get(id, member, 4, "axis \"data\"");
    ck_assert_ptr_nonnull(comm);
    jd__queued_mark(comm);
    return comm;
}

static void call_on(struct jd_ring_comm *comm, int count, bool is_transfer)
{
    for (int i = 0; i < count; i++) {
        jd__recorder_enter(&(struct jd_recorder_call){
            .operation = is_transfer ? "jd_send" : "jd_psum",
            .comm = comm,
            .count = 3,
            .dtype = JD_F32,
            .is_transfer = is_transfer });
        jd__recorder_leave(JD_OK);
    }
}

static void switch_on(void)
{
    jd__recorder_configure(true, false);
}

static void expect_told(uint64_t comm, uint64_t calls, bool is_over)
{
    ck_assert(jd__queued_is_new());
    ck_assert_int_eq(jd__queued_take(told), 1);
    ck_assert_uint_eq(told[0].comm, comm);
    ck_assert_uint_eq(told[0].calls, calls);
    ck_assert_int_eq(told[0].is_over, is_over);
    ck_assert(!jd__queued_is_new());
    ck_assert_int_eq(jd__queued_take(told), 0);
}

START_TEST(what_is_new_is_told_once)
{
    struct jd_ring_comm *comm = get_comm(7, 0);
    ck_assert(!jd__queued_is_new());
    call_on(comm, 3, false);
    expect_told(7, 3, false);
    call_on(comm, 1, false);
    expect_told(7, 4, false);
    ck_assert_uint_eq(jd__queued_calls(7, 0), 4);
    ck_assert_uint_eq(jd__queued_calls(7, 1), 0);
    ck_assert_uint_eq(jd__queued_calls(8, 0), 0);
}
END_TEST

START_TEST(what_returns_when_it_is_done_is_not_told)
{
    struct jd_ring_comm *comm = jd__recorder_comm_get(7, 0, 4, "axis \"x\"");
    call_on(comm, 3, false);
    ck_assert(!jd__queued_is_new());
}
END_TEST

START_TEST(what_is_not_recorded_is_known_to_be_there)
{
    ck_assert(!jd__queued_is_partial());
    jd__queued_mark(NULL);
    ck_assert(jd__queued_is_new());
    ck_assert_int_eq(jd__queued_take(told), 0);
    ck_assert(jd__queued_is_partial());
    ck_assert(!jd__queued_is_new());
    jd__recorder_configure(false, false);
    ck_assert(!jd__queued_is_new());
    ck_assert(jd__queued_is_partial());
}
END_TEST

START_TEST(sends_do_not_count)
{
    struct jd_ring_comm *comm = get_comm(7, 0);
    call_on(comm, 2, true);
    ck_assert(!jd__queued_is_new());
    call_on(comm, 1, false);
    call_on(comm, 5, true);
    expect_told(7, 1, false);
    ck_assert_ptr_null(jd__queued_describe(7, 0, 1));
}
END_TEST

START_TEST(of_several_members_the_fewest_count)
{
    struct jd_ring_comm *one = get_comm(7, 0), *other = get_comm(7, 1);
    call_on(one, 5, false);
    call_on(other, 3, false);
    expect_told(7, 3, false);
    call_on(other, 1, false);
    expect_told(7, 4, false);
}
END_TEST

START_TEST(one_that_is_gone_is_over)
{
    struct jd_ring_comm *comm = get_comm(7, 0);
    call_on(comm, 3, false);
    expect_told(7, 3, false);
    jd__recorder_comm_put(comm);
    expect_told(7, 0, true);
    comm = get_comm(7, 0);
    call_on(comm, 1, false);
    expect_told(7, 1, false);
}
END_TEST

/* Its place is another's before anybody has looked. */
START_TEST(one_whose_place_is_taken_is_over)
{
    struct jd_ring_comm *comms[JD_RING_COMMS];
    for (int i = 0; i < JD_RING_COMMS; i++)
        comms[i] = get_comm(100 + (uint64_t)i, 0);
    call_on(comms[5], 3, false);
    expect_told(105, 3, false);
    jd__recorder_comm_put(comms[5]);
    struct jd_ring_comm *next = get_comm(7, 0);
    ck_assert_ptr_eq(next, comms[5]);
    call_on(next, 1, false);
    ck_assert_int_eq(jd__queued_take(told), 2);
    ck_assert(told[0].is_over && told[0].comm == 105);
    ck_assert(!told[1].is_over && told[1].comm == 7 && told[1].calls == 1);
}
END_TEST

START_TEST(what_has_no_room_is_told_the_next_time)
{
    for (int i = 0; i < JD_QUEUED_MOST + 3; i++)
        call_on(get_comm(100 + (uint64_t)i, 0), 1, false);
    ck_assert_int_eq(jd__queued_take(told), JD_QUEUED_MOST);
    ck_assert(jd__queued_is_new());
    ck_assert_int_eq(jd__queued_take(told), 3);
    ck_assert(!jd__queued_is_new());
}
END_TEST

START_TEST(a_call_is_found_by_its_number)
{
    struct jd_ring_comm *comm = get_comm(7, 2);
    call_on(comm, 3, false);
    char *text = jd__queued_describe(7, 2, 2);
    ck_assert_ptr_nonnull(strstr(text, "jd_psum of 3 x F32 over axis \"data\" "
                                       "(call 2 there)"));
    free(text);
    ck_assert_ptr_null(jd__queued_describe(7, 2, 4));
    ck_assert_ptr_null(jd__queued_describe(7, 1, 2));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("queued");
    TCase *tcase = unit_case(suite, "queued");
    tcase_add_checked_fixture(tcase, switch_on, NULL);
    tcase_add_test(tcase, what_is_new_is_told_once);
    tcase_add_test(tcase, what_returns_when_it_is_done_is_not_told);
    tcase_add_test(tcase, what_is_not_recorded_is_known_to_be_there);
    tcase_add_test(tcase, sends_do_not_count);
    tcase_add_test(tcase, of_several_members_the_fewest_count);
    tcase_add_test(tcase, one_that_is_gone_is_over);
    tcase_add_test(tcase, one_whose_place_is_taken_is_over);
    tcase_add_test(tcase, what_has_no_room_is_told_the_next_time);
    tcase_add_test(tcase, a_call_is_found_by_its_number);
    return unit_main(suite);
}

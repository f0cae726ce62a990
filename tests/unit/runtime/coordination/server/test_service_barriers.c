/* SPDX-License-Identifier: BSD-3-Clause */
/* test_service_barriers.c - who meets at a barrier, and what is refused. */
#include "tests/unit/service.h"

static const int first_two[] = { 0, 1, -1 };

/* ---- passing ------------------------------------------------------------ */

START_TEST(all_pass_when_the_last_arrives)
{
    start(3);
    start_joined(3);
    for (int round = 0; round < 3; round++) {
        uint64_t ids[3];
        for (int i = 0; i < 3; i++) {
            expect_all_quiet();
            ids[i] = arrive(&peers[i], "b", 1000);
        }
        for (int i = 0; i < 3; i++)
            expect_ok(&peers[i], ids[i]);
    }
    finish();
}
END_TEST

START_TEST(a_barrier_of_some_waits_for_those)
{
    start(4);
    start_joined(4);
    uint64_t id = arrive_with(&peers[3], "b", (int[]){ 3, 1, -1 }, "", 1000);
    expect_all_quiet();
    /* the order is of no meaning */
    uint64_t other = arrive_with(&peers[1], "b", (int[]){ 1, 3, -1 }, "", 1000);
    expect_ok(&peers[3], id);
    expect_ok(&peers[1], other);
    id = arrive_with(&peers[2], "c", (int[]){ 2, -1 }, "", 1000);
    expect_ok(&peers[2], id);
    finish();
}
END_TEST

START_TEST(the_list_of_all_is_all)
{
    start(2);
    start_joined(2);
    uint64_t id = arrive_with(&peers[0], "b", (int[]){ 1, 0, -1 }, "", 1000);
    uint64_t other = arrive(&peers[1], "b", 1000);
    expect_ok(&peers[0], id);
    expect_ok(&peers[1], other);
    finish();
}
END_TEST

START_TEST(names_are_exact_bytes)
{
    Jd__Arrive body = JD__ARRIVE__INIT;
    start(2);
    start_joined(2);
    body.barrier = jd__wire_bytes("a\0b", 3);
    uint64_t id = ask(&peers[0], JD__MESSAGE__BODY_ARRIVE, &body, 1000);
    body.barrier = jd__wire_bytes("a\0c", 3);
    ask(&peers[1], JD__MESSAGE__BODY_ARRIVE, &body, 1000);
    expect_all_quiet();
    body.barrier = jd__wire_bytes("a", 1);
    ask(&peers[1], JD__MESSAGE__BODY_ARRIVE, &body, 1000);
    body.barrier = jd__wire_bytes("a\0b", 3);
    uint64_t other = ask(&peers[1], JD__MESSAGE__BODY_ARRIVE, &body, 1000);
    expect_ok(&peers[0], id);
    expect_ok(&peers[1], other);
    expect_all_quiet();
    finish();
}
END_TEST

START_TEST(many_barriers_stand_beside_each_other)
{
    enum { COUNT = 100 };
    uint64_t ids[COUNT];
    char name[16];
    start(2);
    start_joined(2);
    for (int i = 0; i < COUNT; i++) {
        snprintf(name, sizeof name, "b%d", i * 7 % COUNT);
        ids[i * 7 % COUNT] = arrive(&peers[0], name, 1000 + i);
    }
    for (int i = COUNT - 1; i >= 0; i--) {
        snprintf(name, sizeof name, "b%d", i);
        uint64_t id = arrive(&peers[1], name, 1000);
        expect_ok(&peers[1], id);
        expect_ok(&peers[0], ids[i]);
    }
    ck_assert_double_ge(tick(), 1000);
    finish();
}
END_TEST

/* ---- what cannot be ----------------------------------------------------- */

START_TEST(lists_are_looked_at)
{
    start(3);
    start_joined(3);
    uint64_t id = arrive_with(&peers[1], "b", (int[]){ 0, 2, -1 }, "", 1000);
    expect_fails(&peers[1], id, JD_INVALID_ARGUMENT,
                 "process 1 calls, but is not in the list of those who wait");
    id = arrive_with(&peers[1], "b", (int[]){ 1, 0, 1, -1 }, "", 1000);
    expect_fails(&peers[1], id, JD_INVALID_ARGUMENT,
                 "process 1 is there twice in the list");
    id = arrive_with(&peers[1], "b", (int[]){ 1, 3, -1 }, "", 1000);
    expect_fails(&peers[1], id, JD_INVALID_ARGUMENT,
                 "there is no process 3; the processes are 0 to 2");
    /* and none of them waits there */
    id = cancel_barrier(&peers[0], "b");
    expect_fails(&peers[0], id, JD_NOT_FOUND, "nobody waits there");
    finish();
}
END_TEST

START_TEST(a_process_waits_once)
{
    start(2);
    start_joined(2);
    uint64_t id = arrive(&peers[1], "b", 1000);
    uint64_t again = arrive(&peers[1], "b", 1000);
    expect_fails(&peers[1], again, JD_FAILED_PRECONDITION,
                 "another thread of process 1 waits there already");
    again = arrive(&peers[1], "c", 1000); /* but at several barriers */
    expect_all_quiet();
    arrive(&peers[0], "b", 1000);
    expect_ok(&peers[1], id);
    expect_ok(&peers[0], 2);
    arrive(&peers[0], "c", 1000);
    expect_ok(&peers[1], again);
    finish();
}
END_TEST

START_TEST(another_list_ends_it_for_all)
{
    static const char text[] =
        "process 2 (train, pid 102 on h1) came for processes 0,2-3, but "
        "processes 0-1 wait for processes 0-3; all must come with the same";
    start(5);
    start_joined(5);
    static const int four[] = { 0, 1, 2, 3, -1 };
    uint64_t ids[4];
    ids[1] = arrive_with(&peers[1], "b", four, "", 1000);
    ids[0] = arrive_with(&peers[0], "b", four, "", 1000);
    ids[2] = arrive_with(&peers[2], "b", (int[]){ 3, 2, 0, -1 }, "", 1000);
    for (int i = 0; i < 3; i++)
        expect_fails(&peers[i], ids[i], JD_INVALID_ARGUMENT, text);
    expect_all_quiet();
    ids[3] = arrive_with(&peers[3], "b", four, "", 1000); /* late */
    expect_fails(&peers[3], ids[3], JD_INVALID_ARGUMENT, text);
    /* each has heard it: the next time all is well */
    for (int i = 3; i >= 0; i--)
        ids[i] = arrive_with(&peers[i], "b", four, "", 1000);
    for (int i = 0; i < 4; i++)
        expect_ok(&peers[i], ids[i]);
    finish();
}
END_TEST

START_TEST(each_late_comer_hears_it_once)
{
    start(4);
    start_joined(4);
    arrive(&peers[0], "b", 1000);
    arrive_with(&peers[1], "b", first_two, "", 1000);
    forget_messages(&peers[0]);
    forget_messages(&peers[1]);
    for (int i = 3; i >= 2; i--) {
        uint64_t id = arrive(&peers[i], "b", 1000);
        drop(take_reply(&peers[i], id, JD_INVALID_ARGUMENT));
        arrive(&peers[i], "b", 1000); /* the next one */
        expect_all_quiet();
    }
    finish();
}
END_TEST

START_TEST(all_and_some_differ)
{
    start(3);
    start_joined(3);
    uint64_t id = arrive(&peers[0], "b", 1000);
    uint64_t other = arrive_with(&peers[1], "b", first_two, "", 1000);
    static const char text[] =
        "process 1 (train, pid 101 on h0) came for processes 0-1, but process "
        "0 waits for all processes; all must come with the same";
    expect_fails(&peers[0], id, JD_INVALID_ARGUMENT, text);
    expect_fails(&peers[1], other, JD_INVALID_ARGUMENT, text);
    id = arrive(&peers[2], "b", 1000);
    expect_fails(&peers[2], id, JD_INVALID_ARGUMENT, text);
    id = arrive_with(&peers[0], "b", first_two, "", 1000);
    other = arrive(&peers[1], "b", 1000);
    drop(take_reply(&peers[0], id, JD_INVALID_ARGUMENT));
    expect_fails(&peers[1], other, JD_INVALID_ARGUMENT,
                 "process 1 (train, pid 101 on h0) came for all processes, but "
                 "process 0 waits for processes 0-1; all must come with the "
                 "same");
    finish();
}
END_TEST

START_TEST(labels_must_be_equal)
{
    static const char text[] =
        "process 0 (train, pid 100 on h0) came with the name \"saved\", but "
        "process 1 waits with \"loaded\"; all must come with the same";
    start(3);
    start_joined(3);
    uint64_t id = arrive_with(&peers[1], "b", NULL, "loaded", 1000);
    uint64_t other = arrive_with(&peers[0], "b", NULL, "saved", 1000);
    expect_fails(&peers[1], id, JD_INVALID_ARGUMENT, text);
    expect_fails(&peers[0], other, JD_INVALID_ARGUMENT, text);
    id = arrive_with(&peers[2], "b", NULL, "saved", 1000);
    expect_fails(&peers[2], id, JD_INVALID_ARGUMENT, text);
    finish();
}
END_TEST

/* ---- jd's own ----------------------------------------------------------- */

START_TEST(the_table_names_what_is_waited_at)
{
    Jd__Arrive body = JD__ARRIVE__INIT;
    Jd__Inquiry inquiry = JD__INQUIRY__INIT;
    start(2);
    start_joined(2);
    body.barrier = jd__wire_bytes("\0jd_sync_global_devices", 23);
    body.label = jd__wire_text("epoch");
    ask(&peers[0], JD__MESSAGE__BODY_ARRIVE, &body, 9000);
    now += 3;
    uint64_t id = ask(&peers[1], JD__MESSAGE__BODY_INQUIRY, &inquiry, 0);
    Jd__Message *message = take_reply(&peers[1], id, JD_OK);
    ck_assert_str_eq(message->reply->rows[0]->waits,
                     "waits in jd_sync_global_devices \"epoch\", for 3 s");
    drop(message);
    finish();
}
END_TEST

/* ---- broken clients ----------------------------------------------------- */

START_TEST(a_list_of_more_than_all_is_refused)
{
    start(2);
    start_joined(2);
    uint64_t id = arrive_with(&peers[1], "b", (int[]){ 0, 1, 1, -1 }, "", 1000);
    expect_fails(&peers[1], id, JD_INVALID_ARGUMENT,
                 "the list has 3 processes, but the job has 2");
    finish();
}
END_TEST

/* Processes 1 and 2 come with different lists; 0 and 3 will hear it. */
static void disagree(const char *name)
{
    arrive_with(&peers[1], name, (int[]){ 0, 1, 2, -1 }, "", 1000);
    arrive_with(&peers[2], name, (int[]){ 1, 2, 3, -1 }, "", 1000);
    forget_messages(&peers[1]);
    forget_messages(&peers[2]);
}

START_TEST(a_mismatch_goes_with_those_who_have_not_heard_it)
{
    for (int dies = 0; dies < 2; dies++) {
        start(4);
        start_joined(4);
        disagree("a");
        disagree("b");
        ck_assert_ptr_nonnull(service->mismatches);
        leave(&peers[0], true, 0);
        ck_assert_ptr_nonnull(service->mismatches);
        if (dies)
            lose(&peers[3], 0);
        else
            leave(&peers[3], true, 0);
        pass(0.1);
        ck_assert_ptr_null(service->mismatches);
        finish();
    }
}
END_TEST

START_TEST(only_so_many_mismatches_are_kept)
{
    char name[16];
    start(4);
    start_joined(4);
    for (int i = 0; i < 65; i++) {
        snprintf(name, sizeof name, "b%d", i);
        disagree(name);
    }
    arrive(&peers[0], "b0", 1000); /* the oldest is forgotten: it waits */
    expect_all_quiet();
    uint64_t id = arrive(&peers[0], "b1", 1000);
    drop(take_reply(&peers[0], id, JD_INVALID_ARGUMENT));
    finish();
}
END_TEST

START_TEST(one_who_withdraws_is_not_blamed)
{
    start(3);
    start_joined(3);
    uint64_t id = arrive(&peers[0], "b", 500);
    uint64_t gone = arrive(&peers[1], "b", NO_DEADLINE);
    withdraw(&peers[1], gone);
    pass(0.6);
    expect_fails(&peers[0], id, JD_DEADLINE_EXCEEDED,
                 "gave up after 0.5 s, waiting for process 2 (train, pid 102 "
                 "on h1), last heard 0.5 s ago; process 1 came and gave up");
    finish();
}
END_TEST

static void add_barriers(Suite *suite)
{
    TCase *tcase = unit_case(suite, "barriers");
    tcase_add_test(tcase, all_pass_when_the_last_arrives);
    tcase_add_test(tcase, a_barrier_of_some_waits_for_those);
    tcase_add_test(tcase, the_list_of_all_is_all);
    tcase_add_test(tcase, names_are_exact_bytes);
    tcase_add_test(tcase, many_barriers_stand_beside_each_other);
    tcase_add_test(tcase, lists_are_looked_at);
    tcase_add_test(tcase, a_process_waits_once);
    tcase_add_test(tcase, another_list_ends_it_for_all);
    tcase_add_test(tcase, each_late_comer_hears_it_once);
    tcase_add_test(tcase, all_and_some_differ);
    tcase_add_test(tcase, labels_must_be_equal);
    tcase_add_test(tcase, the_table_names_what_is_waited_at);
}

int main(void)
{
    Suite *suite = suite_create("service barriers");
    add_barriers(suite);
    TCase *tcase = unit_case(suite, "broken clients");
    tcase_add_test(tcase, a_list_of_more_than_all_is_refused);
    tcase_add_test(tcase, a_mismatch_goes_with_those_who_have_not_heard_it);
    tcase_add_test(tcase, only_so_many_mismatches_are_kept);
    tcase_add_test(tcase, one_who_withdraws_is_not_blamed);
    return unit_main(suite);
}

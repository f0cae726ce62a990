/* SPDX-License-Identifier: BSD-3-Clause */
/* test_barrier.c - the public calls that wait for others, in a world of one. */
#include "jd_coordination.h"
#include "tests/unit/unit.h"

START_TEST(alone_one_passes)
{
    for (int i = 0; i < 3; i++) {
        UNIT_OK(jd_wait_at_barrier("b", 5, NULL, 0));
        UNIT_OK(jd_wait_at_barrier("b", 0, (const int[]){ 0 }, 1));
        UNIT_OK(jd_wait_at_barrier("b", -1, NULL, 0));
    }
}
END_TEST

START_TEST(ids_are_looked_at)
{
    char id[4098];
    memset(id, 'i', sizeof id);
    id[4097] = '\0';
    UNIT_FAILS(jd_wait_at_barrier(NULL, 5, NULL, 0), JD_INVALID_ARGUMENT,
               "jd_wait_at_barrier: id is NULL; a barrier's id has 1 to 4096 "
               "bytes");
    UNIT_FAILS(jd_wait_at_barrier("", 5, NULL, 0), JD_INVALID_ARGUMENT,
               "jd_wait_at_barrier: id is empty; a barrier's id has 1 to 4096 "
               "bytes");
    UNIT_FAILS(jd_wait_at_barrier(id, 5, NULL, 0), JD_INVALID_ARGUMENT,
               "jd_wait_at_barrier: id is too long; a barrier's id has 1 to "
               "4096 bytes");
    UNIT_FAILS(jd_cancel_barrier(NULL), JD_INVALID_ARGUMENT,
               "jd_cancel_barrier: id is NULL; a barrier's id has 1 to 4096 "
               "bytes");
    UNIT_FAILS(jd_cancel_barrier(""), JD_INVALID_ARGUMENT,
               "jd_cancel_barrier: id is empty; a barrier's id has 1 to 4096 "
               "bytes");
    id[4096] = '\0';
    UNIT_OK(jd_wait_at_barrier(id, 5, NULL, 0));
}
END_TEST

START_TEST(lists_are_looked_at)
{
    static const int list[] = { 0, 0 }, other[] = { 1 }, negative[] = { -1 };
    UNIT_FAILS(jd_wait_at_barrier("b", 5, list, 0), JD_INVALID_ARGUMENT,
               "jd_wait_at_barrier: the list of processes is given and its "
               "count 0; give a list of 1 to 1, or NULL and 0 for all");
    UNIT_FAILS(jd_wait_at_barrier("b", 5, NULL, 1), JD_INVALID_ARGUMENT,
               "jd_wait_at_barrier: the list of processes is NULL and its "
               "count 1; give a list of 1 to 1, or NULL and 0 for all");
    UNIT_FAILS(jd_wait_at_barrier("b", 5, list, 2), JD_INVALID_ARGUMENT,
               "jd_wait_at_barrier: the list of processes is given and its "
               "count 2; give a list of 1 to 1, or NULL and 0 for all");
    UNIT_FAILS(jd_wait_at_barrier("b", 5, list, SIZE_MAX), JD_INVALID_ARGUMENT,
               "jd_wait_at_barrier: the list of processes is given and its "
               "count 18446744073709551615; give a list of 1 to 1, or NULL and "
               "0 for all");
    UNIT_FAILS(jd_wait_at_barrier("b", 5, other, 1), JD_INVALID_ARGUMENT,
               "jd_wait_at_barrier: there is no process 1 in the list's place "
               "0; the processes are 0 to 0");
    UNIT_FAILS(jd_wait_at_barrier("b", 5, negative, 1), JD_INVALID_ARGUMENT,
               "jd_wait_at_barrier: there is no process -1 in the list's place "
               "0; the processes are 0 to 0");
    UNIT_OK(jd_wait_at_barrier("b", 5, list, 1));
}
END_TEST

START_TEST(nobody_waits_to_be_cancelled)
{
    UNIT_FAILS(jd_cancel_barrier("a\nb"), JD_NOT_FOUND,
               "jd_cancel_barrier \"a\\x0ab\": nobody waits there");
}
END_TEST

START_TEST(alone_one_lives)
{
    int *processes = NULL;
    size_t count = 0;
    UNIT_OK(jd_live_processes(5, &processes, &count));
    ck_assert_uint_eq(count, 1);
    ck_assert_int_eq(processes[0], 0);
    free(processes);
    processes = NULL;
    UNIT_FAILS(jd_live_processes(5, NULL, &count), JD_INVALID_ARGUMENT,
               "jd_live_processes: ret_processes is NULL");
    UNIT_FAILS(jd_live_processes(5, &processes, NULL), JD_INVALID_ARGUMENT,
               "jd_live_processes: ret_count is NULL");
    ck_assert_ptr_null(processes);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("barrier");
    TCase *tcase = unit_case(suite, "alone");
    tcase_add_test(tcase, alone_one_passes);
    tcase_add_test(tcase, ids_are_looked_at);
    tcase_add_test(tcase, lists_are_looked_at);
    tcase_add_test(tcase, nobody_waits_to_be_cancelled);
    tcase_add_test(tcase, alone_one_lives);
    return unit_main(suite);
}

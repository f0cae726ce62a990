/* SPDX-License-Identifier: BSD-3-Clause */
/* test_process_lists.c - lists of processes in a few numbers. */
#include "runtime/coordination/net/process_lists.h"
#include "tests/unit/unit.h"

#include <stdio.h>

enum { MOST = 100000 };

/* ---- ranges ------------------------------------------------------------- */

static size_t pack(const int *numbers, size_t count, uint32_t *ranges)
{
    size_t n = jd__process_lists_pack(numbers, count, ranges), back;
    int *again = jd__process_lists_unpack(ranges, n, MOST, &back);
    ck_assert_ptr_nonnull(again);
    ck_assert_uint_eq(back, count);
    ck_assert(count == 0 || memcmp(again, numbers, count * sizeof(int)) == 0);
    free(again);
    return n;
}

START_TEST(ranges_come_back)
{
    static const int some[] = { 0, 1, 2, 7, 9, 10, MOST - 1 };
    static int all[MOST];
    static uint32_t ranges[2 * MOST];
    for (int i = 0; i < MOST; i++)
        all[i] = i;
    ck_assert_uint_eq(pack(some, 0, ranges), 0);
    ck_assert_uint_eq(pack(some, 1, ranges), 2);
    ck_assert_uint_eq(pack(some, 7, ranges), 8);
    ck_assert_uint_eq(pack(all, MOST, ranges), 2);
}
END_TEST

/* What a service says that is broken, or none: no memory is taken for it. */
START_TEST(ranges_that_are_none_are_refused)
{
    static const uint32_t bad[][4] = {
        { 3, 8, 0, 0 },          /* 8 is the first that is not there */
        { 8, 1, 0, 0 },          /* as that */
        { 0, UINT32_MAX, 0, 0 }, /* and many more */
        { UINT32_MAX, 2, 0, 0 }, { 0, 8, 0, 1 }, /* more than there are */
    };
    size_t count;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ck_assert_ptr_null(jd__process_lists_unpack(bad[i], 4, 8, &count));
        ck_assert_uint_ne(count, 0);
    }
    ck_assert_ptr_null(jd__process_lists_unpack(bad[0], 1, 8, &count));
    ck_assert_uint_ne(count, 0);
}
END_TEST

/* ---- hosts -------------------------------------------------------------- */

static uint32_t hosts[MOST];

static size_t pack_hosts(size_t count)
{
    static uint32_t runs[3 * MOST];
    static int again[MOST];
    size_t n = jd__process_lists_pack_hosts(hosts, count, runs);
    ck_assert_uint_le(n, 3 * count);
    ck_assert_uint_eq(jd__process_lists_unpack_hosts(runs, n, again, count),
                      count);
    for (size_t i = 0; i < count; i++)
        ck_assert_int_eq(again[i], (int)hosts[i]);
    return n;
}

START_TEST(hosts_alike_are_one_run)
{
    for (int i = 0; i < MOST; i++)
        hosts[i] = (uint32_t)i / 8;
    ck_assert_uint_eq(pack_hosts(MOST), 3);
    ck_assert_uint_eq(pack_hosts(MOST - 3), 3);
    ck_assert_uint_eq(pack_hosts(1), 3);
    for (int i = 0; i < MOST; i++)
        hosts[i] = (uint32_t)i;
    ck_assert_uint_eq(pack_hosts(MOST), 3);
    for (int i = 0; i < MOST; i++)
        hosts[i] = 0;
    ck_assert_uint_eq(pack_hosts(MOST), 3);
}
END_TEST

START_TEST(hosts_in_turn_are_a_run_each_time)
{
    for (int i = 0; i < MOST; i++)
        hosts[i] = (uint32_t)i % (MOST / 8);
    ck_assert_uint_eq(pack_hosts(MOST), 3 * 8);
}
END_TEST

START_TEST(hosts_in_any_order_come_back)
{
    uint32_t random = 1;
    for (int i = 0; i < MOST; i++) {
        random = random * 1664525 + 1013904223;
        hosts[i] = (random >> 16) % (1 + (uint32_t)i / 3 % 7);
    }
    pack_hosts(MOST);
    for (size_t count = 0; count < 64; count++)
        pack_hosts(count);
}
END_TEST

START_TEST(hosts_that_are_none_are_refused)
{
    static const uint32_t bad[][3] = {
        { 0, 0, 4 },          /* of none each */
        { 0, 1, 5 },          /* of more than there are */
        { 4, 1, 1 },          /* there are at most as many hosts as processes */
        { UINT32_MAX, 1, 4 }, /* as that */
        { 0, 4, 3 },          /* the last is left out */
    };
    int read[4];
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_uint_lt(jd__process_lists_unpack_hosts(bad[i], 3, read, 4),
                          4);
    ck_assert_uint_eq(
        jd__process_lists_unpack_hosts((uint32_t[]){ 0, 4 }, 2, read, 4), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("process lists");
    TCase *tcase = unit_case(suite, "ranges");
    tcase_add_test(tcase, ranges_come_back);
    tcase_add_test(tcase, ranges_that_are_none_are_refused);
    tcase = unit_case(suite, "hosts");
    tcase_add_test(tcase, hosts_alike_are_one_run);
    tcase_add_test(tcase, hosts_in_turn_are_a_run_each_time);
    tcase_add_test(tcase, hosts_in_any_order_come_back);
    tcase_add_test(tcase, hosts_that_are_none_are_refused);
    return unit_main(suite);
}

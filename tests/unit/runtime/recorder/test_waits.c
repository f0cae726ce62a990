/* SPDX-License-Identifier: BSD-3-Clause */
/* test_waits.c - for whom this process has waited. */
#include "runtime/recorder/waits.h"
#include "base/clock.h"
#include "jd.h"
#include "runtime/recorder/modules.h"
#include "runtime/recorder/recorder.h"
#include "tests/unit/unit.h"

static struct jd_ring ring = { .names = { "jd_psum", "jd_all_gather" } };
static struct jd_waited worst[JD_WAITED_MOST];
static double all;

static void note(int process, unsigned name, uint64_t site, double seconds)
{
    struct jd_ring_call call = { .name = (uint16_t)name, .site = site };
    jd__waits_note(process, &call, seconds, seconds);
}

static void expect_one(int i, int process, double seconds)
{
    ck_assert_int_eq(worst[i].process, process);
    ck_assert_double_eq_tol(worst[i].seconds, seconds, 1e-9);
}

START_TEST(those_waited_for_longest_come_first_and_once)
{
    for (int i = 1; i <= 6; i++)
        note(i, 0, 5, i % 2 ? i : 0.5 * i);
    note(5, 1, 5, 2);
    note(-1, 0, 5, 10); /* it is not known for whom */
    note(2, 0, 5, -3);  /* no time */
    struct jd_ring_call call = { .name = 0 };
    jd__waits_note(2, &call, 0, 4); /* with others */
    ck_assert_int_eq(jd__waits_take(&ring, worst, &all), 4);
    expect_one(0, 5, 7);
    for (int i = 1; i < 4; i++)
        ck_assert(worst[i].seconds == 3 || worst[i].process == 4);
    ck_assert_double_eq_tol(all, 1 + 1 + 3 + 2 + 5 + 3 + 2 + 10 + 4, 1e-9);
    ck_assert_int_eq(jd__waits_take(&ring, worst, &all), 0);
    ck_assert(all == 0);
    note(4, 0, 5, 1); /* nothing of before is left */
    ck_assert_int_eq(jd__waits_take(&ring, worst, &all), 1);
    expect_one(0, 4, 1);
}
END_TEST

START_TEST(the_call_with_most_of_the_time_is_told)
{
    for (int i = 0; i < 10; i++) {
        note(3, 0, 5, 1);
        note(3, 1, 5, 2);
        note(3, 1, 6 + (uint64_t)i, 0.5);
    }
    ck_assert_int_eq(jd__waits_take(&ring, worst, &all), 1);
    expect_one(0, 3, 35);
    ck_assert_str_eq(worst[0].call, "jd_all_gather"); /* in no module */
}
END_TEST

/* The first has the longest of all waits, the other more in two. */
START_TEST(a_call_loses_its_place_to_one_with_more)
{
    note(3, 0, 5, 2);
    note(3, 1, 5, 1.5);
    note(3, 1, 5, 1.5);
    ck_assert_int_eq(jd__waits_take(&ring, worst, &all), 1);
    ck_assert_str_eq(worst[0].call, "jd_all_gather");
}
END_TEST

START_TEST(of_too_many_the_least_are_left_out)
{
    for (int i = 0; i < 3 * JD_WAITS_KEPT; i++)
        note(i, 0, 0, 1 + i);
    note(7, 0, 0, 0.5); /* less than all that are kept */
    ck_assert_int_eq(jd__waits_take(&ring, worst, &all), JD_WAITED_MOST);
    for (int i = 0; i < JD_WAITED_MOST; i++)
        expect_one(i, 3 * JD_WAITS_KEPT - 1 - i, 3 * JD_WAITS_KEPT - i);
}
END_TEST

/* ---- sites -------------------------------------------------------------- */

/* An address of this program, as a call returns to. */
static uint64_t site_at(int offset)
{
    const char *begin = (const char *)(uintptr_t)unit_main;
    ck_assert_ptr_nonnull(jd__modules_note(&ring, begin));
    return (uint64_t)(uintptr_t)(begin + offset);
}

static uint64_t take_site(unsigned name, uint64_t address)
{
    note(3, name, address, 1);
    ck_assert_int_eq(jd__waits_take(&ring, worst, &all), 1);
    ck_assert_uint_ne(worst[0].site, 0);
    return worst[0].site;
}

START_TEST(a_site_has_one_number)
{
    uint64_t site = take_site(0, site_at(8));
    ck_assert_uint_eq(take_site(0, site_at(8)), site);
    ck_assert_uint_ne(take_site(0, site_at(9)), site);
    ck_assert_uint_ne(take_site(1, site_at(8)), site);
    ck_assert_uint_ne(take_site(1, 0), take_site(0, 0)); /* of no module */
}
END_TEST

/* The number is of the place in the file, which is the same wherever the file
 * lies in memory. */
START_TEST(a_site_has_that_number_in_each_process)
{
    uint64_t site = take_site(0, site_at(8));
    struct jd_ring_module *module = &ring.modules[0];
    struct jd_ring_module before = *module;
    module->begin += 4096;
    module->end += 4096;
    module->base += 4096;
    uint64_t other = (uint64_t)(uintptr_t)unit_main + 8 + 4096;
    note(3, 0, other, 1);
    ck_assert_int_eq(jd__waits_take(&ring, worst, &all), 1);
    *module = before;
    ck_assert_uint_eq(worst[0].site, site);
}
END_TEST

START_TEST(a_site_that_was_told_is_described)
{
    char text[JD_WAIT_TEXT] = "nothing";
    uint64_t site = take_site(0, site_at(8));
    ck_assert(jd__waits_describe(&ring, site, text));
    ck_assert_msg(strncmp(text, "jd_psum at ", 11) == 0, "%s", text);
    ck_assert(strstr(text, "unit_main") || strstr(text, "+0x"));
    ck_assert(!jd__waits_describe(&ring, site + 2, text));
    ck_assert(!jd__waits_describe(&ring, 0, text));
    for (int i = 0; i < JD_WAITS_KEPT; i++)
        take_site(1, site_at(100 + i));
    ck_assert(!jd__waits_describe(&ring, site, text));
}
END_TEST

static void enter(void)
{
    jd__recorder_enter(&(struct jd_recorder_call){ .operation = "jd_psum" });
}

static void pass_a_moment(void)
{
    double begin = jd__clock_now();
    while (jd__clock_now() <= begin)
        ;
}

/* Each wait of a call is its own; while others are missing too, it is nobody's.
 */
START_TEST(the_recorder_notes_waits_that_end)
{
    jd__recorder_configure(true, false);
    jd__recorder_set_process(2);
    double begin = jd__clock_now();
    enter();
    jd__recorder_wait_is_for_one(); /* it has not begun */
    jd__recorder_wait_begins(begin - 8);
    jd__recorder_wait_is_for_one();
    pass_a_moment();
    jd__recorder_wait_ends(1);
    jd__recorder_wait_ends(1); /* it was no longer than its spin */
    jd__recorder_wait_begins(begin - 4);
    jd__recorder_wait_ends(0); /* with others to the end */
    jd__recorder_wait_begins(begin - 9);
    jd__recorder_wait_is_for_one();
    jd__recorder_wait_ends(2); /* itself */
    jd__recorder_wait_begins(begin - 7);
    jd__recorder_leave(JD_ABORTED); /* what did not come */
    enter();
    jd__recorder_wait_ends(1);
    jd__recorder_leave(JD_OK);
    double took = jd__clock_now() - begin;
    ck_assert_int_eq(jd__recorder_take_waits(worst, &all), 1);
    ck_assert_int_eq(worst[0].process, 1);
    ck_assert(worst[0].seconds > 0 && worst[0].seconds <= took);
    ck_assert(all >= 12 && all <= 12 + 2 * took);
    ck_assert_str_eq(worst[0].call, "jd_psum");
    jd__recorder_configure(false, false);
    ck_assert_int_eq(jd__recorder_take_waits(worst, &all), 0);
    ck_assert(all == 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("waits");
    TCase *waits = unit_case(suite, "waits");
    tcase_add_test(waits, those_waited_for_longest_come_first_and_once);
    tcase_add_test(waits, the_call_with_most_of_the_time_is_told);
    tcase_add_test(waits, a_call_loses_its_place_to_one_with_more);
    tcase_add_test(waits, of_too_many_the_least_are_left_out);
    tcase_add_test(waits, the_recorder_notes_waits_that_end);
    TCase *sites = unit_case(suite, "sites");
    tcase_add_test(sites, a_site_has_one_number);
    tcase_add_test(sites, a_site_has_that_number_in_each_process);
    tcase_add_test(sites, a_site_that_was_told_is_described);
    return unit_main(suite);
}

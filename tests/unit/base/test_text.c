/* SPDX-License-Identifier: BSD-3-Clause */
/* test_text.c - texts that are printed piece by piece, and lists in them. */
#include "base/ranges.h"
#include "base/text.h"
#include "unit.h"

START_TEST(what_was_printed_is_the_text)
{
    struct jd_text text;
    FILE *out = jd__text_begin(&text);
    ck_assert_ptr_nonnull(out);
    fprintf(out, "%d device%s", 2, jd__text_s(2));
    fputs(" of many", out);
    char *made = jd__text_end(&text);
    ck_assert_str_eq(made, "2 devices of many");
    ck_assert_uint_eq(text.length, strlen(made));
    free(made);
}
END_TEST

START_TEST(nothing_printed_is_an_empty_text)
{
    struct jd_text text;
    ck_assert_ptr_nonnull(jd__text_begin(&text));
    char *made = jd__text_end(&text);
    ck_assert_str_eq(made, "");
    ck_assert_uint_eq(text.length, 0);
    free(made);
}
END_TEST

START_TEST(what_never_began_is_no_text)
{
    struct jd_text text = { .out = NULL };
    ck_assert_ptr_null(jd__text_end(&text));
}
END_TEST

START_TEST(one_alone_is_singular)
{
    ck_assert_str_eq(jd__text_s(0), "s");
    ck_assert_str_eq(jd__text_s(1), "");
    ck_assert_str_eq(jd__text_s(2), "s");
    ck_assert_str_eq(jd__text_es(0), "es");
    ck_assert_str_eq(jd__text_es(1), "");
    ck_assert_str_eq(jd__text_es(INT64_MAX), "es");
}
END_TEST

static void expect_processes(const int *numbers, int count, const char *wanted)
{
    struct jd_text text;
    FILE *out = jd__text_begin(&text);
    ck_assert_ptr_nonnull(out);
    jd__ranges_print_processes(out, numbers, count);
    char *made = jd__text_end(&text);
    ck_assert_str_eq(made, wanted);
    free(made);
}

START_TEST(processes_are_ranges)
{
    expect_processes((int[]){ 7 }, 1, "process 7");
    expect_processes((int[]){ 0, 1, 2, 5, 7, 8 }, 6, "processes 0-2,5,7-8");
}
END_TEST

START_TEST(sorting_leaves_each_once)
{
    int numbers[] = { 3, 1, 3, 2, 1 };
    ck_assert_int_eq(jd__ranges_sort(numbers, 5), 3);
    expect_processes(numbers, 3, "processes 1-3");
    ck_assert_int_eq(jd__ranges_sort(numbers, 0), 0);
}
END_TEST

START_TEST(a_terminal_is_not_obeyed)
{
    char text[] = "#0 \033[2J\tf\n\177\r\xc3\xa4", line[] = "a\nb\tc\001";
    jd__text_make_plain(text, true);
    ck_assert_str_eq(text, "#0 ?[2J\tf\n??\xc3\xa4");
    jd__text_make_plain(line, false);
    ck_assert_str_eq(line, "a?b?c?");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("text");
    TCase *text = unit_case(suite, "text");
    tcase_add_test(text, what_was_printed_is_the_text);
    tcase_add_test(text, nothing_printed_is_an_empty_text);
    tcase_add_test(text, what_never_began_is_no_text);
    tcase_add_test(text, one_alone_is_singular);
    tcase_add_test(text, a_terminal_is_not_obeyed);
    TCase *ranges = unit_case(suite, "ranges");
    tcase_add_test(ranges, processes_are_ranges);
    tcase_add_test(ranges, sorting_leaves_each_once);
    return unit_main(suite);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* test_host_ranges.c - many hosts' names in few letters. */
#include "tools/jd-info/host_ranges.h"
#include "tests/unit/unit.h"

#include <stdio.h>

static void expect(const char **names, int count, const char *expected)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    host_ranges_print(out, names, count);
    fclose(out);
    ck_assert_str_eq(text, expected);
    free(text);
}

#define EXPECT(expected, ...)                                                  \
    expect((const char *[]){ __VA_ARGS__ },                                    \
           (int)(sizeof((const char *[]){ __VA_ARGS__ }) / sizeof(char *)),    \
           expected)

START_TEST(numbers_become_ranges)
{
    EXPECT("n[1-3]", "n1", "n2", "n3");
    EXPECT("n[1-2,4]", "n4", "n2", "n1");
    EXPECT("node[001-003,010]", "node010", "node003", "node001", "node002");
    EXPECT("n[8-11]", "n10", "n9", "n11", "n8");
    EXPECT("n[098-101]", "n098", "n099", "n100", "n101");
    EXPECT("n[0-1]", "n0", "n1");
}
END_TEST

START_TEST(widths_that_do_not_follow_stay_apart)
{
    EXPECT("n[9,010]", "n9", "n010");
    EXPECT("n[1,01]", "n01", "n1");
    EXPECT("n[99,0100]", "n99", "n0100");
    EXPECT("n[19,30]", "n19", "n30");
    EXPECT("n[199,299]", "n199", "n299");
}
END_TEST

START_TEST(the_rest_of_the_name_must_be_alike)
{
    EXPECT("a1,b2", "b2", "a1");
    EXPECT("n[1-2].a,n3.b", "n1.a", "n2.a", "n3.b");
    EXPECT("r1n[1-2],r2n[1-2]", "r1n1", "r2n1", "r1n2", "r2n2");
    EXPECT("gpu-[1-2]-ib", "gpu-1-ib", "gpu-2-ib");
    EXPECT("login,n[1-2]", "n2", "login", "n1");
    EXPECT("n,n1", "n1", "n");
    EXPECT("host.10,host.11", "host.11", "host.10");
}
END_TEST

START_TEST(names_may_repeat_and_be_long)
{
    EXPECT("n[1,1-2]", "n1", "n2", "n1");
    EXPECT("a", "a");
    EXPECT("i-[99999999999999999999-100000000000000000000]",
           "i-100000000000000000000", "i-99999999999999999999");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("host_ranges");
    TCase *tcase = unit_case(suite, "names");
    tcase_add_test(tcase, numbers_become_ranges);
    tcase_add_test(tcase, widths_that_do_not_follow_stay_apart);
    tcase_add_test(tcase, the_rest_of_the_name_must_be_alike);
    tcase_add_test(tcase, names_may_repeat_and_be_long);
    return unit_main(suite);
}

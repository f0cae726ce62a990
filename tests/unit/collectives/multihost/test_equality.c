/* SPDX-License-Identifier: BSD-3-Clause */
/* test_equality.c - the rules by which elements are equal: read, applied,
 * described. */
#include "collectives/multihost/equality.h"
#include "tests/unit/unit.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>

static jd_status read_rules(jd_equality given)
{
    jd_equality rules;
    return jd__equality_read(&given, sizeof given, "jd_x", &rules);
}

START_TEST(rules_are_read)
{
    jd_equality given = { .bitwise = 7 }, rules = { .absolute = 9 };
    UNIT_OK(jd__equality_read(&given, sizeof given, "jd_x", &rules));
    ck_assert(rules.bitwise == 1 && rules.absolute == 0);
    given = (jd_equality){ .nan_differs = 1, .absolute = 1, .relative = 2 };
    UNIT_OK(jd__equality_read(&given, sizeof given, "jd_x", &rules));
    ck_assert(rules.nan_differs && rules.absolute == 1 && rules.relative == 2);
    UNIT_OK(jd__equality_read(NULL, 0, "jd_x", &rules));
    ck_assert(!rules.nan_differs && rules.absolute == 0 && rules.relative == 0);
}
END_TEST

START_TEST(a_program_of_an_older_jd_has_fewer_members)
{
    jd_equality given = { .nan_differs = 1, .absolute = 3 }, rules;
    UNIT_OK(jd__equality_read(&given, offsetof(jd_equality, absolute), "jd_x",
                              &rules));
    ck_assert(rules.nan_differs && rules.absolute == 0);
}
END_TEST

START_TEST(bad_rules_are_refused)
{
    char text[200];
    jd_equality given = { .bitwise = 0 }, rules = { .absolute = 9 };
    UNIT_FAILS(read_rules((jd_equality){ .absolute = -1 }), JD_INVALID_ARGUMENT,
               "jd_x: equality.absolute is -1; it is at least 0, and finite");
    UNIT_FAILS(read_rules((jd_equality){ .relative = INFINITY }),
               JD_INVALID_ARGUMENT,
               "jd_x: equality.relative is inf; it is at least 0, and finite");
    UNIT_FAILS(read_rules((jd_equality){ .relative = fabs((double)NAN) }),
               JD_INVALID_ARGUMENT,
               "jd_x: equality.relative is nan; it is at least 0, and finite");
    UNIT_FAILS(read_rules((jd_equality){ .bitwise = 1, .nan_differs = 1 }),
               JD_INVALID_ARGUMENT,
               "jd_x: equality has bitwise and nan_differs; bits are the same "
               "or they are not, leave one of the two out");
    UNIT_FAILS(read_rules((jd_equality){ .bitwise = 1, .relative = 1 }),
               JD_INVALID_ARGUMENT,
               "jd_x: equality has bitwise and relative; bits are the same or "
               "they are not, leave one of the two out");
    UNIT_FAILS(jd__equality_read(NULL, 8, "jd_x", &rules), JD_INVALID_ARGUMENT,
               "jd_x: equality is NULL and its size is 8; NULL goes with 0");
    UNIT_FAILS(jd__equality_read(&given, 0, "jd_x", &rules),
               JD_INVALID_ARGUMENT,
               "jd_x: equality is not NULL and its size is 0; NULL goes with "
               "0");
    UNIT_FAILS(jd__equality_read(&given, 3, "jd_x", &rules),
               JD_INVALID_ARGUMENT,
               "jd_x: the size is 3, which ends inside a member of "
               "jd_equality; give sizeof(jd_equality)");
    snprintf(text, sizeof text,
             "jd_x: the program's jd_equality has %zu bytes, this library's "
             "%zu: the program was built for a newer jd; run it with that "
             "library",
             sizeof given + 8, sizeof given);
    UNIT_FAILS(jd__equality_read(&given, sizeof given + 8, "jd_x", &rules),
               JD_INVALID_ARGUMENT, text);
    ck_assert(rules.absolute == 9);
}
END_TEST

static bool holds(jd_equality rules, double a, double b)
{
    return jd__equality_holds(&rules, JD_F64, &a, &b);
}

START_TEST(each_rule_is_applied)
{
    jd_equality value = { .bitwise = 0 }, bits = { .bitwise = 1 };
    jd_equality nans = { .nan_differs = 1, .absolute = 1 };
    ck_assert(holds(value, 0.0, -0.0) && !holds(bits, 0.0, -0.0));
    ck_assert(holds(value, NAN, -NAN) && !holds(bits, NAN, -NAN));
    ck_assert(holds(bits, NAN, NAN) && !holds(nans, NAN, NAN));
    ck_assert(!holds(nans, 1, NAN) && !holds(nans, NAN, 1));
    ck_assert(holds(nans, 1, 2) && !holds(nans, 1, 2.5) && !holds(value, 1, 2));
}
END_TEST

START_TEST(bits_are_trusted_where_no_nan_can_be)
{
    jd_equality value = { .bitwise = 0 }, nans = { .nan_differs = 1 };
    ck_assert(jd__equality_trusts_bits(&value, JD_F32));
    ck_assert(!jd__equality_trusts_bits(&nans, JD_F32));
    ck_assert(!jd__equality_trusts_bits(&nans, JD_C128));
    ck_assert(jd__equality_trusts_bits(&nans, JD_U8));
}
END_TEST

static void expect_text(jd_equality rules, const char *wanted)
{
    char text[160] = "nothing was written";
    jd__equality_print(&rules, text, sizeof text);
    ck_assert_str_eq(text, wanted);
}

START_TEST(rules_are_described)
{
    expect_text((jd_equality){ .bitwise = 0 }, "");
    expect_text((jd_equality){ .bitwise = 1 }, " (bitwise)");
    expect_text((jd_equality){ .nan_differs = 1 }, " (NaNs differ)");
    expect_text((jd_equality){ .absolute = 1e-8 }, " (within 1e-08 + 0 * |b|)");
    expect_text((jd_equality){ .relative = 0.5, .nan_differs = 1 },
                " (within 0 + 0.5 * |b|, NaNs differ)");
}
END_TEST

START_TEST(other_rules_have_another_digest)
{
    jd_equality a = { .absolute = 1 }, b = { .relative = 1 };
    jd_equality c = { .nan_differs = 1 }, d = { .bitwise = 1 };
    ck_assert(jd__equality_digest(&a) != jd__equality_digest(&b));
    ck_assert(jd__equality_digest(&c) != jd__equality_digest(&d));
    ck_assert(jd__equality_digest(&a) ==
              jd__equality_digest(&(jd_equality){ .absolute = 1 }));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("equality");
    TCase *reading = unit_case(suite, "read");
    tcase_add_test(reading, rules_are_read);
    tcase_add_test(reading, a_program_of_an_older_jd_has_fewer_members);
    tcase_add_test(reading, bad_rules_are_refused);
    TCase *rules = unit_case(suite, "rules");
    tcase_add_test(rules, each_rule_is_applied);
    tcase_add_test(rules, bits_are_trusted_where_no_nan_can_be);
    tcase_add_test(rules, rules_are_described);
    tcase_add_test(rules, other_rules_have_another_digest);
    return unit_main(suite);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* test_failure.c - what broke a communicator is said at each later call. */
#include "collectives/mesh/failure.h"
#include "tests/unit/unit.h"

START_TEST(only_what_leaves_members_out_of_step_breaks)
{
    struct jd_failure failure = { .happened = false };
    static const jd_status harmless[] = {
        JD_OK,
        JD_INVALID_ARGUMENT,
        JD_RESOURCE_EXHAUSTED,
        JD_FAILED_PRECONDITION,
        JD_UNIMPLEMENTED,
    };
    for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++)
        ck_assert_int_eq(jd__failure_note(&failure, harmless[i]), harmless[i]);
    UNIT_OK(jd__failure_check(&failure, "jd_psum", ""));
}
END_TEST

START_TEST(the_first_failure_is_said)
{
    struct jd_failure failure = { .happened = false };
    jd_fail(JD_DEADLINE_EXCEEDED, "jd_psum: nobody came");
    ck_assert_int_eq(jd__failure_note(&failure, JD_DEADLINE_EXCEEDED),
                     JD_DEADLINE_EXCEEDED);
    jd_fail(JD_INTERNAL, "another one");
    jd__failure_note(&failure, JD_INTERNAL);
    UNIT_FAILS(
        jd__failure_check(&failure, "jd_all_gather", " over axis \"data\""),
        JD_ABORTED,
        "jd_all_gather over axis \"data\": not begun, because an "
        "earlier call among the same members failed and left them out "
        "of step; the job should end. It was: jd_psum: nobody came");
    jd__failure_finish(&failure);
    UNIT_OK(jd__failure_check(&failure, "jd_psum", ""));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("failure");
    TCase *tcase = unit_case(suite, "failure");
    tcase_add_test(tcase, only_what_leaves_members_out_of_step_breaks);
    tcase_add_test(tcase, the_first_failure_is_said);
    return unit_main(suite);
}

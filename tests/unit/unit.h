/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * unit.h - what every unit test has: a main that runs one suite, the two
 * checks that most cases end with, and what several ask. meson runs them with
 * CK_TAP_LOG_FILE_NAME=/dev/stdout; by hand they print Check's own summary.
 */
#ifndef TESTS_UNIT_UNIT_H
#define TESTS_UNIT_UNIT_H

#include "base/env.h"
#include "base/status.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

/* Adds a case with one test and returns it, for more tests. */
static inline TCase *unit_case(Suite *suite, const char *name)
{
    TCase *tcase = tcase_create(name);
    suite_add_tcase(suite, tcase);
    return tcase;
}

static inline int unit_main(Suite *suite)
{
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* An environment with exactly the lines of text; the caller destroys it. */
static inline struct jd_env *unit_env(const char *text)
{
    struct jd_env *env = NULL;
    jd_status status = jd__env_from_text(text, strlen(text), "test", &env);
    ck_assert_msg(status == JD_OK, "%s", jd_error_message());
    return env;
}

/* How often the part stands in the text, none over another. */
static inline int unit_count_of(const char *text, const char *part)
{
    int count = 0;
    for (; (text = strstr(text, part)); text += strlen(part))
        count++;
    return count;
}

#define UNIT_OK(call)                                                          \
    do {                                                                       \
        jd_status unit_status_ = (call);                                       \
        ck_assert_msg(unit_status_ == JD_OK, "%s: %s", #call,                  \
                      jd_error_message());                                     \
    } while (0)

/* The call fails with this status and exactly this sentence. */
#define UNIT_FAILS(call, status, sentence)                                     \
    do {                                                                       \
        jd_status unit_status_ = (call);                                       \
        ck_assert_str_eq(jd_status_name(unit_status_),                         \
                         jd_status_name(status));                              \
        ck_assert_str_eq(jd_error_message(), sentence);                        \
    } while (0)

#endif

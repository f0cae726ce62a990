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

/*
 * Under sanitizers, where all is ten times slower, a loop over many cases of
 * the same code takes one in UNIT_STRIDE: what they look for any of them shows.
 *     for (int i = 0; i < NUM; i += UNIT_STRIDE)
 *     tcase_add_loop_test(tcase, test, 0, UNIT_PART(NUM));    with UNIT_NTH(_i)
 */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { UNIT_STRIDE = 4 };
#else
enum { UNIT_STRIDE = 1 };
#endif
#define UNIT_PART(count) (((count) + UNIT_STRIDE - 1) / UNIT_STRIDE)
#define UNIT_NTH(i) ((i)*UNIT_STRIDE)

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

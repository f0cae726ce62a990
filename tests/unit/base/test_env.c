/* SPDX-License-Identifier: BSD-3-Clause */
/* test_env.c - the environment as an object: from the process, from a file. */
#include "tests/unit/unit.h"

#include <stdio.h>
#include <unistd.h>

static jd_status parse(const char *text, size_t length, struct jd_env **env)
{
    *env = NULL;
    return jd__env_from_text(text, length, "saved.env", env);
}

START_TEST(lines_become_variables)
{
    struct jd_env *env = unit_env("B=2\nA=1=1\n\n# a comment\nC=\n");
    ck_assert_uint_eq(jd__env_count(env), 3);
    ck_assert_str_eq(jd__env_at(env, 0)->name, "A");
    ck_assert_str_eq(jd__env_at(env, 0)->value, "1=1");
    ck_assert_str_eq(jd__env_get(env, "B"), "2");
    ck_assert_str_eq(jd__env_get(env, "C"), "");
    ck_assert_ptr_null(jd__env_get_nonempty(env, "C"));
    ck_assert_ptr_null(jd__env_get(env, "D"));
    jd__env_destroy(env);
}
END_TEST

START_TEST(a_value_may_span_lines)
{
    struct jd_env *env = unit_env("F=first\n second line\nG=1");
    ck_assert_str_eq(jd__env_get(env, "F"), "first\n second line");
    ck_assert_str_eq(jd__env_get(env, "G"), "1");
    jd__env_destroy(env);
}
END_TEST

START_TEST(env_0_is_understood)
{
    static const char text[] = "A=1\nB=2\0C=#3";
    struct jd_env *env;
    UNIT_OK(parse(text, sizeof text, &env));
    ck_assert_uint_eq(jd__env_count(env), 2);
    ck_assert_str_eq(jd__env_get(env, "A"), "1\nB=2");
    ck_assert_str_eq(jd__env_get(env, "C"), "#3");
    jd__env_destroy(env);
}
END_TEST

/* A process may have anything in its environment. */
START_TEST(odd_entries_of_a_process_are_left_out)
{
    static const char text[] = "a:b=1\0A=1\0nothing\0B=2\0B=2";
    struct jd_env *env;
    UNIT_OK(jd__env_from_block(text, sizeof text - 1, &env));
    ck_assert_str_eq(jd__env_get(env, "A"), "1");
    ck_assert_str_eq(jd__env_get(env, "B"), "2");
    ck_assert_ptr_null(jd__env_get(env, "a:b"));
    jd__env_destroy(env);
}
END_TEST

START_TEST(nothing_is_an_environment_too)
{
    struct jd_env *env;
    UNIT_OK(parse("", 0, &env));
    ck_assert_uint_eq(jd__env_count(env), 0);
    ck_assert_ptr_null(jd__env_get(env, "A"));
    ck_assert(!jd__env_has_prefix(env, ""));
    jd__env_destroy(env);
    jd__env_destroy(NULL);
}
END_TEST

START_TEST(a_prefix_is_found)
{
    struct jd_env *env = unit_env("SLURM_PROCID=1\nPATH=/bin\n");
    ck_assert(jd__env_has_prefix(env, "SLURM_"));
    ck_assert(!jd__env_has_prefix(env, "SLURMX"));
    jd__env_destroy(env);
}
END_TEST

START_TEST(bad_text_is_refused)
{
    struct jd_env *env;
    UNIT_FAILS(parse("# hello\nnot an assignment\n", 26, &env),
               JD_INVALID_ARGUMENT,
               "saved.env, line 2: \"not an assignment\" is no NAME=value; the "
               "file must be the output of env or env -0");
    ck_assert_ptr_null(env);
    UNIT_FAILS(parse("A=1\nB=2\nA=3\n", 12, &env), JD_INVALID_ARGUMENT,
               "saved.env: A is set twice, to \"1\" and to \"3\"; remove one");
    ck_assert_ptr_null(env);
    ck_assert_int_eq(parse("1A=2\n", 5, &env), JD_INVALID_ARGUMENT);
}
END_TEST

START_TEST(files_are_read)
{
    char path[] = "/tmp/jd-test-env-XXXXXX";
    int fd = mkstemp(path);
    struct jd_env *env = NULL;
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, "A=1\n", 4), 4);
    close(fd);
    UNIT_OK(jd__env_from_file(path, &env));
    ck_assert_str_eq(jd__env_get(env, "A"), "1");
    jd__env_destroy(env);
    unlink(path);
}
END_TEST

START_TEST(a_large_file_is_read_whole)
{
    char path[] = "/tmp/jd-test-env-XXXXXX";
    FILE *file = fdopen(mkstemp(path), "w");
    struct jd_env *env = NULL;
    for (int i = 0; i < 30000; i++)
        fprintf(file, "V%05d=%05d\n", i, i);
    fclose(file);
    UNIT_OK(jd__env_from_file(path, &env));
    ck_assert_uint_eq(jd__env_count(env), 30000);
    ck_assert_str_eq(jd__env_get(env, "V29999"), "29999");
    jd__env_destroy(env);
    unlink(path);
}
END_TEST

START_TEST(files_that_cannot_be_read)
{
    struct jd_env *env = NULL;
    UNIT_FAILS(jd__env_from_file("/nowhere/x.env", &env), JD_NOT_FOUND,
               "the saved environment /nowhere/x.env cannot be read: No such "
               "file or directory");
    UNIT_FAILS(jd__env_from_file("/", &env), JD_UNAVAILABLE,
               "the saved environment / cannot be read: Is a directory");
    ck_assert_ptr_null(env);
}
END_TEST

START_TEST(the_process_has_one)
{
    struct jd_env *before, *after;
    UNIT_OK(jd__env_export("JD_TEST_ENV", "x"));
    UNIT_OK(jd__env_from_process(&before));
    UNIT_OK(jd__env_export("JD_TEST_ENV", NULL));
    UNIT_OK(jd__env_from_process(&after));
    ck_assert_str_eq(jd__env_get(before, "JD_TEST_ENV"), "x");
    ck_assert_ptr_null(jd__env_get(after, "JD_TEST_ENV"));
    jd__env_destroy(before);
    jd__env_destroy(after);
    UNIT_FAILS(jd__env_export("A=B", "x"), JD_INTERNAL,
               "setting the variable A=B: Invalid argument");
}
END_TEST

static size_t count_strings(char **strings, const char *prefix)
{
    size_t count = 0;
    for (char **string = strings; *string; string++)
        count += strncmp(*string, prefix, strlen(prefix)) == 0;
    return count;
}

START_TEST(a_program_is_started_without_some)
{
    static const char *const names[] = { "JD_TEST_ENV", "", "JD_TEST_NONE" };
    UNIT_OK(jd__env_export("JD_TEST_ENV", "x"));
    UNIT_OK(jd__env_export("JD_TEST_ENV_2", "y"));
    char **all = jd__env_strings_without(NULL, 0);
    char **some = jd__env_strings_without(names, 3);
    ck_assert_uint_eq(count_strings(all, "JD_TEST_ENV=x"), 1);
    ck_assert_uint_eq(count_strings(some, "JD_TEST_ENV="), 0);
    ck_assert_uint_eq(count_strings(some, "JD_TEST_ENV_2=y"), 1);
    ck_assert_uint_eq(count_strings(some, ""), count_strings(all, "") - 1);
    free(all);
    free(some);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("env");
    TCase *text = unit_case(suite, "text");
    tcase_add_test(text, lines_become_variables);
    tcase_add_test(text, a_value_may_span_lines);
    tcase_add_test(text, env_0_is_understood);
    tcase_add_test(text, odd_entries_of_a_process_are_left_out);
    tcase_add_test(text, nothing_is_an_environment_too);
    tcase_add_test(text, a_prefix_is_found);
    tcase_add_test(text, bad_text_is_refused);
    TCase *files = unit_case(suite, "files");
    tcase_add_test(files, files_are_read);
    tcase_add_test(files, a_large_file_is_read_whole);
    tcase_add_test(files, files_that_cannot_be_read);
    TCase *process = unit_case(suite, "process");
    tcase_add_test(process, the_process_has_one);
    tcase_add_test(process, a_program_is_started_without_some);
    return unit_main(suite);
}

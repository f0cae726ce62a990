/* SPDX-License-Identifier: BSD-3-Clause */
/* test_status.c - names, sentences of any length, one per thread. */
#include "tests/unit/unit.h"

#include <pthread.h>
#include <stdio.h>

START_TEST(names_are_the_canonical_ones)
{
    ck_assert_str_eq(jd_status_name(JD_OK), "OK");
    ck_assert_str_eq(jd_status_name(JD_DEADLINE_EXCEEDED), "DEADLINE_EXCEEDED");
    ck_assert_str_eq(jd_status_name(JD_UNAUTHENTICATED), "UNAUTHENTICATED");
    ck_assert_str_eq(jd_status_name((jd_status)17), "not a jd_status");
    ck_assert_str_eq(jd_status_name((jd_status)-1), "not a jd_status");
}
END_TEST

START_TEST(numbers_are_the_canonical_ones)
{
    ck_assert_int_eq(JD_OK, 0);
    ck_assert_int_eq(JD_INVALID_ARGUMENT, 3);
    ck_assert_int_eq(JD_UNAUTHENTICATED, 16);
}
END_TEST

START_TEST(nothing_failed_is_no_message)
{
    ck_assert_str_eq(jd_error_message(), "");
}
END_TEST

START_TEST(a_failure_leaves_its_sentence)
{
    UNIT_FAILS(jd_fail(JD_NOT_FOUND, "key %s of %d", "a", 3), JD_NOT_FOUND,
               "key a of 3");
    ck_assert_str_eq(jd_error_message(), "key a of 3");
    UNIT_FAILS(jd_fail(JD_ABORTED, "next"), JD_ABORTED, "next");
}
END_TEST

START_TEST(a_sentence_may_quote_the_one_before)
{
    jd_fail(JD_INTERNAL, "inner");
    UNIT_FAILS(jd_fail(JD_INTERNAL, "outer: %s", jd_error_message()),
               JD_INTERNAL, "outer: inner");
}
END_TEST

START_TEST(a_prefix_comes_before)
{
    jd_fail(JD_UNAVAILABLE, "no answer");
    UNIT_FAILS(jd__fail_prefix(JD_UNAVAILABLE, "%s: ", "jd_psum"),
               JD_UNAVAILABLE, "jd_psum: no answer");
}
END_TEST

START_TEST(a_program_gives_a_sentence)
{
    UNIT_FAILS(jd_fail_with(JD_DATA_LOSS, "row %d of %s", 3, "f"), JD_DATA_LOSS,
               "row 3 of f");
    ck_assert_int_eq(jd_fail_with(JD_OK, "nothing"), JD_OK);
    ck_assert_str_eq(jd_error_message(), "row 3 of f");
}
END_TEST

START_TEST(a_suffix_comes_behind)
{
    jd_fail(JD_UNAVAILABLE, "no answer");
    UNIT_FAILS(jd__fail_suffix(JD_UNAVAILABLE, "; %d", 7), JD_UNAVAILABLE,
               "no answer; 7");
}
END_TEST

START_TEST(a_sentence_is_set_aside)
{
    jd__message_give_back(jd__message_take());
    ck_assert_str_eq(jd_error_message(), "");
    jd_fail(JD_INTERNAL, "before");
    char *before = jd__message_take();
    ck_assert_str_eq(jd_error_message(), "");
    jd__message_give_back(before);
    ck_assert_ptr_eq(jd_error_message(), before);
    before = jd__message_take();
    jd_fail(JD_INTERNAL, "after");
    jd__message_give_back(before);
    ck_assert_str_eq(jd_error_message(), "after");
    before = jd__message_take();
    jd_fail(JD_INTERNAL, "later");
    jd__message_put_back(before);
    ck_assert_str_eq(jd_error_message(), "after");
    jd__message_put_back(jd__message_take());
    jd__message_put_back(NULL);
    ck_assert_str_eq(jd_error_message(), "");
}
END_TEST

/* Whatever steps the next failure takes to its sentence. */
START_TEST(the_sentence_before_stays)
{
    jd_fail(JD_NOT_FOUND, "first");
    const char *first = jd_error_message();
    jd_fail(JD_INTERNAL, "second");
    const char *second = jd_error_message();
    ck_assert_str_eq(first, "first");
    jd__fail_prefix(JD_INTERNAL, "of %d: ", 2);
    jd__fail_suffix(JD_INTERNAL, "; why");
    ck_assert_str_eq(first, "first");
    ck_assert_str_eq(second, "second");
    ck_assert_str_eq(jd_error_message(), "of 2: second; why");
}
END_TEST

/* A failure inside the program's function does not free it. */
START_TEST(one_that_was_set_aside_stays_too)
{
    jd_fail(JD_NOT_FOUND, "mine");
    const char *mine = jd_error_message();
    char *before = jd__message_take();
    jd_fail(JD_INTERNAL, "of the body");
    jd__message_give_back(before);
    ck_assert_str_eq(jd_error_message(), "of the body");
    ck_assert_str_eq(mine, "mine");
}
END_TEST

START_TEST(a_sentence_may_be_long)
{
    size_t length = 100000;
    char *text = malloc(length + 1);
    memset(text, 'x', length);
    text[length] = '\0';
    jd_fail(JD_INTERNAL, "%s", text);
    ck_assert_str_eq(jd_error_message(), text);
    jd__fail_prefix(JD_INTERNAL, "%s", text);
    ck_assert_uint_eq(strlen(jd_error_message()), 2 * length);
    free(text);
}
END_TEST

START_TEST(no_memory_names_operation_and_bytes)
{
    UNIT_FAILS(jd__fail_no_memory("jd_mesh_create", 4096),
               JD_RESOURCE_EXHAUSTED,
               "jd_mesh_create: 4096 bytes of memory could not be allocated; "
               "free memory on this host or raise its limit (ulimit -v)");
}
END_TEST

static void *fail_elsewhere(void *arg)
{
    const char **seen = arg;
    seen[0] = strdup(jd_error_message());
    jd_fail(JD_INTERNAL, "of the other thread");
    seen[1] = strdup(jd_error_message());
    return NULL;
}

START_TEST(each_thread_has_its_own)
{
    char *seen[2] = { NULL, NULL };
    pthread_t thread;
    jd_fail(JD_INTERNAL, "of this thread");
    ck_assert_int_eq(pthread_create(&thread, NULL, fail_elsewhere, seen), 0);
    pthread_join(thread, NULL);
    ck_assert_str_eq(seen[0], "");
    ck_assert_str_eq(seen[1], "of the other thread");
    ck_assert_str_eq(jd_error_message(), "of this thread");
    free(seen[0]);
    free(seen[1]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("status");
    TCase *names = unit_case(suite, "names");
    tcase_add_test(names, names_are_the_canonical_ones);
    tcase_add_test(names, numbers_are_the_canonical_ones);
    TCase *sentences = unit_case(suite, "sentences");
    tcase_add_test(sentences, nothing_failed_is_no_message);
    tcase_add_test(sentences, a_failure_leaves_its_sentence);
    tcase_add_test(sentences, a_sentence_may_quote_the_one_before);
    tcase_add_test(sentences, a_prefix_comes_before);
    tcase_add_test(sentences, a_suffix_comes_behind);
    tcase_add_test(sentences, a_program_gives_a_sentence);
    tcase_add_test(sentences, a_sentence_is_set_aside);
    tcase_add_test(sentences, the_sentence_before_stays);
    tcase_add_test(sentences, one_that_was_set_aside_stays_too);
    tcase_add_test(sentences, a_sentence_may_be_long);
    tcase_add_test(sentences, no_memory_names_operation_and_bytes);
    tcase_add_test(sentences, each_thread_has_its_own);
    return unit_main(suite);
}

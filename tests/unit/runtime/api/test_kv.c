/* SPDX-License-Identifier: BSD-3-Clause */
/* test_kv.c - the public calls of the key-value store, in a world of one. */
#include "jd_coordination.h"
#include "unit.h"

#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

static char long_key[4098];

static void make_long_key(void)
{
    memset(long_key, 'k', 4097);
}

#define SHOWN                                                                  \
    "\"kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk" \
    "kkkkkkkkkk...\" (4097 bytes)"

static void expect(const char *key, const char *wanted)
{
    void *value;
    size_t size;
    UNIT_OK(jd_kv_try_get(key, &value, &size));
    ck_assert_uint_eq(size, strlen(wanted));
    ck_assert_str_eq(value, wanted); /* its NUL is behind it */
    free(value);
}

static void set(const char *key, const char *value)
{
    UNIT_OK(jd_kv_set(key, value, strlen(value), 1));
}

static void expect_part(const char *part)
{
    ck_assert_msg(strstr(jd_error_message(), part) != NULL, "no \"%s\" in: %s",
                  part, jd_error_message());
}

/* ---- one key ------------------------------------------------------------ */

START_TEST(a_value_comes_back)
{
    void *value;
    size_t size;
    UNIT_OK(jd_kv_set("a/b", "with\0NUL", 8, 0));
    UNIT_OK(jd_kv_get("a/b", 5, &value, &size));
    ck_assert_uint_eq(size, 8);
    ck_assert_mem_eq(value, "with\0NUL", 9);
    free(value);
    UNIT_OK(jd_kv_set("empty", NULL, 0, 0));
    expect("empty", "");
}
END_TEST

START_TEST(overwriting_must_be_allowed)
{
    UNIT_OK(jd_kv_set("a", "1", 1, 0));
    UNIT_FAILS(jd_kv_set("a", "2", 1, 0), JD_ALREADY_EXISTS,
               "jd_kv_set of key \"a\": \"a\" is there already "
               "(allow_overwrite is 0)");
    expect("a", "1");
    UNIT_OK(jd_kv_set("a", "2", 1, 1));
    expect("a", "2");
    UNIT_OK(jd_kv_set("a", "3", 1, -1));
    expect("a", "3");
}
END_TEST

START_TEST(a_key_that_is_not_there_is_named)
{
    void *value = long_key;
    size_t size = 7;
    UNIT_FAILS(jd_kv_try_get("a\n", &value, &size), JD_NOT_FOUND,
               "jd_kv_try_get of key \"a\\x0a\": nobody has set \"a\\x0a\"");
    ck_assert_int_eq(jd_kv_get("never", 0.05, &value, &size),
                     JD_DEADLINE_EXCEEDED);
    expect_part("jd_kv_get of key \"never\": ");
    expect_part("the deadline was 0.05 s");
    ck_assert_int_eq(jd_kv_get("never", 1e-9, &value, &size),
                     JD_DEADLINE_EXCEEDED);
    ck_assert_ptr_eq(value, long_key);
    ck_assert_uint_eq(size, 7);
}
END_TEST

static void *set_late(void *key)
{
    set(key, "late");
    return NULL;
}

/* 0 is JD_BARRIER_TIMEOUT; negative is no deadline. */
START_TEST(a_get_waits_for_its_key)
{
    pthread_t thread;
    char key[] = "late";
    void *value;
    size_t size;
    static const double timeouts[] = { 0, -1, 60 };
    ck_assert_int_eq(pthread_create(&thread, NULL, set_late, key), 0);
    UNIT_OK(jd_kv_get(key, timeouts[_i], &value, &size));
    ck_assert_str_eq(value, "late");
    free(value);
    pthread_join(thread, NULL);
}
END_TEST

START_TEST(the_default_deadline_is_an_option)
{
    void *value;
    size_t size;
    setenv("JD_BARRIER_TIMEOUT", "50ms", 1);
    ck_assert_int_eq(jd_kv_get("never", 0, &value, &size),
                     JD_DEADLINE_EXCEEDED);
    expect_part("the deadline was 0.05 s (JD_BARRIER_TIMEOUT changes it)");
}
END_TEST

START_TEST(a_delete_counts)
{
    size_t count = 77;
    set("a", "");
    set("a/b", "");
    set("ab", "");
    UNIT_OK(jd_kv_delete("a", &count));
    ck_assert_uint_eq(count, 2);
    UNIT_OK(jd_kv_delete("a", &count));
    ck_assert_uint_eq(count, 0);
    UNIT_OK(jd_kv_delete("ab", NULL));
    UNIT_OK(jd_kv_delete("ab", &count));
    ck_assert_uint_eq(count, 0);
}
END_TEST

START_TEST(an_increment_gives_the_sum)
{
    int64_t sum = 77;
    UNIT_OK(jd_kv_increment("n", 5, &sum));
    ck_assert_int_eq(sum, 5);
    UNIT_OK(jd_kv_increment("n", INT64_MIN, &sum));
    ck_assert_int_eq(sum, INT64_MIN + 5);
    ck_assert_int_eq(jd_kv_increment("n", INT64_MIN, &sum), JD_OUT_OF_RANGE);
    expect_part("jd_kv_increment of key \"n\": ");
    set("n", "x");
    ck_assert_int_eq(jd_kv_increment("n", 1, &sum), JD_FAILED_PRECONDITION);
    expect("n", "x");
    ck_assert_int_eq(sum, INT64_MIN + 5);
}
END_TEST

/* ---- many keys ---------------------------------------------------------- */

START_TEST(a_directory_comes_in_order)
{
    jd_kv_entry *entries = NULL;
    size_t count = 77;
    set("d/b", "2");
    set("d/a", "");
    set("d", "none");
    UNIT_OK(jd_kv_dir_get("d", &entries, &count));
    ck_assert_uint_eq(count, 2);
    ck_assert_str_eq(entries[0].key, "d/a");
    ck_assert_uint_eq(entries[0].size, 0);
    ck_assert_str_eq(entries[0].value, "");
    ck_assert_str_eq(entries[1].key, "d/b");
    ck_assert_uint_eq(entries[1].size, 1);
    ck_assert_str_eq(entries[1].value, "2");
    free(entries);
    UNIT_OK(jd_kv_dir_get("", &entries, &count));
    ck_assert_uint_eq(count, 3);
    free(entries);
    UNIT_OK(jd_kv_dir_get("none", &entries, &count));
    ck_assert_uint_eq(count, 0);
    free(entries);
}
END_TEST

START_TEST(many_keys_come_in_their_order)
{
    const jd_kv_entry entries[] = { { "b", "\0b", 2 }, { "a", NULL, 0 } };
    const char *const keys[] = { "a", "b", "a" };
    jd_kv_entry *got;
    UNIT_OK(jd_kv_set_many(entries, 2, 0));
    UNIT_OK(jd_kv_get_many(keys, 3, 5, &got));
    for (int i = 0; i < 3; i++) {
        ck_assert_str_eq(got[i].key, keys[i]);
        ck_assert_uint_eq(got[i].size, i == 1 ? 2 : 0);
    }
    ck_assert_mem_eq(got[1].value, "\0b", 3);
    free(got);
}
END_TEST

START_TEST(all_or_none_are_set)
{
    const jd_kv_entry entries[] = { { "new", "1", 1 }, { "old", "1", 1 } };
    void *value;
    size_t size;
    set("old", "0");
    UNIT_FAILS(jd_kv_set_many(entries, 2, 0), JD_ALREADY_EXISTS,
               "jd_kv_set_many of 2 keys: \"old\" is there already "
               "(allow_overwrite is 0)");
    ck_assert_int_eq(jd_kv_try_get("new", &value, &size), JD_NOT_FOUND);
    expect("old", "0");
    UNIT_OK(jd_kv_set_many(entries, 2, 1));
    expect("new", "1");
    expect("old", "1");
}
END_TEST

START_TEST(those_that_are_missing_are_named)
{
    const char *const keys[] = { "a", "there", "b" };
    jd_kv_entry *got;
    set("there", "");
    ck_assert_int_eq(jd_kv_get_many(keys, 3, 0.05, &got), JD_DEADLINE_EXCEEDED);
    expect_part("jd_kv_get_many of 3 keys: ");
    expect_part("\"a\", \"b\"");
}
END_TEST

/* Without a world even. */
START_TEST(none_are_had_at_once)
{
    jd_kv_entry *got = NULL;
    setenv("JD_BARRIER_TIMEOUT", "wrong", 1); /* for whoever looks */
    UNIT_OK(jd_kv_set_many(NULL, 0, 0));
    UNIT_OK(jd_kv_get_many(NULL, 0, -1, &got));
    ck_assert_ptr_nonnull(got);
    free(got);
}
END_TEST

enum { MANY = 10000 };

START_TEST(ten_thousand_keys_are_one_batch)
{
    static char names[MANY][16];
    static jd_kv_entry entries[MANY];
    static const char *keys[MANY];
    jd_kv_entry *got;
    size_t right = 0;
    for (int i = 0; i < MANY; i++) {
        snprintf(names[i], sizeof names[i], "%d", 7919 * i % MANY);
        keys[i] = names[i];
        entries[i] = (jd_kv_entry){ names[i], names[i], strlen(names[i]) };
    }
    UNIT_OK(jd_kv_set_many(entries, MANY, 0));
    UNIT_OK(jd_kv_get_many(keys, MANY, 60, &got));
    for (int i = 0; i < MANY; i++)
        right += !strcmp(got[i].key, names[i]) &&
                 !strcmp(got[i].value, names[i]) &&
                 got[i].size == strlen(names[i]);
    ck_assert_uint_eq(right, MANY);
    free(got);
}
END_TEST

/* ---- wrong arguments ---------------------------------------------------- */

#define WRONG(call, sentence) UNIT_FAILS(call, JD_INVALID_ARGUMENT, sentence)

START_TEST(keys_are_looked_at)
{
    void *value;
    size_t size;
    int64_t sum;
    WRONG(jd_kv_set(NULL, "v", 1, 0),
          "jd_kv_set: key is NULL; a key has 1 to 4096 bytes");
    WRONG(jd_kv_get("", 1, &value, &size),
          "jd_kv_get: key is empty; a key has 1 to 4096 bytes");
    WRONG(jd_kv_try_get(long_key, &value, &size),
          "jd_kv_try_get: key is too long: " SHOWN
          "; a key has 1 to 4096 bytes");
    WRONG(jd_kv_delete("", NULL),
          "jd_kv_delete: key is empty; a key has 1 to 4096 bytes");
    WRONG(jd_kv_increment(NULL, 1, &sum),
          "jd_kv_increment: key is NULL; a key has 1 to 4096 bytes");
    UNIT_OK(jd_kv_set(long_key + 1, "v", 1, 0));
    expect(long_key + 1, "v");
}
END_TEST

START_TEST(outputs_are_looked_at)
{
    void *value;
    size_t size;
    WRONG(jd_kv_set("a", NULL, 1, 0), "jd_kv_set: value is NULL");
    WRONG(jd_kv_get("a", 1, NULL, &size), "jd_kv_get: ret_value is NULL");
    WRONG(jd_kv_get("a", 1, &value, NULL), "jd_kv_get: ret_size is NULL");
    WRONG(jd_kv_try_get("a", NULL, &size), "jd_kv_try_get: ret_value is NULL");
    WRONG(jd_kv_increment("a", 1, NULL), "jd_kv_increment: ret_sum is NULL");
    ck_assert_int_eq(jd_kv_get("a", NAN, &value, &size), JD_INVALID_ARGUMENT);
}
END_TEST

START_TEST(directories_are_looked_at)
{
    jd_kv_entry *entries;
    size_t count;
    WRONG(jd_kv_dir_get(NULL, &entries, &count),
          "jd_kv_dir_get: directory is NULL; \"\" has all keys");
    WRONG(jd_kv_dir_get(long_key, &entries, &count),
          "jd_kv_dir_get: directory is too long: " SHOWN
          "; a key has 1 to 4096 bytes");
    WRONG(jd_kv_dir_get("", NULL, &count),
          "jd_kv_dir_get: ret_entries is NULL");
    WRONG(jd_kv_dir_get("", &entries, NULL),
          "jd_kv_dir_get: ret_count is NULL");
}
END_TEST

START_TEST(lists_are_looked_at)
{
    const jd_kv_entry twice[] = { { "a", NULL, 0 },
                                  { "b", NULL, 0 },
                                  { "a", NULL, 0 } };
    const jd_kv_entry empty[] = { { "a", NULL, 0 }, { "", NULL, 0 } };
    const jd_kv_entry no_value[] = { { "a", NULL, 3 } };
    const char *const keys[] = { "a", NULL };
    jd_kv_entry *got;
    WRONG(jd_kv_set_many(twice, 3, 1),
          "jd_kv_set_many: the key \"a\" is there twice in the list; nothing "
          "was set");
    WRONG(jd_kv_set_many(empty, 2, 1),
          "jd_kv_set_many: entries[1].key is empty; a key has 1 to 4096 bytes");
    WRONG(jd_kv_set_many(no_value, 1, 1),
          "jd_kv_set_many: entries[0].value is NULL, but its size is 3");
    WRONG(jd_kv_set_many(NULL, 1, 1), "jd_kv_set_many: entries is NULL");
    WRONG(jd_kv_get_many(keys, 2, 1, &got),
          "jd_kv_get_many: keys[1] is NULL; a key has 1 to 4096 bytes");
    WRONG(jd_kv_get_many(NULL, 1, 1, &got), "jd_kv_get_many: keys is NULL");
    WRONG(jd_kv_get_many(keys, 1, 1, NULL),
          "jd_kv_get_many: ret_entries is NULL");
    WRONG(jd_kv_get_many(keys, SIZE_MAX, 1, &got),
          "jd_kv_get_many: count is 18446744073709551615, more than fit in "
          "memory");
    ck_assert_int_eq(jd_kv_set_many(twice, SIZE_MAX, 1), JD_INVALID_ARGUMENT);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kv");
    make_long_key();
    TCase *one = unit_case(suite, "one");
    tcase_set_timeout(one, 60);
    tcase_add_test(one, a_value_comes_back);
    tcase_add_test(one, overwriting_must_be_allowed);
    tcase_add_test(one, a_key_that_is_not_there_is_named);
    tcase_add_loop_test(one, a_get_waits_for_its_key, 0, 3);
    tcase_add_test(one, the_default_deadline_is_an_option);
    tcase_add_test(one, a_delete_counts);
    tcase_add_test(one, an_increment_gives_the_sum);
    TCase *many = unit_case(suite, "many");
    tcase_set_timeout(many, 60);
    tcase_add_test(many, a_directory_comes_in_order);
    tcase_add_test(many, many_keys_come_in_their_order);
    tcase_add_test(many, all_or_none_are_set);
    tcase_add_test(many, those_that_are_missing_are_named);
    tcase_add_test(many, none_are_had_at_once);
    tcase_add_test(many, ten_thousand_keys_are_one_batch);
    TCase *wrong = unit_case(suite, "wrong");
    tcase_add_test(wrong, keys_are_looked_at);
    tcase_add_test(wrong, outputs_are_looked_at);
    tcase_add_test(wrong, directories_are_looked_at);
    tcase_add_test(wrong, lists_are_looked_at);
    return unit_main(suite);
}

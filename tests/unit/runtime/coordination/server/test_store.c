/* SPDX-License-Identifier: BSD-3-Clause */
/* test_store.c - the key-value store: keys, order, directories, numbers. */
#include "runtime/coordination/server/store.h"
#include "unit.h"

#include <inttypes.h>
#include <stdio.h>

static struct jd_store *store;

static void create_store(void)
{
    UNIT_OK(jd__store_create(&store));
}

/* Whatever a test has left can be deleted, and then nothing is counted. */
static void destroy_store(void)
{
    size_t count = jd__store_count(store);
    ck_assert_uint_eq(jd__store_delete(store, jd__wire_text("")), count);
    ck_assert_uint_eq(jd__store_count(store), 0);
    ck_assert_uint_eq(jd__store_bytes(store), 0);
    jd__store_destroy(store);
}

static jd_status set(const char *key, const char *value, bool overwrite)
{
    return jd__store_set(store, jd__wire_text(key), jd__wire_text(value),
                         overwrite);
}

static void set_bytes(const void *key, size_t size, const char *value)
{
    UNIT_OK(jd__store_set(store, jd__wire_bytes(key, size),
                          jd__wire_text(value), false));
}

static bool is_equal(ProtobufCBinaryData bytes, const void *data, size_t size)
{
    return bytes.len == size && (!size || !memcmp(bytes.data, data, size));
}

static void expect_bytes(const void *key, size_t size, const char *value)
{
    const struct jd_item *item =
        jd__store_get(store, jd__wire_bytes(key, size));
    if (!value) {
        ck_assert_ptr_null(item);
        return;
    }
    ck_assert_ptr_nonnull(item);
    ck_assert(is_equal(item->key, key, size));
    ck_assert(is_equal(item->value, value, strlen(value)));
}

static void expect(const char *key, const char *value)
{
    expect_bytes(key, strlen(key), value);
}

/* Keys in brackets, NULs as dots. */
static bool print_item(const struct jd_item *item, void *arg)
{
    FILE *out = arg;
    putc('[', out);
    for (size_t i = 0; i < item->key.len; i++)
        putc(item->key.data[i] ? item->key.data[i] : '.', out);
    putc(']', out);
    return true;
}

static void expect_list(const char *directory, const char *wanted)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    ck_assert_ptr_nonnull(out);
    jd__store_list(store, jd__wire_text(directory), print_item, out);
    fclose(out);
    ck_assert_str_eq(text, wanted);
    free(text);
}

/* ---- keys --------------------------------------------------------------- */

START_TEST(an_empty_store_has_nothing)
{
    expect("", NULL);
    expect("a", NULL);
    expect_bytes("\0", 1, NULL);
    expect_list("", "");
    expect_list("a", "");
    ck_assert_uint_eq(jd__store_delete(store, jd__wire_text("a")), 0);
    ck_assert_uint_eq(jd__store_delete(store, jd__wire_text("")), 0);
    jd__store_destroy(NULL);
}
END_TEST

START_TEST(what_is_set_is_there)
{
    UNIT_OK(set("a", "1", false));
    UNIT_OK(set("b", "", false));
    expect("a", "1");
    expect("b", "");
    expect("c", NULL);
    expect("", NULL);
    ck_assert_uint_eq(jd__store_count(store), 2);
    ck_assert_uint_eq(jd__store_bytes(store), 3);
}
END_TEST

START_TEST(keys_are_exact)
{
    UNIT_OK(set("/a//b/", "1", false));
    expect("/a//b/", "1");
    expect("a/b", NULL);
    expect("/a//b", NULL);
    expect("/A//b/", NULL);
}
END_TEST

START_TEST(prefixes_of_one_another_are_keys)
{
    set_bytes("aaa", 3, "3");
    set_bytes("a", 1, "1");
    set_bytes("aaaa", 4, "4");
    set_bytes("aa", 2, "2");
    set_bytes("a\0", 2, "nul");
    set_bytes("a\0\0", 3, "two");
    expect("a", "1");
    expect("aa", "2");
    expect("aaa", "3");
    expect("aaaa", "4");
    expect("aaaaa", NULL);
    expect_bytes("a\0", 2, "nul");
    expect_bytes("a\0\0", 3, "two");
    expect_bytes("a\0\0\0", 4, NULL);
    expect_list("", "[a][a.][a..][aa][aaa][aaaa]");
}
END_TEST

START_TEST(all_bytes_make_keys)
{
    for (unsigned i = 0; i < 256; i++) {
        uint8_t key[2] = { (uint8_t)(i * 167), (uint8_t)i };
        char value[4];
        snprintf(value, sizeof value, "%u", i);
        set_bytes(key, 2, value);
        set_bytes(key, 1, value);
    }
    for (unsigned i = 0; i < 256; i++) {
        uint8_t key[2] = { (uint8_t)(i * 167), (uint8_t)i };
        char value[4];
        snprintf(value, sizeof value, "%u", i);
        expect_bytes(key, 2, value);
        expect_bytes(key, 1, value);
    }
    ck_assert_uint_eq(jd__store_count(store), 512);
}
END_TEST

START_TEST(keys_have_1_to_4096_bytes)
{
    static char key[JD_STORE_KEY_MAX + 1];
    ProtobufCBinaryData value = jd__wire_text("v");
    memset(key, 'k', sizeof key);
    set_bytes(key, sizeof key - 1, "v");
    expect_bytes(key, sizeof key - 1, "v");
    ck_assert_int_eq(
        jd__store_set(store, jd__wire_bytes(key, sizeof key), value, true),
        JD_INVALID_ARGUMENT);
    ck_assert_int_eq(jd__store_set(store, jd__wire_text(""), value, true),
                     JD_INVALID_ARGUMENT);
    expect_bytes(key, sizeof key, NULL);
    expect("", NULL);
    ck_assert_uint_eq(jd__store_count(store), 1);
    ck_assert_uint_eq(jd__store_delete(store, jd__wire_bytes(key, sizeof key)),
                      0);
}
END_TEST

/* As deep as a tree of these keys can be. */
START_TEST(no_key_is_too_deep)
{
    static char key[JD_STORE_KEY_MAX];
    ProtobufCBinaryData value = jd__wire_text("v");
    size_t set_count = 0, seen = 0;
    for (size_t size = 1; size <= sizeof key; size++)
        set_count += jd__store_set(store, jd__wire_bytes(key, size), value,
                                   false) == JD_OK;
    for (size_t size = 1; size <= sizeof key; size++)
        seen += jd__store_get(store, jd__wire_bytes(key, size)) != NULL;
    ck_assert_uint_eq(set_count, sizeof key);
    ck_assert_uint_eq(seen, sizeof key);
    ck_assert_uint_eq(jd__store_count(store), sizeof key);
}
END_TEST

/* ---- overwriting -------------------------------------------------------- */

START_TEST(a_key_is_overwritten_when_that_is_said)
{
    UNIT_OK(set("a", "first", false));
    ck_assert_int_eq(set("a", "other", false), JD_ALREADY_EXISTS);
    expect("a", "first");
    UNIT_OK(set("a", "other", true));
    expect("a", "other");
    UNIT_OK(set("a", "a longer one", true));
    expect("a", "a longer one");
    UNIT_OK(set("a", "", true));
    expect("a", "");
    UNIT_OK(set("b", "new", true));
    expect("b", "new");
    ck_assert_uint_eq(jd__store_count(store), 2);
    ck_assert_uint_eq(jd__store_bytes(store), 5);
}
END_TEST

START_TEST(both_are_copied)
{
    char key[] = "key", value[] = "value";
    set_bytes(key, 3, value);
    key[0] = value[0] = 'x';
    expect("key", "value");
    expect("xey", NULL);
}
END_TEST

/* What is borrowed from the store may be given to it. */
START_TEST(an_item_may_be_its_own_source)
{
    UNIT_OK(set("a", "value", false));
    const struct jd_item *item = jd__store_get(store, jd__wire_text("a"));
    UNIT_OK(jd__store_set(store, item->key, item->value, true));
    expect("a", "value");
    UNIT_OK(jd__store_set(store, item->key, item->key, true));
    expect("a", "a");
    item = jd__store_get(store, jd__wire_text("a"));
    ck_assert_uint_eq(jd__store_delete(store, item->key), 1);
}
END_TEST

/* ---- directories -------------------------------------------------------- */

static void set_tree(void)
{
    static const char *const keys[] = { "b",   "a/y", "a",  "a/x/1", "a-",
                                        "a/x", "aa",  "a0", "a//z",  "/" };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        UNIT_OK(set(keys[i], "v", false));
}

START_TEST(a_directory_has_what_is_under_it)
{
    set_tree();
    expect_list("a", "[a//z][a/x][a/x/1][a/y]");
    expect_list("a/", "[a//z][a/x][a/x/1][a/y]");
    expect_list("a//", "[a//z]");
    expect_list("a/x", "[a/x/1]");
    expect_list("a/x/1", "");
    expect_list("/", "[/]");
    expect_list("c", "");
    expect_list("A", "");
    expect_list("a/x/10000", "");
}
END_TEST

START_TEST(the_empty_directory_has_all)
{
    set_tree();
    expect_list("", "[/][a][a-][a//z][a/x][a/x/1][a/y][a0][aa][b]");
}
END_TEST

START_TEST(a_key_with_a_slash_at_its_end_is_under_its_directory)
{
    UNIT_OK(set("a/", "v", false));
    UNIT_OK(set("a", "v", false));
    expect_list("a", "[a/]");
    expect_list("a/", "[a/]");
    ck_assert_uint_eq(jd__store_delete(store, jd__wire_text("a/")), 1);
    expect("a", "v");
}
END_TEST

START_TEST(bytes_are_in_the_order_of_their_numbers)
{
    set_bytes("\xff", 1, "v");
    set_bytes("\x80", 1, "v");
    set_bytes("\x7f", 1, "v");
    set_bytes("\0", 1, "v");
    set_bytes("\x01", 1, "v");
    set_bytes("\x01\xff", 2, "v");
    expect_list("", "[.][\x01][\x01\xff][\x7f][\x80][\xff]");
}
END_TEST

static bool stop_at_third(const struct jd_item *item, void *arg)
{
    (void)item;
    return ++*(int *)arg < 3;
}

START_TEST(a_list_stops_when_it_is_told_to)
{
    int count = 0;
    set_tree();
    jd__store_list(store, jd__wire_text(""), stop_at_third, &count);
    ck_assert_int_eq(count, 3);
}
END_TEST

START_TEST(a_directory_can_be_too_long_for_keys)
{
    static char name[JD_STORE_KEY_MAX + 8];
    int count = -1000;
    memset(name, 'd', sizeof name);
    jd__store_list(store, jd__wire_bytes(name, JD_STORE_KEY_MAX), stop_at_third,
                   &count);
    name[JD_STORE_KEY_MAX - 1] = '/';
    set_bytes(name, JD_STORE_KEY_MAX, "v");
    for (size_t size = JD_STORE_KEY_MAX - 1; size < sizeof name; size++)
        jd__store_list(store, jd__wire_bytes(name, size), stop_at_third,
                       &count);
    ck_assert_int_eq(count, -998); /* under it without and with its slash */
}
END_TEST

/* ---- deleting ----------------------------------------------------------- */

START_TEST(a_delete_takes_the_key_and_all_under_it)
{
    set_tree();
    ck_assert_uint_eq(jd__store_delete(store, jd__wire_text("a")), 5);
    expect_list("", "[/][a-][a0][aa][b]");
    ck_assert_uint_eq(jd__store_delete(store, jd__wire_text("a")), 0);
    ck_assert_uint_eq(jd__store_delete(store, jd__wire_text("b/")), 0);
    ck_assert_uint_eq(jd__store_delete(store, jd__wire_text("b")), 1);
    ck_assert_uint_eq(jd__store_delete(store, jd__wire_text("/")), 1);
    expect_list("", "[a-][a0][aa]");
    ck_assert_uint_eq(jd__store_bytes(store), 9);
}
END_TEST

START_TEST(a_delete_needs_no_key_of_that_name)
{
    set_tree();
    ck_assert_uint_eq(jd__store_delete(store, jd__wire_text("a/")), 4);
    expect("a", "v");
    expect_list("a", "");
}
END_TEST

START_TEST(a_deleted_key_can_be_set_again)
{
    UNIT_OK(set("a", "1", false));
    ck_assert_uint_eq(jd__store_delete(store, jd__wire_text("a")), 1);
    expect("a", NULL);
    UNIT_OK(set("a", "2", false));
    expect("a", "2");
}
END_TEST

/* ---- numbers ------------------------------------------------------------ */

static void expect_sum(const char *key, int64_t by, int64_t wanted,
                       const char *text)
{
    int64_t sum = 77;
    UNIT_OK(jd__store_increment(store, jd__wire_text(key), by, &sum));
    ck_assert_int_eq(sum, wanted);
    expect(key, text);
}

static void expect_no_sum(const char *key, int64_t by, jd_status wanted,
                          const char *text)
{
    int64_t sum = 77;
    ck_assert_int_eq(jd__store_increment(store, jd__wire_text(key), by, &sum),
                     wanted);
    ck_assert_int_eq(sum, 77);
    expect(key, text);
}

START_TEST(a_number_is_counted_up_and_down)
{
    expect_sum("n", 1, 1, "1");
    expect_sum("n", 41, 42, "42");
    expect_sum("n", -50, -8, "-8");
    expect_sum("n", 0, -8, "-8");
    expect_sum("n", 8, 0, "0");
    expect_sum("zero", 0, 0, "0");
    UNIT_OK(set("n", "007", true));
    expect_sum("n", 1, 8, "8");
}
END_TEST

START_TEST(numbers_have_64_bits)
{
    expect_sum("n", INT64_MAX, INT64_MAX, "9223372036854775807");
    expect_no_sum("n", 1, JD_OUT_OF_RANGE, "9223372036854775807");
    expect_no_sum("n", INT64_MAX, JD_OUT_OF_RANGE, "9223372036854775807");
    expect_sum("n", INT64_MIN, -1, "-1");
    expect_no_sum("n", INT64_MIN, JD_OUT_OF_RANGE, "-1");
    expect_sum("n", INT64_MIN + 1, INT64_MIN, "-9223372036854775808");
    expect_no_sum("n", -1, JD_OUT_OF_RANGE, "-9223372036854775808");
    expect_sum("n", INT64_MAX, -1, "-1");
    expect_sum("low", INT64_MIN, INT64_MIN, "-9223372036854775808");
}
END_TEST

START_TEST(what_is_no_number_stays_as_it_is)
{
    static const char *const values[] = {
        "",
        " ",
        "+1",
        " 1",
        "1 ",
        "1\n",
        "one",
        "1.0",
        "0x",
        "1e3",
        "--1",
        "-",
        "- 1",
        "9223372036854775808",
        "1,0",
        "1a",
        "\t1",
        "0x10",
        "1 2",
        "+",
        "-9223372036854775809",
        "000000000000000000000000000000000000000000001"
    };
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        UNIT_OK(set("n", values[i], true));
        expect_no_sum("n", 1, JD_FAILED_PRECONDITION, values[i]);
    }
    UNIT_OK(jd__store_set(store, jd__wire_text("n"), jd__wire_bytes("1\0", 2),
                          true));
    int64_t sum;
    ck_assert_int_eq(jd__store_increment(store, jd__wire_text("n"), 1, &sum),
                     JD_FAILED_PRECONDITION);
}
END_TEST

START_TEST(an_increment_needs_a_key)
{
    expect_no_sum("", 1, JD_INVALID_ARGUMENT, NULL);
}
END_TEST

/* ---- against a sorted array --------------------------------------------- */

enum { MODEL_MAX = 512, MODEL_KEY = 12, MODEL_STEPS = 10000 };

struct model_item {
    uint8_t key[MODEL_KEY];
    size_t size;
    char value[24];
};

static struct model_item model[MODEL_MAX + 1];
static size_t model_count;
static uint64_t seed;

static unsigned pick(unsigned below)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(seed >> 33) % below;
}

static int compare(const uint8_t *a, size_t a_size, const uint8_t *b,
                   size_t b_size)
{
    int order = memcmp(a, b, a_size < b_size ? a_size : b_size);
    return order ? order : (a_size > b_size) - (a_size < b_size);
}

/* Where the key is or would be. */
static size_t model_find(const uint8_t *key, size_t size, bool *ret_is_there)
{
    size_t at = 0;
    int order = 1;
    while (at < model_count &&
           (order = compare(model[at].key, model[at].size, key, size)) < 0)
        at++;
    *ret_is_there = at < model_count && order == 0;
    return at;
}

static jd_status model_set(const uint8_t *key, size_t size, const char *value,
                           bool overwrite)
{
    bool is_there;
    size_t at = model_find(key, size, &is_there);
    if (is_there && !overwrite)
        return JD_ALREADY_EXISTS;
    if (!is_there) {
        memmove(&model[at + 1], &model[at],
                (model_count++ - at) * sizeof *model);
        memcpy(model[at].key, key, size);
        model[at].size = size;
    }
    strcpy(model[at].value, value);
    return JD_OK;
}

static bool model_is_under(const struct model_item *item, const uint8_t *key,
                           size_t size)
{
    if (size == 0)
        return true;
    if (item->size < size || memcmp(item->key, key, size) != 0)
        return false;
    return key[size - 1] == '/' ||
           (item->size > size && item->key[size] == '/');
}

static size_t model_delete(const uint8_t *key, size_t size)
{
    size_t kept = 0, before = model_count;
    for (size_t i = 0; i < before; i++) {
        const struct model_item *item = &model[i];
        if (!model_is_under(item, key, size) &&
            compare(item->key, item->size, key, size) != 0)
            model[kept++] = *item;
    }
    model_count = kept;
    return before - kept;
}

/* Few letters, so that keys meet, and each kind of byte. */
static size_t pick_key(uint8_t key[MODEL_KEY], unsigned least)
{
    static const uint8_t letters[] = { 'a', '/', 0, 0xff, 'b', '/' };
    size_t size = least + pick(6);
    for (size_t i = 0; i < size; i++)
        key[i] = letters[pick(sizeof letters)];
    return size;
}

/* An assertion for each item would take longer than all else here. */
struct walk {
    size_t at;
    const uint8_t *directory;
    size_t size;
    bool is_wrong;
};

static void skip_others(struct walk *walk)
{
    while (walk->at < model_count &&
           !model_is_under(&model[walk->at], walk->directory, walk->size))
        walk->at++;
}

static bool follow_model(const struct jd_item *item, void *arg)
{
    struct walk *walk = arg;
    skip_others(walk);
    const struct model_item *wanted = &model[walk->at++];
    walk->is_wrong |=
        walk->at > model_count ||
        !is_equal(item->key, wanted->key, wanted->size) ||
        !is_equal(item->value, wanted->value, strlen(wanted->value));
    return !walk->is_wrong;
}

static void compare_lists(const uint8_t *directory, size_t size)
{
    struct walk walk = { 0, directory, size, false };
    jd__store_list(store, jd__wire_bytes(directory, size), follow_model, &walk);
    skip_others(&walk);
    ck_assert(!walk.is_wrong);
    ck_assert_uint_eq(walk.at, model_count);
}

static void compare_counts(void)
{
    size_t bytes = 0;
    for (size_t i = 0; i < model_count; i++)
        bytes += model[i].size + strlen(model[i].value);
    ck_assert_uint_eq(jd__store_count(store), model_count);
    ck_assert_uint_eq(jd__store_bytes(store), bytes);
}

static void compare_get(const uint8_t *key, size_t size)
{
    bool is_there;
    size_t at = model_find(key, size, &is_there);
    const struct jd_item *item =
        jd__store_get(store, jd__wire_bytes(key, size));
    bool is_right =
        is_there && item &&
        is_equal(item->value, model[at].value, strlen(model[at].value));
    ck_assert(is_there ? is_right : !item);
}

static void change_both(unsigned step)
{
    uint8_t key[MODEL_KEY];
    char value[24];
    bool overwrite = pick(2);
    size_t size = pick_key(key, 1);
    if (pick(12) == 0 || model_count == MODEL_MAX) {
        ck_assert_uint_eq(jd__store_delete(store, jd__wire_bytes(key, size)),
                          model_delete(key, size));
        return;
    }
    snprintf(value, sizeof value, "%.*s%u", (int)pick(4), "vvv", step);
    ck_assert_int_eq(jd__store_set(store, jd__wire_bytes(key, size),
                                   jd__wire_text(value), overwrite),
                     model_set(key, size, value, overwrite));
}

START_TEST(it_does_what_a_sorted_array_does)
{
    uint8_t key[MODEL_KEY];
    seed = (uint64_t)_i + 1;
    model_count = 0;
    for (unsigned step = 0; step < MODEL_STEPS; step++) {
        change_both(step);
        size_t size = pick_key(key, 0);
        compare_get(key, size);
        if (step % 16 == 0) {
            compare_lists(key, size);
            compare_lists(NULL, 0);
            compare_counts();
        }
    }
    ck_assert_uint_gt(model_count, 50);
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("store");
    TCase *keys = unit_case(suite, "keys");
    tcase_add_test(keys, an_empty_store_has_nothing);
    tcase_add_test(keys, what_is_set_is_there);
    tcase_add_test(keys, keys_are_exact);
    tcase_add_test(keys, prefixes_of_one_another_are_keys);
    tcase_add_test(keys, all_bytes_make_keys);
    tcase_add_test(keys, keys_have_1_to_4096_bytes);
    tcase_add_test(keys, no_key_is_too_deep);
    TCase *values = unit_case(suite, "values");
    tcase_add_test(values, a_key_is_overwritten_when_that_is_said);
    tcase_add_test(values, both_are_copied);
    tcase_add_test(values, an_item_may_be_its_own_source);
    TCase *directories = unit_case(suite, "directories");
    tcase_add_test(directories, a_directory_has_what_is_under_it);
    tcase_add_test(directories, the_empty_directory_has_all);
    tcase_add_test(directories,
                   a_key_with_a_slash_at_its_end_is_under_its_directory);
    tcase_add_test(directories, bytes_are_in_the_order_of_their_numbers);
    tcase_add_test(directories, a_list_stops_when_it_is_told_to);
    tcase_add_test(directories, a_directory_can_be_too_long_for_keys);
    tcase_add_test(directories, a_delete_takes_the_key_and_all_under_it);
    tcase_add_test(directories, a_delete_needs_no_key_of_that_name);
    tcase_add_test(directories, a_deleted_key_can_be_set_again);
    TCase *numbers = unit_case(suite, "numbers");
    tcase_add_test(numbers, a_number_is_counted_up_and_down);
    tcase_add_test(numbers, numbers_have_64_bits);
    tcase_add_test(numbers, what_is_no_number_stays_as_it_is);
    tcase_add_test(numbers, an_increment_needs_a_key);
    TCase *random = unit_case(suite, "random");
    tcase_add_loop_test(random, it_does_what_a_sorted_array_does, 0, 4);
    TCase *const cases[] = { keys, values, directories, numbers, random };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tcase_add_checked_fixture(cases[i], create_store, destroy_store);
        tcase_set_timeout(cases[i], 60);
    }
    return suite;
}

int main(void)
{
    return unit_main(make_suite());
}

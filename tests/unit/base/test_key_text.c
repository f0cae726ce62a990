/* SPDX-License-Identifier: BSD-3-Clause */
/* test_key_text.c - keys as sentences show them. */
#include "base/key_text.h"
#include "unit.h"

static void expect(const void *key, size_t size, const char *wanted)
{
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    ck_assert_ptr_nonnull(out);
    jd__key_text_print(out, (ProtobufCBinaryData){ size, (uint8_t *)key });
    fclose(out);
    ck_assert_str_eq(text, wanted);
    ck_assert_uint_eq(length, strlen(wanted));
    free(text);
}

START_TEST(plain_keys_are_quoted)
{
    expect("a/b c~", 6, "\"a/b c~\"");
    expect(NULL, 0, "\"\"");
}
END_TEST

START_TEST(other_bytes_are_escaped)
{
    expect("a\0b\n\x1f\x7f\x80\xff", 8, "\"a\\x00b\\x0a\\x1f\\x7f\\x80\\xff\"");
    expect("a\"b\\c%s", 7, "\"a\\\"b\\\\c%s\"");
}
END_TEST

START_TEST(long_keys_are_cut)
{
    char key[4096], wanted[120];
    memset(key, 'k', sizeof key);
    snprintf(wanted, sizeof wanted, "\"%.80s\"", key);
    expect(key, 80, wanted);
    snprintf(wanted, sizeof wanted, "\"%.80s...\" (81 bytes)", key);
    expect(key, 81, wanted);
    snprintf(wanted, sizeof wanted, "\"%.80s...\" (4096 bytes)", key);
    expect(key, 4096, wanted);
}
END_TEST

START_TEST(the_longest_text_has_room)
{
    uint8_t key[81] = { 0 };
    char text[JD_KEY_TEXT_SIZE];
    ProtobufCBinaryData bytes = { SIZE_MAX, key }; /* 80 are looked at */
    jd__key_text_format(text, bytes);
    ck_assert_uint_lt(strlen(text), sizeof text - 1);
    ck_assert_str_eq(text + 1 + 80 * 4, "...\" (18446744073709551615 bytes)");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("key_text");
    TCase *print = unit_case(suite, "print");
    tcase_add_test(print, plain_keys_are_quoted);
    tcase_add_test(print, other_bytes_are_escaped);
    tcase_add_test(print, long_keys_are_cut);
    tcase_add_test(print, the_longest_text_has_room);
    return unit_main(suite);
}

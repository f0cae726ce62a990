/* SPDX-License-Identifier: BSD-3-Clause */
/* test_print_buffer.c - what is printed by jd's own formatting is what printf
 * prints, and no byte is lost or comes twice where blocks end. */
#include "tests/unit/unit.h"
#include "tools/jd-trace/print_buffer.h"

#include <inttypes.h>
#include <stdlib.h>

static struct print_buffer buffer;
static char *written;
static size_t length;

static void begin(void)
{
    buffer.out = open_memstream(&written, &length);
    ck_assert_ptr_nonnull(buffer.out);
}

static void expect(const char *text)
{
    print_flush(&buffer);
    fclose(buffer.out);
    ck_assert_str_eq(written, text);
    free(written);
}

START_TEST(numbers_are_those_of_printf)
{
    static const uint64_t numbers[] = { 0, 9, 10, 4096, UINT64_MAX };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        char text[32];
        snprintf(text, sizeof text, "%" PRIu64, numbers[i]);
        begin();
        print_number(&buffer, numbers[i]);
        expect(text);
    }
}
END_TEST

START_TEST(numbers_may_have_a_sign)
{
    static const int64_t numbers[] = { 0, -1, 12, INT64_MAX, INT64_MIN };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        char text[32];
        snprintf(text, sizeof text, "%" PRId64, numbers[i]);
        begin();
        print_signed(&buffer, numbers[i]);
        expect(text);
    }
}
END_TEST

START_TEST(microseconds_have_three_decimals)
{
    static const struct {
        int64_t nanoseconds;
        const char *text;
    } cases[] = {
        { 0, "0.000" },
        { 7, "0.007" },
        { 1000, "1.000" },
        { 1234567, "1234.567" },
        { -90, "-0.090" },
        { INT64_MAX, "9223372036854775.807" },
        { INT64_MIN, "-9223372036854775.808" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        begin();
        print_us(&buffer, cases[i].nanoseconds);
        expect(cases[i].text);
    }
}
END_TEST

/* As long as the buffer, and one byte less and more, behind a few. */
START_TEST(texts_of_any_length)
{
    for (size_t size = PRINT_BUFFER_BYTES - 1; size <= PRINT_BUFFER_BYTES + 1;
         size++) {
        char *text = calloc(size + 8, 1);
        ck_assert_ptr_nonnull(text);
        memset(text, 'x', size + 7);
        memcpy(text, "abc", 3);
        memcpy(text + size + 3, "defg", 4);
        begin();
        print_text(&buffer, "abc");
        print_bytes(&buffer, text + 3, size);
        print_text(&buffer, "defg");
        expect(text);
        free(text);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("print_buffer");
    TCase *tcase = unit_case(suite, "texts");
    tcase_add_test(tcase, numbers_are_those_of_printf);
    tcase_add_test(tcase, numbers_may_have_a_sign);
    tcase_add_test(tcase, microseconds_have_three_decimals);
    tcase_add_test(tcase, texts_of_any_length);
    return unit_main(suite);
}

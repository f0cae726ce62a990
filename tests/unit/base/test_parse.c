/* SPDX-License-Identifier: BSD-3-Clause */
/* test_parse.c - text becomes a number wholly or not at all. */
#include "base/parse.h"
#include "tests/unit/unit.h"

#include <limits.h>
#include <stdio.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

START_TEST(integers)
{
    static const struct {
        const char *text;
        long long value;
    } good[] = {
        { "0", 0 },
        { "-7", -7 },
        { "007", 7 },
        { "9223372036854775807", LLONG_MAX },
        { "-9223372036854775808", LLONG_MIN },
    };
    for (size_t i = 0; i < COUNT(good); i++) {
        long long value = 99;
        ck_assert_msg(jd__parse_integer(good[i].text, &value), "%s",
                      good[i].text);
        ck_assert_int_eq(value, good[i].value);
    }
}
END_TEST

START_TEST(what_is_no_integer)
{
    static const char *const bad[] = {
        "",    " 1", "1 ",  "+1",  "1.0", "0x10",
        "1e3", "-",  "--1", "abc", "1,2", "9223372036854775808",
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        long long value = 99;
        ck_assert_msg(!jd__parse_integer(bad[i], &value), "\"%s\"", bad[i]);
        ck_assert_int_eq(value, 99);
    }
}
END_TEST

START_TEST(durations)
{
    static const struct {
        const char *text;
        double seconds;
    } good[] = {
        { "0", 0 },       { "1.5", 1.5 }, { "500ms", 0.5 }, { "100us", 1e-4 },
        { "30s", 30 },    { "5m", 300 },  { "2h", 7200 },   { "-1", -1 },
        { "0.25h", 900 }, { "7.", 7 },
    };
    for (size_t i = 0; i < COUNT(good); i++) {
        double seconds = 99;
        ck_assert_msg(jd__parse_seconds(good[i].text, &seconds), "%s",
                      good[i].text);
        ck_assert_double_eq_tol(seconds, good[i].seconds, 1e-9);
    }
}
END_TEST

START_TEST(what_is_no_duration)
{
    static const char *const bad[] = {
        "",
        "s",
        ".5",
        "1e3",
        "0x10",
        "inf",
        "nan",
        "1 s",
        " 1s",
        "1sec",
        "1d",
        "1M",
        "-",
        "1-",
        "1..5",
        "11111111111111111111111111111111111111111111111111111111111111111",
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        double seconds;
        ck_assert_msg(!jd__parse_seconds(bad[i], &seconds), "\"%s\"", bad[i]);
    }
}
END_TEST

START_TEST(sizes)
{
    static const struct {
        const char *text;
        long long bytes;
    } good[] = {
        { "0", 0 },
        { "65536", 65536 },
        { "512K", 512 << 10 },
        { "512KiB", 512 << 10 },
        { "64M", 64 << 20 },
        { "64MiB", 64 << 20 },
        { "1G", 1 << 30 },
        { "2GiB", 1ll << 31 },
        { "9223372036854775807", LLONG_MAX },
        { "8589934591G", 8589934591ll << 30 },
    };
    for (size_t i = 0; i < COUNT(good); i++) {
        long long bytes = 99;
        ck_assert_msg(jd__parse_bytes(good[i].text, &bytes), "%s",
                      good[i].text);
        ck_assert_int_eq(bytes, good[i].bytes);
    }
}
END_TEST

START_TEST(what_is_no_size)
{
    static const char *const bad[] = {
        "",
        "M",
        "-1",
        "+1",
        " 1",
        "1 M",
        "1MB",
        "1m",
        "1Mi",
        "1T",
        "1.5G",
        "0x10",
        "1KiBs",
        "1e6",
        "64MM",
        "K64",
        "9223372036854775808",
        "8589934592G",
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        long long bytes = 99;
        ck_assert_msg(!jd__parse_bytes(bad[i], &bytes), "\"%s\"", bad[i]);
        ck_assert_int_eq(bytes, 99);
    }
}
END_TEST

START_TEST(booleans)
{
    bool value = false;
    ck_assert(jd__parse_boolean("1", &value) && value);
    ck_assert(jd__parse_boolean("OFF", &value) && !value);
    ck_assert(jd__parse_boolean("Yes", &value) && value);
    ck_assert(jd__parse_boolean("false", &value) && !value);
    ck_assert(!jd__parse_boolean("", &value));
    ck_assert(!jd__parse_boolean("2", &value));
    ck_assert(!jd__parse_boolean("truely", &value));
}
END_TEST

START_TEST(integer_lists)
{
    int *values = NULL;
    size_t count = 0;
    ck_assert(jd__parse_integers("0,2,2147483647", &values, &count));
    ck_assert_uint_eq(count, 3);
    ck_assert_int_eq(values[0], 0);
    ck_assert_int_eq(values[1], 2);
    ck_assert_int_eq(values[2], INT_MAX);
    free(values);
}
END_TEST

START_TEST(what_is_no_integer_list)
{
    static const char *const bad[] = {
        "", ",", "1,", ",1", "1,,2", "1, 2", "-1", "1;2", "2147483648", "a",
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        int *values = NULL;
        size_t count;
        ck_assert_msg(!jd__parse_integers(bad[i], &values, &count), "\"%s\"",
                      bad[i]);
        ck_assert_ptr_null(values);
    }
}
END_TEST

START_TEST(addresses)
{
    static const struct {
        const char *text;
        size_t host_length;
        int port;
    } good[] = {
        { "host:1", 4, 1 },
        { "10.0.0.1:65535", 8, 65535 },
        { "[::1]:1234", 5, 1234 },
        { "[2001:db8::1]:80", 13, 80 },
        { "a-b.example.org:8482", 15, 8482 },
    };
    for (size_t i = 0; i < COUNT(good); i++) {
        size_t length = 0;
        int port = 0;
        ck_assert_msg(jd__parse_address(good[i].text, &length, &port), "%s",
                      good[i].text);
        ck_assert_uint_eq(length, good[i].host_length);
        ck_assert_int_eq(port, good[i].port);
    }
    ck_assert(jd__parse_address("host:1", NULL, NULL));
}
END_TEST

START_TEST(what_is_no_address)
{
    static const char *const bad[] = {
        "",         "host",    ":1",         "host:",
        "host:0",   "host:-1", "host:65536", "host:http",
        "::1:1234", "[::1]",   "[::1:5",     "[]:5",
        "[host]:5", "a b:5",   "a/b:5",      "tcp://10.0.0.1:80",
        "[::1]x:5", "a,b:5",   "host:1 ",
    };
    for (size_t i = 0; i < COUNT(bad); i++)
        ck_assert_msg(!jd__parse_address(bad[i], NULL, NULL), "\"%s\"", bad[i]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("parse");
    TCase *numbers = unit_case(suite, "numbers");
    tcase_add_test(numbers, integers);
    tcase_add_test(numbers, what_is_no_integer);
    tcase_add_test(numbers, durations);
    tcase_add_test(numbers, what_is_no_duration);
    tcase_add_test(numbers, sizes);
    tcase_add_test(numbers, what_is_no_size);
    tcase_add_test(numbers, booleans);
    tcase_add_test(numbers, integer_lists);
    tcase_add_test(numbers, what_is_no_integer_list);
    TCase *texts = unit_case(suite, "addresses");
    tcase_add_test(texts, addresses);
    tcase_add_test(texts, what_is_no_address);
    return unit_main(suite);
}

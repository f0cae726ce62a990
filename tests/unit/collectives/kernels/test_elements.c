/* SPDX-License-Identifier: BSD-3-Clause */
/* test_elements.c - single elements compared and printed. */
#include "collectives/kernels/elements.h"
#include "tests/unit/unit.h"

#include <math.h>
#include <stdint.h>

static void expect_print(jd_dtype dtype, const void *element,
                         const char *wanted)
{
    char text[96];
    jd__element_print(dtype, element, text, sizeof text);
    ck_assert_str_eq(text, wanted);
}

static void expect_bits(jd_dtype dtype, uint64_t bits, const char *wanted)
{
    unsigned char element[8];
    memcpy(element, &bits, sizeof element);
    expect_print(dtype, element, wanted);
}

START_TEST(integers_are_printed_with_their_sign)
{
    expect_bits(JD_S8, 0x80, "-128");
    expect_bits(JD_U8, 0x80, "128");
    expect_bits(JD_S16, 0xffff, "-1");
    expect_bits(JD_U16, 0xffff, "65535");
    expect_bits(JD_S32, 0x80000000, "-2147483648");
    expect_bits(JD_U32, 0x80000000, "2147483648");
    expect_bits(JD_S64, UINT64_MAX, "-1");
    expect_bits(JD_S64, INT64_MAX, "9223372036854775807");
    expect_bits(JD_U64, UINT64_MAX, "18446744073709551615");
    expect_bits(JD_PRED, 1, "true");
    expect_bits(JD_PRED, 0, "false");
}
END_TEST

START_TEST(floats_are_printed_with_all_their_digits)
{
    double tenth = 0.1, third = 1.0 / 3, bad = -NAN, big = -INFINITY;
    float tenth_32 = 0.1f, third_32 = 1.0f / 3;
    double complex_128[2] = { 1, -0.5 };
    float complex_64[2] = { -0.1f, 2 };
    expect_print(JD_F64, &tenth, "0.1");
    expect_print(JD_F64, &third, "0.3333333333333333");
    expect_print(JD_F32, &tenth_32, "0.1");
    expect_print(JD_F32, &third_32, "0.33333334");
    expect_print(JD_F64, &big, "-inf");
    expect_print(JD_C128, complex_128, "1-0.5i");
    expect_print(JD_C64, complex_64, "-0.1+2i");
    bad = fabs(bad);
    expect_print(JD_F64, &bad, "nan");
}
END_TEST

START_TEST(small_floats_are_decoded)
{
    expect_bits(JD_F16, 0x3c00, "1");
    expect_bits(JD_F16, 0xc100, "-2.5");
    expect_bits(JD_F16, 0x7bff, "65504");
    expect_bits(JD_F16, 0x0001, "5.9604645e-08"); /* 2^-24 */
    expect_bits(JD_F16, 0x7c00, "inf");
    expect_bits(JD_F16, 0x7e00, "nan");
    expect_bits(JD_BF16, 0x3f80, "1");
    expect_bits(JD_BF16, 0xc040, "-3");
    expect_bits(JD_BF16, 0xff80, "-inf");
    expect_bits(JD_F8E5M2, 0x3c, "1");
    expect_bits(JD_F8E5M2, 0x7b, "57344");
    expect_bits(JD_F8E5M2, 0x7c, "inf");
    expect_bits(JD_F8E5M2, 0x01, "1.5258789e-05"); /* 2^-16 */
    expect_bits(JD_F8E4M3FN, 0x38, "1");
    expect_bits(JD_F8E4M3FN, 0x7e, "448");
    expect_bits(JD_F8E4M3FN, 0x7f, "nan");
    expect_bits(JD_F8E4M3FN, 0x01, "0.001953125"); /* 2^-9 */
    expect_bits(JD_F8E4M3FN, 0x80, "-0");
}
END_TEST

static bool equal_bits(jd_dtype dtype, uint64_t a, uint64_t b)
{
    return jd__element_equal(dtype, &a, &b);
}

START_TEST(zeros_and_nans_are_equal)
{
    double zero[2] = { 0.0, -0.0 }, other[2] = { -0.0, 0.0 };
    double nan_and_one[2] = { NAN, 1 }, nan_and_two[2] = { NAN, 2 };
    ck_assert(jd__element_equal(JD_F64, &zero[0], &zero[1]));
    ck_assert(jd__element_equal(JD_C128, zero, other));
    ck_assert(equal_bits(JD_F32, 0x7fc00000, 0xffa00001));
    ck_assert(equal_bits(JD_F16, 0x8000, 0));
    ck_assert(equal_bits(JD_BF16, 0x7fc0, 0xff81));
    ck_assert(equal_bits(JD_F8E4M3FN, 0x7f, 0xff));
    ck_assert(equal_bits(JD_F8E5M2, 0x80, 0));
    ck_assert(!jd__element_equal(JD_C128, nan_and_one, nan_and_two));
    ck_assert(!equal_bits(JD_F8E4M3FN, 0x7e, 0xfe));
    ck_assert(!equal_bits(JD_F32, 0x7fc00000, 0x7f800000));
}
END_TEST

START_TEST(integers_are_equal_by_their_bits)
{
    ck_assert(!equal_bits(JD_S8, 0x80, 0));
    ck_assert(equal_bits(JD_S8, 0x180, 0x80)); /* one byte of it */
    ck_assert(!equal_bits(JD_PRED, 1, 0));
    ck_assert(!equal_bits(JD_U64, UINT64_MAX, UINT64_MAX - 1));
}
END_TEST

static bool close_doubles(double a, double b, double absolute, double relative)
{
    return jd__element_close(JD_F64, &a, &b, absolute, relative);
}

START_TEST(close_is_relative_to_the_second)
{
    ck_assert(close_doubles(1.5, 1, 0.5, 0));
    ck_assert(!close_doubles(1.5, 1, 0.4999, 0));
    ck_assert(close_doubles(8, 10, 0, 0.2));
    ck_assert(!close_doubles(10, 8, 0, 0.2));
    ck_assert(close_doubles(10, 8, 0.4, 0.2));
    ck_assert(close_doubles(-8, -10, 0, 0.2));
    ck_assert(!close_doubles(1e308, -1e308, 1, 1));
    ck_assert(close_doubles(1e308, -1e308, 0, 2));
}
END_TEST

START_TEST(infinities_and_nans_are_close_to_themselves)
{
    ck_assert(close_doubles(INFINITY, INFINITY, 1, 1));
    ck_assert(!close_doubles(INFINITY, -INFINITY, 1, 1));
    ck_assert(!close_doubles(1, INFINITY, 1, 1));
    ck_assert(!close_doubles(INFINITY, 1, 1, 1));
    ck_assert(close_doubles(NAN, -NAN, 1, 1));
    ck_assert(!close_doubles(NAN, 1, 1, 1));
    ck_assert(!close_doubles(1, NAN, 1, 1));
}
END_TEST

START_TEST(a_tolerance_is_for_floating_types_alone)
{
    float a[2] = { 3, 4 }, b[2] = { 3, 4.5f };
    ck_assert(jd__element_close(JD_C64, a, b, 0.5, 0));
    ck_assert(!jd__element_close(JD_C64, a, b, 0.25, 0));
    ck_assert(jd__element_close(JD_C64, a, b, 0, 0.1)); /* |b| is 5.4 */
    ck_assert(jd__element_close(JD_F16, &(uint16_t){ 0x3c00 },
                                &(uint16_t){ 0x3c01 }, 0, 1e-3));
    ck_assert(
        !jd__element_close(JD_S32, &(int32_t){ 5 }, &(int32_t){ 6 }, 9, 9));
    ck_assert(
        jd__element_close(JD_S32, &(int32_t){ 5 }, &(int32_t){ 5 }, 0, 0));
    ck_assert(!jd__element_close(JD_PRED, &(char){ 1 }, &(char){ 0 }, 9, 9));
}
END_TEST

START_TEST(nans_are_seen)
{
    float complex_64[2] = { 1, NAN };
    ck_assert(jd__element_has_nan(JD_C64, complex_64));
    ck_assert(!jd__element_has_nan(JD_F32, complex_64));
    ck_assert(jd__element_has_nan(JD_F8E4M3FN, &(uint8_t){ 0xff }));
    ck_assert(!jd__element_has_nan(JD_F8E5M2, &(uint8_t){ 0x7c }));
    ck_assert(!jd__element_has_nan(JD_U8, &(uint8_t){ 0xff }));
    ck_assert(jd__element_can_be_nan(JD_BF16));
    ck_assert(!jd__element_can_be_nan(JD_PRED));
}
END_TEST

static void expect_print_bits(jd_dtype dtype, const void *element,
                              const char *wanted)
{
    char text[96];
    jd__element_print_bits(dtype, element, text, sizeof text);
    ck_assert_str_eq(text, wanted);
}

START_TEST(bits_are_printed_with_all_their_zeros)
{
    float complex_64[2] = { 1e-40f, -0.0f };
    expect_print_bits(JD_F16, &(uint16_t){ 0x7e01 }, "0x7e01");
    expect_print_bits(JD_F8E5M2, &(uint8_t){ 1 }, "0x01");
    expect_print_bits(JD_F64, &(uint64_t){ 1 }, "0x0000000000000001");
    expect_print_bits(JD_C64, complex_64, "0x000116c2,0x80000000");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("elements");
    TCase *print = unit_case(suite, "print");
    tcase_add_test(print, integers_are_printed_with_their_sign);
    tcase_add_test(print, floats_are_printed_with_all_their_digits);
    tcase_add_test(print, small_floats_are_decoded);
    tcase_add_test(print, bits_are_printed_with_all_their_zeros);
    TCase *equal = unit_case(suite, "equal");
    tcase_add_test(equal, zeros_and_nans_are_equal);
    tcase_add_test(equal, integers_are_equal_by_their_bits);
    tcase_add_test(equal, nans_are_seen);
    TCase *near = unit_case(suite, "close");
    tcase_add_test(near, close_is_relative_to_the_second);
    tcase_add_test(near, infinities_and_nans_are_close_to_themselves);
    tcase_add_test(near, a_tolerance_is_for_floating_types_alone);
    return unit_main(suite);
}

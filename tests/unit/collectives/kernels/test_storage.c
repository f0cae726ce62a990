/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_storage.c - the types that are kept and moved alone: their codes as
 * numbers, and conversions. What the numbers are is said here once more, by
 * each format's rule; ml_dtypes 0.6.0 gives the same.
 */
#include "collectives/kernels/fold.h"
#include "collectives/kernels/storage.h"
#include "tests/unit/unit.h"

#include <float.h>
#include <math.h>

static const struct format {
    jd_dtype dtype;
    int exponent_bits, mantissa_bits, bias;
    int finite; /* codes of numbers that are not negative */
    double least, most, one;
    int code_of_one, infinity, nan;
} formats[] = {
    { JD_F8E4M3B11FNUZ, 4, 3, 11, 128, 0x1p-13, 30, 1, 0x58, -1, 0x80 },
    { JD_F8E5M2FNUZ, 5, 2, 16, 128, 0x1p-17, 57344, 1, 0x40, -1, 0x80 },
    { JD_F8E4M3FNUZ, 4, 3, 8, 128, 0x1p-10, 240, 1, 0x40, -1, 0x80 },
    { JD_F8E4M3, 4, 3, 7, 120, 0x1p-9, 240, 1, 0x38, 0x78, 0x7c },
    { JD_F8E3M4, 3, 4, 3, 112, 0x1p-6, 15.5, 1, 0x30, 0x70, 0x78 },
};
enum { NUM_FORMATS = sizeof formats / sizeof *formats };

static double number_of(const struct format *f, int code)
{
    int exponent = code >> f->mantissa_bits;
    double part =
        ldexp(code & ((1 << f->mantissa_bits) - 1), -f->mantissa_bits);
    return exponent ? ldexp(1 + part, exponent - f->bias)
                    : ldexp(part, 1 - f->bias);
}

START_TEST(each_code_is_its_number)
{
    const struct format *f = &formats[_i];
    ck_assert(jd__storage_is(f->dtype));
    for (int code = 0; code < f->finite; code++) {
        double number = number_of(f, code);
        ck_assert_double_eq(jd__storage_read(f->dtype, (uint8_t)code), number);
        ck_assert_int_eq(jd__storage_write(f->dtype, number), code);
        if (code == 0)
            continue;
        ck_assert_double_eq(jd__storage_read(f->dtype, (uint8_t)(code | 0x80)),
                            -number);
        ck_assert_int_eq(jd__storage_write(f->dtype, -number), code | 0x80);
    }
    ck_assert_double_eq(number_of(f, 1), f->least);
    ck_assert_double_eq(number_of(f, f->finite - 1), f->most);
    ck_assert_int_eq(jd__storage_write(f->dtype, f->one), f->code_of_one);
}
END_TEST

/* A sign is kept but of a NaN's, and of a 0's where -0 is none. */
START_TEST(what_is_no_number)
{
    const struct format *f = &formats[_i];
    bool has_infinity = f->infinity >= 0;
    int beyond = has_infinity ? f->infinity : f->nan;
    static const double large[] = { 1e6, 1e300, (double)INFINITY };
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(jd__storage_write(f->dtype, large[i]), beyond);
        ck_assert_int_eq(jd__storage_write(f->dtype, -large[i]),
                         has_infinity ? beyond | 0x80 : beyond);
    }
    ck_assert_int_eq(jd__storage_write(f->dtype, (double)NAN), f->nan);
    ck_assert_int_eq(jd__storage_write(f->dtype, -(double)NAN), f->nan);
    ck_assert_int_eq(jd__storage_write(f->dtype, -0.0),
                     has_infinity ? 0x80 : 0);
    ck_assert(isnan(jd__storage_read(f->dtype, (uint8_t)f->nan)));
    for (int code = f->finite; code < 128; code++)
        ck_assert(code == f->infinity
                      ? isinf(jd__storage_read(f->dtype, (uint8_t)code))
                      : isnan(jd__storage_read(f->dtype, (uint8_t)code)));
}
END_TEST

/* Of the two next numbers the nearer, of two equally near the one whose code is
 * even. */
START_TEST(numbers_between_are_rounded)
{
    const struct format *f = &formats[_i];
    for (int code = 0; code < f->finite; code++) {
        double low = number_of(f, code), high = number_of(f, code + 1);
        double middle = low + (high - low) / 2;
        int even = code % 2 ? code + 1 : code;
        int next = code + 1;
        if (next == f->finite && f->infinity < 0)
            next = even = f->nan; /* 0x7f is odd: the middle goes beyond */
        ck_assert_int_eq(jd__storage_write(f->dtype, middle), even);
        ck_assert_int_eq(jd__storage_write(f->dtype, nextafter(middle, 0)),
                         code);
        ck_assert_int_eq(jd__storage_write(f->dtype, nextafter(middle, high)),
                         next);
    }
}
END_TEST

START_TEST(powers_of_two_alone)
{
    const jd_dtype dtype = JD_F8E8M0FNU;
    for (int code = 0; code < 255; code++) {
        double number = ldexp(1, code - 127);
        ck_assert_double_eq(jd__storage_read(dtype, (uint8_t)code), number);
        ck_assert_int_eq(jd__storage_write(dtype, number), code);
        ck_assert_int_eq(jd__storage_write(dtype, 1.5 * number), code + 1);
        ck_assert_int_eq(jd__storage_write(dtype, nextafter(1.5 * number, 0)),
                         code);
    }
    ck_assert(isnan(jd__storage_read(dtype, 255)));
    static const double none[] = {
        0, -0.0, -1, (double)INFINITY, -(double)INFINITY, (double)NAN, 0x1p128
    };
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        ck_assert_int_eq(jd__storage_write(dtype, none[i]), 255);
    ck_assert_int_eq(jd__storage_write(dtype, 0x1p-140), 0);
    ck_assert_int_eq(jd__storage_write(dtype, DBL_MIN), 0);
}
END_TEST

START_TEST(four_bits_are_integers)
{
    static const double numbers[] = { -9,  -8,   -7.9,  -0.9,       0,
                                      0.9, 7,    7.9,   8,          15,
                                      16,  1e30, -1e30, (double)NAN };
    static const int of_s4[] = { 8, 8, 9, 0, 0, 0, 7, 7, 7, 7, 7, 7, 8, 0 };
    static const int of_u4[] = { 0, 0, 0, 0, 0, 0, 7, 7, 8, 15, 15, 15, 0, 0 };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        ck_assert_int_eq(jd__storage_write(JD_S4, numbers[i]), of_s4[i]);
        ck_assert_int_eq(jd__storage_write(JD_U4, numbers[i]), of_u4[i]);
    }
    for (int code = 0; code < 256; code++) { /* the high bits are not read */
        int low = code & 15;
        ck_assert_double_eq(jd__storage_read(JD_U4, (uint8_t)code), low);
        ck_assert_double_eq(jd__storage_read(JD_S4, (uint8_t)code),
                            low < 8 ? low : low - 16);
    }
}
END_TEST

/* ---- jd_convert --------------------------------------------------------- */

static const jd_dtype kept[] = {
#define ROW(name, number, size) JD_##name,
    JD_STORAGE_DTYPE_MAP(ROW)
};
static const jd_dtype others[] = { JD_DTYPE_MAP(ROW) };
#undef ROW
enum {
    NUM_KEPT = sizeof kept / sizeof *kept,
    NUM_OTHERS = sizeof others / sizeof *others,
};

/* Small numbers that every type has, by every way from one type to another. */
START_TEST(every_type_goes_there_and_back)
{
    enum { COUNT = 1200 }; /* more than one block */
    static double numbers[COUNT], back[COUNT];
    static unsigned char there[16 * COUNT], codes[COUNT];
    for (int i = 0; i < COUNT; i++)
        numbers[i] = 1 << i % 3;
    for (int k = 0; k < NUM_KEPT; k++)
        for (int o = 0; o < NUM_OTHERS + NUM_KEPT; o++) {
            jd_dtype other = o < NUM_OTHERS ? others[o] : kept[o - NUM_OTHERS];
            UNIT_OK(jd_convert(numbers, JD_F64, there, other, COUNT));
            UNIT_OK(jd_convert(there, other, codes, kept[k], COUNT));
            UNIT_OK(jd_convert(codes, kept[k], there, other, COUNT));
            UNIT_OK(jd_convert(there, other, back, JD_F64, COUNT));
            for (int i = 0; i < COUNT; i++)
                ck_assert_msg(back[i] == (other == JD_PRED ? 1 : numbers[i]),
                              "%s and %s: %g, not %g", jd_dtype_name(kept[k]),
                              jd_dtype_name(other), back[i], numbers[i]);
        }
}
END_TEST

/* Between integers the low bits, as a cast in C has them. */
START_TEST(integers_keep_their_low_bits)
{
    const int32_t wide[] = { -1, -8, -9, 7, 8, 255, 1 << 20, 0x12345 };
    uint8_t codes[8], unsigned_codes[8];
    UNIT_OK(jd_convert(wide, JD_S32, codes, JD_S4, 8));
    UNIT_OK(jd_convert(wide, JD_S32, unsigned_codes, JD_U4, 8));
    for (int i = 0; i < 8; i++) {
        ck_assert_int_eq(codes[i], wide[i] & 15);
        ck_assert_int_eq(unsigned_codes[i], wide[i] & 15);
    }
    uint64_t unsigned_wide[2];
    UNIT_OK(jd_convert(codes, JD_S4, unsigned_wide, JD_U64, 2));
    ck_assert_uint_eq(unsigned_wide[0], UINT64_MAX);
    UNIT_OK(jd_convert(codes, JD_S4, unsigned_codes, JD_U4, 2));
    ck_assert_int_eq(unsigned_codes[0], 15);
    ck_assert_int_eq(unsigned_codes[1], 8);
}
END_TEST

/* 2^60 and its half, but for one: by way of an F64 alone that would be 2^61. */
START_TEST(long_integers_are_rounded_once)
{
    const int64_t below = (INT64_C(3) << 59) - 1, middle = INT64_C(3) << 59;
    const int64_t wide[] = { below, middle };
    uint8_t codes[2];
    UNIT_OK(jd_convert(wide, JD_S64, codes, JD_F8E8M0FNU, 2));
    ck_assert_int_eq(codes[0], 127 + 60);
    ck_assert_int_eq(codes[1], 127 + 61);
}
END_TEST

START_TEST(nothing_folds_them)
{
    for (int k = 0; k < NUM_KEPT; k++)
        for (int op = 0; op < JD_REDUCE_COUNT; op++)
            ck_assert(
                !jd__fold_find(kept[k], (enum jd_reduce)op, JD_FOLD_WHOLE));
    for (int o = 0; o < NUM_OTHERS; o++)
        ck_assert(!jd__storage_is(others[o]));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("storage");
    TCase *codes = unit_case(suite, "codes");
    tcase_add_loop_test(codes, each_code_is_its_number, 0, NUM_FORMATS);
    tcase_add_loop_test(codes, what_is_no_number, 0, NUM_FORMATS);
    tcase_add_loop_test(codes, numbers_between_are_rounded, 0, NUM_FORMATS);
    tcase_add_test(codes, powers_of_two_alone);
    tcase_add_test(codes, four_bits_are_integers);
    TCase *converted = unit_case(suite, "converted");
    tcase_add_test(converted, every_type_goes_there_and_back);
    tcase_add_test(converted, integers_keep_their_low_bits);
    tcase_add_test(converted, long_integers_are_rounded_once);
    tcase_add_test(converted, nothing_folds_them);
    return unit_main(suite);
}

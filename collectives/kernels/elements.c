/* SPDX-License-Identifier: BSD-3-Clause */
/* elements.c - single elements of any type, compared and printed. */
#include "collectives/kernels/elements.h"
#include "collectives/kernels/storage.h"

#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static uint64_t read_bits(const void *element, size_t size)
{
    uint8_t b1;
    uint16_t b2;
    uint32_t b4;
    uint64_t b8;
    switch (size) {
    case 1:
        memcpy(&b1, element, 1);
        return b1;
    case 2:
        memcpy(&b2, element, 2);
        return b2;
    case 4:
        memcpy(&b4, element, 4);
        return b4;
    default:
        memcpy(&b8, element, 8);
        return b8;
    }
}

/* A small float: sign, exponent and mantissa of these widths. Those without
 * infinities (F8E4M3FN) have a NaN as their largest number only. */
static double read_small(uint64_t bits, int exponent_width, int mantissa_width,
                         bool has_infinity)
{
    int bias = (1 << (exponent_width - 1)) - 1;
    int top = (1 << exponent_width) - 1;
    int mantissa_mask = (1 << mantissa_width) - 1;
    int mantissa = (int)bits & mantissa_mask;
    int exponent = (int)(bits >> mantissa_width) & top;
    double sign = bits >> (exponent_width + mantissa_width) & 1 ? -1 : 1;
    double value =
        ldexp(mantissa + mantissa_mask + 1, exponent - bias - mantissa_width);
    if (exponent == 0)
        value = ldexp(mantissa, 1 - bias - mantissa_width);
    else if (exponent == top && has_infinity)
        value = mantissa ? NAN : INFINITY;
    else if (exponent == top && mantissa == mantissa_mask)
        value = NAN;
    return sign * value;
}

static double read_real(jd_dtype dtype, const void *element)
{
    float single;
    double value;
    switch (dtype) {
    case JD_F16:
        return read_small(read_bits(element, 2), 5, 10, true);
    case JD_BF16:
        return read_small(read_bits(element, 2), 8, 7, true);
    case JD_F8E5M2:
        return read_small(read_bits(element, 1), 5, 2, true);
    case JD_F8E4M3FN:
        return read_small(read_bits(element, 1), 4, 3, false);
    case JD_F32:
    case JD_C64:
        memcpy(&single, element, sizeof single);
        return (double)single;
    default:
        if (jd__storage_is(dtype))
            return jd__storage_read(dtype, *(const uint8_t *)element);
        memcpy(&value, element, sizeof value);
        return value;
    }
}

enum family {
    FAMILY_PRED,
    FAMILY_SIGNED,
    FAMILY_UNSIGNED,
    FAMILY_REAL,
    FAMILY_COMPLEX,
};

static enum family family_of(jd_dtype dtype)
{
    switch (dtype) {
    case JD_PRED:
        return FAMILY_PRED;
    case JD_S8:
    case JD_S16:
    case JD_S32:
    case JD_S64:
        return FAMILY_SIGNED;
    case JD_U8:
    case JD_U16:
    case JD_U32:
    case JD_U64:
        return FAMILY_UNSIGNED;
    case JD_C64:
    case JD_C128:
        return FAMILY_COMPLEX;
    default:
        return FAMILY_REAL;
    }
}

bool jd__element_can_be_nan(jd_dtype dtype)
{
    enum family family = family_of(dtype);
    return family == FAMILY_REAL || family == FAMILY_COMPLEX;
}

static bool reals_equal(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

static const void *imaginary_part(jd_dtype dtype, const void *element)
{
    return (const char *)element + jd_dtype_size(dtype) / 2;
}

bool jd__element_equal(jd_dtype dtype, const void *a, const void *b)
{
    if (memcmp(a, b, jd_dtype_size(dtype)) == 0)
        return true;
    if (!jd__element_can_be_nan(dtype))
        return false;
    if (!reals_equal(read_real(dtype, a), read_real(dtype, b)))
        return false;
    return family_of(dtype) == FAMILY_REAL ||
           reals_equal(read_real(dtype, imaginary_part(dtype, a)),
                       read_real(dtype, imaginary_part(dtype, b)));
}

/* Of a real one: itself, and 0. */
struct parts {
    double real;
    double imaginary;
};

static struct parts read_parts(jd_dtype dtype, const void *element)
{
    struct parts parts = { .real = read_real(dtype, element) };
    if (family_of(dtype) == FAMILY_COMPLEX)
        parts.imaginary = read_real(dtype, imaginary_part(dtype, element));
    return parts;
}

bool jd__element_has_nan(jd_dtype dtype, const void *element)
{
    if (!jd__element_can_be_nan(dtype))
        return false;
    struct parts parts = read_parts(dtype, element);
    return isnan(parts.real) || isnan(parts.imaginary);
}

bool jd__element_close(jd_dtype dtype, const void *a, const void *b,
                       double absolute, double relative)
{
    if (jd__element_equal(dtype, a, b))
        return true;
    if (!jd__element_can_be_nan(dtype))
        return false;
    struct parts x = read_parts(dtype, a), y = read_parts(dtype, b);
    double magnitude = hypot(y.real, y.imaginary);
    double apart = hypot(x.real - y.real, x.imaginary - y.imaginary);
    /* Infinities of a make apart one, or a NaN, by themselves. */
    return isfinite(y.real) && isfinite(y.imaginary) &&
           apart <= absolute + relative * magnitude;
}

/* The bits as a number with a sign. */
static int64_t read_signed(const void *element, size_t size)
{
    unsigned unused = 64 - 8 * (unsigned)size;
    uint64_t shifted = read_bits(element, size) << unused;
    int64_t value;
    memcpy(&value, &shifted, sizeof value);
    return value / (INT64_C(1) << unused);
}

/* The fewest digits that are read back as the same double, or float. */
static void print_real(jd_dtype dtype, const void *element, char *text,
                       size_t size)
{
    double value = read_real(dtype, element);
    bool is_double = dtype == JD_F64 || dtype == JD_C128;
    for (int digits = is_double ? 15 : 6;; digits++) {
        snprintf(text, size, "%.*g", digits, value);
        double back = 0;
        if (sscanf(text, "%lf", &back) != 1 || digits >= 17 ||
            (is_double ? back == value : (float)back == (float)value))
            return;
    }
}

static void print_complex(jd_dtype dtype, const void *element, char *text,
                          size_t size)
{
    char real[32], other[32];
    print_real(dtype, element, real, sizeof real);
    print_real(dtype, imaginary_part(dtype, element), other, sizeof other);
    snprintf(text, size, "%s%s%si", real, other[0] == '-' ? "" : "+", other);
}

void jd__element_print(jd_dtype dtype, const void *element, char *text,
                       size_t size)
{
    size_t bytes = jd_dtype_size(dtype);
    switch (family_of(dtype)) {
    case FAMILY_PRED:
        snprintf(text, size, "%s", read_bits(element, 1) ? "true" : "false");
        break;
    case FAMILY_SIGNED:
        snprintf(text, size, "%" PRId64, read_signed(element, bytes));
        break;
    case FAMILY_UNSIGNED:
        snprintf(text, size, "%" PRIu64, read_bits(element, bytes));
        break;
    case FAMILY_REAL:
        print_real(dtype, element, text, size);
        break;
    case FAMILY_COMPLEX:
        print_complex(dtype, element, text, size);
        break;
    }
}

void jd__element_print_bits(jd_dtype dtype, const void *element, char *text,
                            size_t size)
{
    bool is_complex = family_of(dtype) == FAMILY_COMPLEX;
    size_t bytes = jd_dtype_size(dtype) / (is_complex ? 2 : 1);
    int digits = 2 * (int)bytes;
    int used =
        snprintf(text, size, "0x%0*" PRIx64, digits, read_bits(element, bytes));
    if (is_complex && used > 0 && (size_t)used < size)
        snprintf(text + used, size - (size_t)used, ",0x%0*" PRIx64, digits,
                 read_bits(imaginary_part(dtype, element), bytes));
}

void jd__element_print_apart(jd_dtype dtype, const void *a, char *a_text,
                             const void *b, char *b_text, size_t size)
{
    jd__element_print(dtype, a, a_text, size);
    jd__element_print(dtype, b, b_text, size);
    if (strcmp(a_text, b_text) == 0 && memcmp(a, b, jd_dtype_size(dtype))) {
        jd__element_print_bits(dtype, a, a_text, size);
        jd__element_print_bits(dtype, b, b_text, size);
    }
}

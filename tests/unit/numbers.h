/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * numbers.h - the floating types of 8 and 16 bits by their definition, slowly:
 * what the library's arithmetic on bits is held against.
 *
 *     double x = number_decode(JD_F16, 0x3c00);
 *     unsigned code = number_encode(JD_F16, 1.0L);
 */
#ifndef TESTS_UNIT_NUMBERS_H
#define TESTS_UNIT_NUMBERS_H

#include "jd_dtype.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

struct number_layout {
    int bits, mantissa, bias;
    unsigned last; /* the code of the largest finite number */
    unsigned nan;
};

static inline struct number_layout number_layout(jd_dtype dtype)
{
    switch ((int)dtype) {
    case JD_F16:
        return (struct number_layout){ 16, 10, 15, 0x7bff, 0x7e00 };
    case JD_BF16:
        return (struct number_layout){ 16, 7, 127, 0x7f7f, 0x7fc0 };
    case JD_F8E5M2:
        return (struct number_layout){ 8, 2, 15, 0x7b, 0x7e };
    default: /* F8E4M3FN */
        return (struct number_layout){ 8, 3, 7, 0x7e, 0x7f };
    }
}

/* The value of a code without sign, as if there were no infinity and NaN. */
static inline double number_value(struct number_layout layout, unsigned code)
{
    int exponent = (int)(code >> layout.mantissa);
    int mantissa = (int)(code & ((1u << layout.mantissa) - 1));
    if (exponent == 0)
        exponent = 1;
    else
        mantissa += 1 << layout.mantissa;
    return ldexp(mantissa, exponent - layout.bias - layout.mantissa);
}

static inline double number_decode(jd_dtype dtype, unsigned code)
{
    struct number_layout layout = number_layout(dtype);
    unsigned magnitude = code & ((1u << (layout.bits - 1)) - 1);
    double x = number_value(layout, magnitude);
    if (magnitude > layout.last)
        x = magnitude == layout.last + 1 && dtype != JD_F8E4M3FN ? INFINITY
                                                                 : NAN;
    return code >> (layout.bits - 1) ? -x : x;
}

/* The values of all codes without sign, made at the first use. */
static inline const double *number_values(jd_dtype dtype)
{
    static double values[JD_F8E4M3FN + 1][1 << 15];
    double *of_type = values[dtype];
    struct number_layout layout = number_layout(dtype);
    for (unsigned i = 1; of_type[1] == 0 && i >> (layout.bits - 1) == 0; i++)
        of_type[(1u << (layout.bits - 1)) - i] =
            number_value(layout, (1u << (layout.bits - 1)) - i);
    return of_type;
}

/* The nearest code: of two equally near the even one. What is nearer to the
 * code after the last finite one has that: infinity, or F8E4M3FN's NaN. */
static inline unsigned number_encode(jd_dtype dtype, long double x)
{
    struct number_layout layout = number_layout(dtype);
    const double *values = number_values(dtype);
    if (isnan(x))
        return layout.nan;
    long double magnitude = fabsl(x);
    unsigned low = 0, high = layout.last + 1;
    while (low + 1 < high) { /* value(low) <= magnitude, high is not */
        unsigned middle = (low + high) / 2;
        if (values[middle] <= magnitude)
            low = middle;
        else
            high = middle;
    }
    long double between = ((long double)values[low] + values[high]) / 2;
    bool up = high % 2 == 0 ? magnitude >= between : magnitude > between;
    unsigned code = up ? high : low;
    if (code == layout.nan)
        return code;
    return signbit(x) ? code | 1u << (layout.bits - 1) : code;
}

#endif

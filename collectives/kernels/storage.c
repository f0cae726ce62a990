/* SPDX-License-Identifier: BSD-3-Clause */
/* storage.c - codes of the types that are kept and moved alone, as numbers. */
#include "collectives/kernels/storage.h"

#include <math.h>
#include <stddef.h>

/* A float of a byte. Codes are in the order of the numbers, up to the last
 * finite one; a sign is the top bit. */
struct format {
    jd_dtype dtype;
    int mantissa; /* bits */
    int bias;
    uint8_t last;   /* the largest number */
    uint8_t beyond; /* what is larger: an infinity, or a NaN */
    uint8_t nan;
    bool is_plain; /* no sign, no zero and no numbers below the first power */
};

static const struct format formats[] = {
    { JD_F8E4M3B11FNUZ, 3, 11, 0x7f, 0x80, 0x80, false },
    { JD_F8E5M2FNUZ, 2, 16, 0x7f, 0x80, 0x80, false },
    { JD_F8E4M3FNUZ, 3, 8, 0x7f, 0x80, 0x80, false },
    { JD_F8E4M3, 3, 7, 0x77, 0x78, 0x7c, false },
    { JD_F8E3M4, 4, 3, 0x6f, 0x70, 0x78, false },
    { JD_F8E8M0FNU, 0, 127, 0xfe, 0xff, 0xff, true },
};

enum { SIGN = 0x80, LOW = 0xf };

static const struct format *find_format(jd_dtype dtype)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (formats[i].dtype == dtype)
            return &formats[i];
    return NULL;
}

bool jd__storage_is_integer(jd_dtype dtype)
{
    return dtype == JD_S4 || dtype == JD_U4;
}

bool jd__storage_is(jd_dtype dtype)
{
    return jd__storage_is_integer(dtype) || find_format(dtype);
}

/* ---- reading ------------------------------------------------------------ */

static double read_magnitude(const struct format *format, unsigned code)
{
    int exponent = (int)(code >> format->mantissa);
    int mantissa = (int)(code & ((1u << format->mantissa) - 1));
    bool is_normal = format->is_plain || exponent > 0;
    int power = (is_normal ? exponent : 1) - format->bias - format->mantissa;
    return ldexp(mantissa + (is_normal << format->mantissa), power);
}

/* Of those whose NaN is the code of -0 no other is one. */
static double read_float(const struct format *format, uint8_t code)
{
    unsigned magnitude = format->is_plain ? code : code & ~(unsigned)SIGN;
    bool is_negative = !format->is_plain && code & SIGN;
    double value = 0;
    if (code == format->nan)
        return NAN;
    if (magnitude <= format->last)
        value = read_magnitude(format, magnitude);
    else
        value = magnitude == format->beyond ? (double)INFINITY : (double)NAN;
    return is_negative ? -value : value;
}

double jd__storage_read(jd_dtype dtype, uint8_t code)
{
    int low = code & LOW;
    if (dtype == JD_U4)
        return low;
    if (dtype == JD_S4)
        return low < 8 ? low : low - 16;
    return read_float(find_format(dtype), code);
}

/* ---- writing ------------------------------------------------------------ */

/* Towards zero, within the range. */
static uint8_t write_integer(double x, double least, double most)
{
    double whole = isnan(x) ? 0 : fmin(fmax(trunc(x), least), most);
    return (uint8_t)((int)whole & LOW);
}

/* Of a power of two, which has no even one beside it, the greater; what is less
 * than the first is nearest to that. */
static unsigned round_plain(const struct format *format, double x)
{
    int exponent;
    double half = frexp(x, &exponent); /* x is half * 2^exponent */
    int code = exponent - 1 + (half >= 0.75) + format->bias;
    return code < 0 ? 0 : (unsigned)code;
}

/* The code of a magnitude, were there codes without end. */
static unsigned round_magnitude(const struct format *format, double x)
{
    int exponent, least = 1 - format->bias;
    if (format->is_plain)
        return round_plain(format, x);
    if (x == 0)
        return 0;
    frexp(x, &exponent);
    exponent = exponent - 1 > least ? exponent - 1 : least;
    unsigned steps = (unsigned)rint(ldexp(x, format->mantissa - exponent));
    return ((unsigned)(exponent - least) << format->mantissa) + steps;
}

static uint8_t write_float(const struct format *format, double x)
{
    unsigned sign = !format->is_plain && signbit(x) ? SIGN : 0;
    unsigned beyond =
        format->beyond == format->nan ? format->nan : format->beyond | sign;
    if (isnan(x) || (format->is_plain && !(x > 0)))
        return format->nan;
    if (isinf(x))
        return (uint8_t)beyond;
    unsigned code = round_magnitude(format, fabs(x));
    if (code > format->last)
        return (uint8_t)beyond;
    return code == 0 && format->nan == SIGN ? 0 : (uint8_t)(code | sign);
}

uint8_t jd__storage_write(jd_dtype dtype, double x)
{
    if (dtype == JD_U4)
        return write_integer(x, 0, 15);
    if (dtype == JD_S4)
        return write_integer(x, -8, 7);
    return write_float(find_format(dtype), x);
}

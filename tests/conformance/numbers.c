/* SPDX-License-Identifier: BSD-3-Clause */
/* numbers.c - types, their codes, and random elements of them. */
#include "numbers.h"

#include <math.h>
#include <string.h>

const struct format formats[] = {
    { JD_PRED, 1, 1, 0, 0, 0, false },     { JD_S8, 1, 1, 0, 0, 0, true },
    { JD_S16, 1, 2, 0, 0, 0, true },       { JD_S32, 1, 4, 0, 0, 0, true },
    { JD_S64, 1, 8, 0, 0, 0, true },       { JD_U8, 1, 1, 0, 0, 0, false },
    { JD_U16, 1, 2, 0, 0, 0, false },      { JD_U32, 1, 4, 0, 0, 0, false },
    { JD_U64, 1, 8, 0, 0, 0, false },      { JD_F8E4M3FN, 1, 1, 3, 4, 7, true },
    { JD_F8E5M2, 1, 1, 2, 5, 15, true },   { JD_F16, 1, 2, 10, 5, 15, true },
    { JD_BF16, 1, 2, 7, 8, 127, true },    { JD_F32, 1, 4, 23, 8, 127, true },
    { JD_F64, 1, 8, 52, 11, 1023, true },  { JD_C64, 2, 4, 23, 8, 127, true },
    { JD_C128, 2, 8, 52, 11, 1023, true },
};
const int num_formats = sizeof formats / sizeof *formats;

const struct format *format_of(jd_dtype dtype)
{
    int i = 0;
    while (formats[i].dtype != dtype)
        i++;
    return &formats[i];
}

bool is_floating(const struct format *format)
{
    return format->mantissa > 0;
}

bool has_meaning(enum reduce op, jd_dtype dtype)
{
    const struct format *format = format_of(dtype);
    bool is_extreme = op == REDUCE_MAX || op == REDUCE_MIN;
    if (op == REDUCE_NONE)
        return true;
    if (op >= REDUCE_AND)
        return !is_floating(format);
    if (dtype == JD_PRED)
        return is_extreme;
    if (op == REDUCE_MEAN)
        return is_floating(format);
    return !is_extreme || format->parts == 1;
}

bool is_order_seen(enum reduce op, jd_dtype dtype)
{
    return is_floating(format_of(dtype)) && op != REDUCE_NONE &&
           op != REDUCE_MAX && op != REDUCE_MIN;
}

uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
    x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
    return x ^ x >> 32;
}

/* ---- codes -------------------------------------------------------------- */

static uint64_t sign_bit(const struct format *format)
{
    return UINT64_C(1) << (8 * format->bytes - 1);
}

/* The greatest exponent's code, without a mantissa: infinity's. */
static uint64_t infinity(const struct format *format)
{
    return ((UINT64_C(1) << format->exponent) - 1) << format->mantissa;
}

static uint64_t quiet_nan(const struct format *format)
{
    uint64_t half = UINT64_C(1) << (format->mantissa - 1);
    return format->dtype == JD_F8E4M3FN ? 0x7f : infinity(format) | half;
}

static bool is_nan_code(const struct format *format, uint64_t code)
{
    code &= ~sign_bit(format);
    return format->dtype == JD_F8E4M3FN ? code == 0x7f
                                        : code > infinity(format);
}

double code_value(const struct format *format, uint64_t code)
{
    uint64_t unsigned_code = code & ~sign_bit(format);
    int exponent = (int)(unsigned_code >> format->mantissa);
    uint64_t mantissa = unsigned_code & ((UINT64_C(1) << format->mantissa) - 1);
    double value;
    if (is_nan_code(format, code))
        return NAN;
    if (unsigned_code == infinity(format) && format->dtype != JD_F8E4M3FN)
        value = INFINITY;
    else if (exponent == 0)
        value = ldexp((double)mantissa, 1 - format->bias - format->mantissa);
    else
        value = ldexp((double)(mantissa | UINT64_C(1) << format->mantissa),
                      exponent - format->bias - format->mantissa);
    return code & sign_bit(format) ? -value : value;
}

/* A number's steps of the type at its own size, to nearest even. */
static uint64_t nearest_finite(const struct format *format, double value)
{
    int exponent = value > 0 ? ilogb(value) : 1 - format->bias;
    if (exponent < 1 - format->bias)
        exponent = 1 - format->bias;
    double steps = nearbyint(ldexp(value, format->mantissa - exponent));
    uint64_t count = (uint64_t)steps;
    uint64_t below = (uint64_t)(exponent + format->bias - 1);
    return count + (below << format->mantissa);
}

uint64_t code_nearest(const struct format *format, double value)
{
    uint64_t sign = signbit(value) ? sign_bit(format) : 0;
    bool is_finite_only = format->dtype == JD_F8E4M3FN;
    uint64_t end = is_finite_only ? 0x7f : infinity(format), code = end;
    if (isnan(value))
        return quiet_nan(format);
    if (!isinf(value))
        code = nearest_finite(format, fabs(value));
    if (code < end)
        return sign | code;
    return is_finite_only ? end : sign | end;
}

/* ---- random elements ---------------------------------------------------- */

/* Numbers from 1/16 to 32 in size, of both signs. */
static uint64_t number_code(const struct format *format, uint64_t h)
{
    uint64_t mantissa = h & ((UINT64_C(1) << format->mantissa) - 1);
    uint64_t exponent =
        (uint64_t)(format->bias - 4) + ((h >> 50 & 0xff) * 9 >> 8);
    uint64_t sign = h >> 58 & 1 ? sign_bit(format) : 0;
    return sign | exponent << format->mantissa | mantissa;
}

static uint64_t special_code(const struct format *format, enum flavour flavour,
                             uint64_t h)
{
    uint64_t sign = h & 1 ? sign_bit(format) : 0, end = infinity(format);
    bool is_finite_only = format->dtype == JD_F8E4M3FN;
    uint64_t least = UINT64_C(1) << format->mantissa;
    switch ((h >> 1) % (flavour == FLAVOUR_WILD ? 7 : 3)) {
    case 0:
        return sign;
    case 1:
        return sign | (is_finite_only ? 0x7f : end);
    case 2: /* a NaN with a payload, quiet or not */
        return sign |
               (is_finite_only ? 0x7f : end | 1 | (h >> 32 & (least - 1)));
    case 3:
        return sign | 1;
    case 4:
        return sign | (least - 1);
    case 5: /* the largest */
        return sign | (is_finite_only ? 0x7e : end - 1);
    default:
        return sign | least;
    }
}

static uint64_t part_code(const struct format *format, enum flavour flavour,
                          uint64_t h)
{
    if (format->dtype == JD_PRED)
        return h & 1;
    if (flavour != FLAVOUR_NUMBERS && h >> 59 == 0)
        return special_code(format, flavour, mix(h));
    return number_code(format, h);
}

/* Bytes of any kind, 8 at a time: their place decides. */
static void write_bytes(uint64_t base, size_t first, size_t count, char *to)
{
    size_t skipped = first % 8;
    for (size_t word = first / 8; count > 0; word++, skipped = 0) {
        uint64_t bits = mix(base + word) >> 8 * skipped;
        size_t bytes = count < 8 - skipped ? count : 8 - skipped;
        if (bytes == 8)
            memcpy(to, &bits, 8);
        else
            memcpy(to, &bits, bytes);
        to += bytes;
        count -= bytes;
    }
}

/* One loop for each size of a part, so that the compiler knows it. */
static inline void write_parts(const struct format *format,
                               enum flavour flavour, uint64_t base,
                               size_t first, size_t count, char *to,
                               size_t size)
{
    for (size_t i = 0; i < count; i++, to += size) {
        uint64_t code = part_code(format, flavour, mix(base + first + i));
        memcpy(to, &code, size); /* little-endian, as all of jd's hosts */
    }
}

void terms_write(const struct terms *terms, int id, size_t first, size_t count,
                 void *to)
{
    const struct format *format = format_of(terms->dtype);
    enum flavour flavour = terms->flavour;
    bool is_any = flavour == FLAVOUR_BITS || !is_floating(format);
    uint64_t base = mix(terms->salt + (uint64_t)id * 0x10001);
    size_t size = (size_t)format->bytes;
    first *= (size_t)format->parts;
    count *= (size_t)format->parts;
    if (is_any && format->dtype != JD_PRED)
        write_bytes(base, first * size, count * size, to);
    else if (size == 1)
        write_parts(format, flavour, base, first, count, to, 1);
    else if (size == 2)
        write_parts(format, flavour, base, first, count, to, 2);
    else if (size == 4)
        write_parts(format, flavour, base, first, count, to, 4);
    else
        write_parts(format, flavour, base, first, count, to, 8);
}

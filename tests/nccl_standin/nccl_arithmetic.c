/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nccl_arithmetic.c - the stand-in's reductions, with NCCL's meaning: each step
 * is rounded to the type; of a number and a NaN the number is the maximum and
 * the minimum; an average multiplies each term before, or divides an integer
 * sum after. Conversions of its own, by ldexp() and nearbyint().
 */
#include "nccl_private.h"

#include <math.h>
#include <string.h>

/* ---- small floating types ----------------------------------------------- */

struct format {
    int bytes, exponent, mantissa;
    bool has_infinity; /* else the last code alone is NaN */
    bool is_saturated; /* what is too large becomes the largest */
};

static const struct format half = { 2, 5, 10, true, false };
static const struct format bfloat = { 2, 8, 7, true, false };
static const struct format e4m3 = { 1, 4, 3, false, true };
static const struct format e5m2 = { 1, 5, 2, true, true };

static int bias_of(const struct format *format)
{
    return (1 << (format->exponent - 1)) - 1;
}

static unsigned magnitude_mask(const struct format *format)
{
    return (1u << (format->exponent + format->mantissa)) - 1;
}

static unsigned infinity_of(const struct format *format)
{
    unsigned all = magnitude_mask(format);
    return format->has_infinity ? all & ~((1u << format->mantissa) - 1) : all;
}

static double decode(const struct format *format, unsigned code)
{
    unsigned magnitude = code & magnitude_mask(format);
    int exponent = (int)(magnitude >> format->mantissa);
    double mantissa = magnitude & ((1u << format->mantissa) - 1), value;
    if (magnitude > infinity_of(format) ||
        (magnitude == infinity_of(format) && !format->has_infinity))
        value = NAN;
    else if (magnitude == infinity_of(format))
        value = INFINITY;
    else if (exponent == 0)
        value = ldexp(mantissa, 1 - bias_of(format) - format->mantissa);
    else
        value = ldexp(mantissa + (1 << format->mantissa),
                      exponent - bias_of(format) - format->mantissa);
    return code & (magnitude_mask(format) + 1) ? -value : value;
}

/* The nearest one, the even one of two. */
static unsigned encode(const struct format *format, double value)
{
    unsigned sign = signbit(value) ? magnitude_mask(format) + 1 : 0;
    unsigned top = infinity_of(format), code;
    int exponent;
    if (isnan(value))
        return magnitude_mask(format);
    if (isinf(value))
        return sign | (format->is_saturated ? top - 1 : top);
    if (value == 0)
        return sign;
    frexp(value, &exponent);
    int least = 1 - bias_of(format);
    if (--exponent < least)
        exponent = least;
    double steps = nearbyint(ldexp(fabs(value), format->mantissa - exponent));
    double codes = steps + ldexp(exponent - least, format->mantissa);
    if (codes >= top)
        code = format->is_saturated ? top - 1 : top;
    else
        code = (unsigned)codes;
    return sign | code;
}

static double fold_doubles(ncclRedOp_t op, double a, double b)
{
    switch (op) {
    case ncclProd:
        return a * b;
    case ncclMax:
        return fmax(a, b);
    case ncclMin:
        return fmin(a, b);
    default:
        return a + b;
    }
}

static unsigned get(const struct format *format, const void *at)
{
    uint16_t code = 0;
    if (format->bytes == 1)
        return *(const uint8_t *)at;
    memcpy(&code, at, sizeof code);
    return code;
}

static void put(const struct format *format, void *at, unsigned code)
{
    uint16_t two = (uint16_t)code;
    if (format->bytes == 1)
        *(uint8_t *)at = (uint8_t)code;
    else
        memcpy(at, &two, sizeof two);
}

static void reduce_small(const struct format *format, ncclRedOp_t op, char *to,
                         const char *from, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t at = i * (size_t)format->bytes;
        double a = decode(format, get(format, to + at));
        double b = decode(format, get(format, from + at));
        put(format, to + at, encode(format, fold_doubles(op, a, b)));
    }
}

static void scale_small(const struct format *format, char *data, size_t count,
                        int ranks)
{
    double factor = decode(format, encode(format, 1.0 / ranks));
    for (size_t i = 0; i < count; i++) {
        char *at = data + i * (size_t)format->bytes;
        put(format, at,
            encode(format, factor * decode(format, get(format, at))));
    }
}

/* ---- the others --------------------------------------------------------- */

/* A buffer may begin at any byte. */
#define DEFINE_INTEGER(name, type, wide)                                       \
    static type fold_##name(ncclRedOp_t op, type a, type b)                    \
    {                                                                          \
        switch (op) {                                                          \
        case ncclProd:                                                         \
            return (type)((wide)a * (wide)b);                                  \
        case ncclMax:                                                          \
            return a > b ? a : b;                                              \
        case ncclMin:                                                          \
            return a < b ? a : b;                                              \
        default:                                                               \
            return (type)((wide)a + (wide)b);                                  \
        }                                                                      \
    }                                                                          \
    static void divide_##name(char *data, size_t count, int ranks)             \
    {                                                                          \
        for (size_t i = 0; i < count; i++) {                                   \
            type value;                                                        \
            memcpy(&value, data + i * sizeof value, sizeof value);             \
            value = (type)(value / (type)ranks);                               \
            memcpy(data + i * sizeof value, &value, sizeof value);             \
        }                                                                      \
    }
#define DEFINE_FLOATING(name, type)                                            \
    static type fold_##name(ncclRedOp_t op, type a, type b)                    \
    {                                                                          \
        return (type)(op == ncclProd  ? a * b                                  \
                      : op == ncclMax ? (type)fmax(a, b)                       \
                      : op == ncclMin ? (type)fmin(a, b)                       \
                                      : a + b);                                \
    }                                                                          \
    static void scale_##name(char *data, size_t count, int ranks)              \
    {                                                                          \
        const type factor = (type)(1.0 / ranks);                               \
        for (size_t i = 0; i < count; i++) {                                   \
            type value;                                                        \
            memcpy(&value, data + i * sizeof value, sizeof value);             \
            value *= factor;                                                   \
            memcpy(data + i * sizeof value, &value, sizeof value);             \
        }                                                                      \
    }
#define DEFINE_LOOP(name, type)                                                \
    static void reduce_##name(ncclRedOp_t op, char *to, const char *from,      \
                              size_t count)                                    \
    {                                                                          \
        for (size_t i = 0; i < count; i++) {                                   \
            type a, b;                                                         \
            memcpy(&a, to + i * sizeof a, sizeof a);                           \
            memcpy(&b, from + i * sizeof b, sizeof b);                         \
            a = fold_##name(op, a, b);                                         \
            memcpy(to + i * sizeof a, &a, sizeof a);                           \
        }                                                                      \
    }

#define INTEGER_MAP(X)                                                         \
    X(i8, int8_t, uint32_t)                                                    \
    X(u8, uint8_t, uint32_t)                                                   \
    X(i32, int32_t, uint32_t)                                                  \
    X(u32, uint32_t, uint32_t)                                                 \
    X(i64, int64_t, uint64_t)                                                  \
    X(u64, uint64_t, uint64_t)

#define DEFINE_ALL_OF_INTEGER(name, type, wide)                                \
    DEFINE_INTEGER(name, type, wide)                                           \
    DEFINE_LOOP(name, type)
INTEGER_MAP(DEFINE_ALL_OF_INTEGER)
DEFINE_FLOATING(f32, float)
DEFINE_LOOP(f32, float)
DEFINE_FLOATING(f64, double)
DEFINE_LOOP(f64, double)

/* ---- the table ---------------------------------------------------------- */

static const struct {
    size_t size;
    const struct format *format; /* of a small floating type; NULL */
    void (*reduce)(ncclRedOp_t op, char *to, const char *from, size_t count);
    void (*scale)(char *data, size_t count, int ranks);
    void (*divide)(char *data, size_t count, int ranks);
} types[ncclNumTypes] = {
    [ncclInt8] = { 1, NULL, reduce_i8, NULL, divide_i8 },
    [ncclUint8] = { 1, NULL, reduce_u8, NULL, divide_u8 },
    [ncclInt32] = { 4, NULL, reduce_i32, NULL, divide_i32 },
    [ncclUint32] = { 4, NULL, reduce_u32, NULL, divide_u32 },
    [ncclInt64] = { 8, NULL, reduce_i64, NULL, divide_i64 },
    [ncclUint64] = { 8, NULL, reduce_u64, NULL, divide_u64 },
    [ncclFloat16] = { 2, &half, NULL, NULL, NULL },
    [ncclFloat32] = { 4, NULL, reduce_f32, scale_f32, NULL },
    [ncclFloat64] = { 8, NULL, reduce_f64, scale_f64, NULL },
    [ncclBfloat16] = { 2, &bfloat, NULL, NULL, NULL },
    [ncclFloat8e4m3] = { 1, &e4m3, NULL, NULL, NULL },
    [ncclFloat8e5m2] = { 1, &e5m2, NULL, NULL, NULL },
};

size_t standin_type_size(ncclDataType_t type)
{
    return types[type].size;
}

void standin_reduce(ncclDataType_t type, ncclRedOp_t op, void *to,
                    const void *from, size_t count)
{
    if (types[type].format)
        reduce_small(types[type].format, op, to, from, count);
    else
        types[type].reduce(op, to, from, count);
}

void standin_before_sum(ncclDataType_t type, ncclRedOp_t op, int ranks,
                        void *data, size_t count)
{
    if (op != ncclAvg)
        return;
    if (types[type].format)
        scale_small(types[type].format, data, count, ranks);
    else if (types[type].scale)
        types[type].scale(data, count, ranks);
}

void standin_after_sum(ncclDataType_t type, ncclRedOp_t op, int ranks,
                       void *data, size_t count)
{
    if (op == ncclAvg && types[type].divide)
        types[type].divide(data, count, ranks);
}

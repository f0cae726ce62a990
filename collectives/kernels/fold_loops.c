/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fold_loops.c - the loops of folds. meson compiles it once for each kind of
 * processor with JD_FOLD_VARIANT as the name.
 */
#include "collectives/kernels/fold_loops.h"

#include "collectives/kernels/convert_loops.h"
#include "collectives/kernels/fold_number.h"
#include "collectives/kernels/fold_small.h"
#include "collectives/kernels/fold_stream.h"

#include <stdint.h>

/* out[i] = the expression of a[i] and b[i], which it calls x and y. */
#define DEFINE_COMBINE(name, type, expression)                                 \
    static void name(void *to, const void *first, const void *second,          \
                     size_t n)                                                 \
    {                                                                          \
        type *out = to;                                                        \
        const type *a = first, *b = second;                                    \
        JD_INDEPENDENT                                                         \
        for (size_t i = 0; i < n; i++) {                                       \
            const type x = a[i], y = b[i];                                     \
            out[i] = (type)(expression);                                       \
        }                                                                      \
    }

/* Unsigned arithmetic wraps, and gives the bits of the signed one too; of 16
 * bits it would be int's. */
#define DEFINE_INTEGERS(bits)                                                  \
    DEFINE_COMBINE(sum_u##bits, u##bits, x + y)                                \
    DEFINE_COMBINE(product_u##bits, u##bits, 1u * x * y)                       \
    DEFINE_COMBINE(max_u##bits, u##bits, x > y ? x : y)                        \
    DEFINE_COMBINE(min_u##bits, u##bits, x < y ? x : y)                        \
    DEFINE_COMBINE(max_s##bits, s##bits, x > y ? x : y)                        \
    DEFINE_COMBINE(min_s##bits, s##bits, x < y ? x : y)                        \
    DEFINE_COMBINE(and_u##bits, u##bits, x &y)                                 \
    DEFINE_COMBINE(or_u##bits, u##bits, x | y)                                 \
    DEFINE_COMBINE(xor_u##bits, u##bits, x ^ y)
DEFINE_INTEGERS(8)
DEFINE_INTEGERS(16)
DEFINE_INTEGERS(32)
DEFINE_INTEGERS(64)

/* Any byte but 0 is true. */
DEFINE_COMBINE(or_pred, u8, (x | y) != 0)
DEFINE_COMBINE(and_pred, u8, (x != 0) & (y != 0))
DEFINE_COMBINE(xor_pred, u8, (x != 0) ^ (y != 0))

DEFINE_COMBINE(sum_f32, f32, jd__f32_plain(x + y))
DEFINE_COMBINE(sum_f64, f64, jd__f64_plain(x + y))
DEFINE_COMBINE(product_f32, f32, jd__f32_plain(x *y))
DEFINE_COMBINE(product_f64, f64, jd__f64_plain(x *y))

/* A power of two has an inverse, and the product with it the same bits. */
#define DEFINE_DIVIDE(type, plain)                                             \
    static void divide_##type(void *to, const void *from, size_t n,            \
                              int divisor)                                     \
    {                                                                          \
        type *out = to;                                                        \
        const type *in = from;                                                 \
        const type by = (type)divisor, inverse = 1 / by;                       \
        if ((divisor & (divisor - 1)) == 0) {                                  \
            JD_INDEPENDENT                                                     \
            for (size_t i = 0; i < n; i++)                                     \
                out[i] = plain(in[i] * inverse);                               \
            return;                                                            \
        }                                                                      \
        JD_INDEPENDENT                                                         \
        for (size_t i = 0; i < n; i++)                                         \
            out[i] = plain(in[i] / by);                                        \
    }
DEFINE_DIVIDE(f32, jd__f32_plain)
DEFINE_DIVIDE(f64, jd__f64_plain)

/* A complex number is its two parts, but for products. A difference beside a
 * sum would make gcc 12 round the two products of each once only
 * (vfmaddsub), in spite of -ffp-contract=off. */
#define DEFINE_COMPLEX(name, part, plain)                                      \
    static void sum_##name(void *out, const void *a, const void *b, size_t n)  \
    {                                                                          \
        sum_##part(out, a, b, 2 * n);                                          \
    }                                                                          \
    static void divide_##name(void *out, const void *in, size_t n,             \
                              int divisor)                                     \
    {                                                                          \
        divide_##part(out, in, 2 * n, divisor);                                \
    }                                                                          \
    static void product_##name(void *to, const void *first,                    \
                               const void *second, size_t n)                   \
    {                                                                          \
        part *out = to;                                                        \
        const part *x = first, *y = second;                                    \
        JD_INDEPENDENT                                                         \
        for (size_t i = 0; i < n; i++) {                                       \
            const part a = x[2 * i], b = x[2 * i + 1];                         \
            const part c = y[2 * i], d = y[2 * i + 1];                         \
            out[2 * i] = plain(a * c + jd__##part##_negative(b * d));          \
            out[2 * i + 1] = plain(a * d + b * c);                             \
        }                                                                      \
    }
DEFINE_COMPLEX(c64, f32, jd__f32_plain)
DEFINE_COMPLEX(c128, f64, jd__f64_plain)

#define DEFINE_ORDER(name, bits)                                               \
    DEFINE_COMBINE(max_##name, u##bits, jd__##name##_max(x, y, 0))             \
    DEFINE_COMBINE(min_##name, u##bits,                                        \
                   jd__##name##_max(x, y, jd__##name##_sign()))
DEFINE_ORDER(f8e4m3fn, 8)
DEFINE_ORDER(f8e5m2, 8)
DEFINE_ORDER(f16, 16)
DEFINE_ORDER(bf16, 16)
DEFINE_ORDER(f32, 32)
DEFINE_ORDER(f64, 64)

/* Pairs of a key and a rest (located.h): the one whose key is greater, or whose
 * rest is where keys are equal. */
static void located_c128(void *to, const void *first, const void *second,
                         size_t n)
{
    s64 *out = to;
    const s64 *a = first, *b = second;
    JD_INDEPENDENT
    for (size_t i = 0; i < n; i++) {
        const int64_t x = a[2 * i], y = b[2 * i];
        const int64_t x_rest = a[2 * i + 1], y_rest = b[2 * i + 1];
        const int takes_second = (y > x) | ((y == x) & (y_rest > x_rest));
        out[2 * i] = takes_second ? y : x;
        out[2 * i + 1] = takes_second ? y_rest : x_rest;
    }
}

#define TABLE_NAME_(variant) jd__fold_loops_##variant
#define TABLE_NAME(variant) TABLE_NAME_(variant)
#define CONVERT_NAME_(variant) jd__convert_loops_##variant
#define CONVERT_NAME(variant) CONVERT_NAME_(variant)
#define TEXT_(variant) #variant
#define TEXT(variant) TEXT_(variant)

#define INTEGER_ROWS(op)                                                       \
    [JD_S8] = op##_u8, [JD_S16] = op##_u16, [JD_S32] = op##_u32,               \
    [JD_S64] = op##_u64, UNSIGNED_ROWS(op)
#define SIGNED_ROWS(op)                                                        \
    [JD_S8] = op##_s8, [JD_S16] = op##_s16, [JD_S32] = op##_s32,               \
    [JD_S64] = op##_s64
#define UNSIGNED_ROWS(op)                                                      \
    [JD_U8] = op##_u8, [JD_U16] = op##_u16, [JD_U32] = op##_u32,               \
    [JD_U64] = op##_u64
#define SMALL_ROWS(op)                                                         \
    [JD_F16] = op##_f16, [JD_BF16] = op##_bf16, [JD_F8E5M2] = op##_f8e5m2,     \
    [JD_F8E4M3FN] = op##_f8e4m3fn
#define REAL_ROWS(op) [JD_F32] = op##_f32, [JD_F64] = op##_f64
#define COMPLEX_ROWS(op) [JD_C64] = op##_c64, [JD_C128] = op##_c128
#define WIDE_ROWS(op) REAL_ROWS(op), COMPLEX_ROWS(op)
#define ORDER_ROWS(op)                                                         \
    SIGNED_ROWS(op), UNSIGNED_ROWS(op), SMALL_ROWS(op), REAL_ROWS(op)

const struct jd_fold_loops TABLE_NAME(JD_FOLD_VARIANT) = {
    .name = TEXT(JD_FOLD_VARIANT),
    .combine = {
        [JD_REDUCE_SUM] = { INTEGER_ROWS(sum), WIDE_ROWS(sum) },
        [JD_REDUCE_MEAN] = { WIDE_ROWS(sum) },
        [JD_REDUCE_MAX] = { ORDER_ROWS(max), [JD_PRED] = or_pred },
        [JD_REDUCE_MIN] = { ORDER_ROWS(min), [JD_PRED] = and_pred },
        [JD_REDUCE_PROD] = { INTEGER_ROWS(product), WIDE_ROWS(product) },
        [JD_REDUCE_AND] = { INTEGER_ROWS(and), [JD_PRED] = and_pred },
        [JD_REDUCE_OR] = { INTEGER_ROWS(or), [JD_PRED] = or_pred },
        [JD_REDUCE_XOR] = { INTEGER_ROWS(xor), [JD_PRED] = xor_pred },
        [JD_REDUCE_LOCATED] = { [JD_C128] = located_c128 },
    },
    .pair_sum = { [JD_F16] = pair_f16, [JD_BF16] = pair_bf16 },
    .many_sum = { [JD_F16] = many_f16, [JD_BF16] = many_bf16 },
    .gather = { SMALL_ROWS(gather) },
    .divide = { WIDE_ROWS(divide) },
    .widen = { SMALL_ROWS(widen) },
    .narrow = { SMALL_ROWS(narrow) },
    .stream = stream_copy,
    .convert = &CONVERT_NAME(JD_FOLD_VARIANT),
};

/* SPDX-License-Identifier: BSD-3-Clause */
/* convert_loops.c - compiled once for each kind of processor, as fold_loops.c
 * is. */
#include "collectives/kernels/convert_loops.h"

#include "collectives/kernels/fold_number.h"

#include <float.h>
#include <stdbool.h>
#include <stdint.h>

typedef uint8_t pred;

/* out[i] = the expression of in[i], which it calls x. */
#define DEFINE_CHANGE(name, to_type, from_type, expression)                    \
    static void name(void *to, const void *from, size_t n)                     \
    {                                                                          \
        to_type *out = to;                                                     \
        const from_type *in = from;                                            \
        JD_INDEPENDENT                                                         \
        for (size_t i = 0; i < n; i++) {                                       \
            const from_type x = in[i];                                         \
            out[i] = (to_type)(expression);                                    \
        }                                                                      \
    }

/* Towards zero, within the range; low and high are exact in F64. */
JD_INLINE double clamp(double x, double low, double high)
{
    x = x == x ? x : 0;
    x = x > low ? x : low;
    return x < high ? x : high;
}

JD_INLINE int64_t to_s64(double x)
{
    bool fits = x >= -0x1p63 && x < 0x1p63;
    int64_t end = x > 0 ? INT64_MAX : x < 0 ? INT64_MIN : 0;
    int64_t inside = (int64_t)(fits ? x : 0);
    return fits ? inside : end;
}

JD_INLINE uint64_t to_u64(double x)
{
    bool fits = x >= 0 && x < 0x1p64;
    uint64_t inside = (uint64_t)(fits ? x : 0);
    return fits ? inside : x > 0 ? UINT64_MAX : 0;
}

/*
 * Beyond 2^53 the lowest 11 bits do not fit into an F64. What they were is
 * kept in the bit above: it is set where they were not 0. So a number is on
 * the same side of each middle between two of a shorter type as before.
 */
JD_INLINE int64_t odd_s64(int64_t x)
{
    uint64_t bits = (uint64_t)x, sticky = (bits & 0x7ff) ? 0x800 : 0;
    bool is_long = bits + (1ull << 53) > 1ull << 54;
    return (int64_t)(is_long ? (bits | sticky) & ~0x7ffull : bits);
}

JD_INLINE uint64_t odd_u64(uint64_t x)
{
    uint64_t sticky = (x & 0x7ff) ? 0x800 : 0;
    return x >> 53 ? (x | sticky) & ~0x7ffull : x;
}

#define DEFINE_INTEGER(type, low, high)                                        \
    DEFINE_CHANGE(to_double_##type, f64, type, x)                              \
    DEFINE_CHANGE(from_double_##type, type, f64, clamp(x, low, high))
DEFINE_INTEGER(s8, INT8_MIN, INT8_MAX)
DEFINE_INTEGER(s16, INT16_MIN, INT16_MAX)
DEFINE_INTEGER(s32, INT32_MIN, INT32_MAX)
DEFINE_INTEGER(u8, 0, UINT8_MAX)
DEFINE_INTEGER(u16, 0, UINT16_MAX)
DEFINE_INTEGER(u32, 0, UINT32_MAX)
DEFINE_CHANGE(to_double_s64, f64, s64, x)
DEFINE_CHANGE(to_double_u64, f64, u64, x)
DEFINE_CHANGE(to_odd_double_s64, f64, s64, odd_s64(x))
DEFINE_CHANGE(to_odd_double_u64, f64, u64, odd_u64(x))
DEFINE_CHANGE(from_double_s64, s64, f64, to_s64(x))
DEFINE_CHANGE(from_double_u64, u64, f64, to_u64(x))
DEFINE_CHANGE(to_double_pred, f64, pred, x != 0)
DEFINE_CHANGE(from_double_pred, pred, f64, x != 0)

#define DEFINE_BITS(type)                                                      \
    DEFINE_CHANGE(to_bits_##type, u64, type, (int64_t)x)                       \
    DEFINE_CHANGE(from_bits_##type, type, u64, x)
DEFINE_BITS(s8)
DEFINE_BITS(s16)
DEFINE_BITS(s32)
DEFINE_BITS(s64)
DEFINE_BITS(u8)
DEFINE_BITS(u16)
DEFINE_BITS(u32)
DEFINE_BITS(u64)
DEFINE_CHANGE(to_bits_pred, u64, pred, x != 0)
DEFINE_CHANGE(from_bits_pred, pred, u64, x != 0)

DEFINE_CHANGE(to_double_f64, f64, f64, jd__f64_plain(x))
DEFINE_CHANGE(from_double_f64, f64, f64, jd__f64_plain(x))
DEFINE_CHANGE(to_double_f32, f64, f32, jd__f64_plain((double)x))
DEFINE_CHANGE(from_double_f32, f32, f64, jd__f32_plain((float)x))

#define DEFINE_SMALL(name, type, layout)                                       \
    DEFINE_CHANGE(to_double_##name, f64, type,                                 \
                  jd__f64_plain((double)jd__small_widen(x, layout)))           \
    DEFINE_CHANGE(from_double_##name, type, f64, jd__small_from_f64(x, layout))
DEFINE_SMALL(f16, u16, JD_SMALL_F16)
DEFINE_SMALL(bf16, u16, JD_SMALL_BF16)
DEFINE_SMALL(f8e5m2, u8, JD_SMALL_F8E5M2)
DEFINE_SMALL(f8e4m3fn, u8, JD_SMALL_F8E4M3FN)

#define DEFINE_COMPLEX(name, part, plain)                                      \
    static void to_double_##name(void *to, const void *from, size_t n)         \
    {                                                                          \
        f64 *out = to;                                                         \
        const part *in = from;                                                 \
        JD_INDEPENDENT                                                         \
        for (size_t i = 0; i < n; i++)                                         \
            out[i] = jd__f64_plain(in[2 * i]);                                 \
    }                                                                          \
    static void from_double_##name(void *to, const void *from, size_t n)       \
    {                                                                          \
        part *out = to;                                                        \
        const f64 *in = from;                                                  \
        JD_INDEPENDENT                                                         \
        for (size_t i = 0; i < n; i++) {                                       \
            const double x = in[i];                                            \
            out[2 * i] = plain((part)x);                                       \
            out[2 * i + 1] = 0;                                                \
        }                                                                      \
    }
DEFINE_COMPLEX(c64, f32, jd__f32_plain)
DEFINE_COMPLEX(c128, f64, jd__f64_plain)

#define TABLE_NAME_(variant) jd__convert_loops_##variant
#define TABLE_NAME(variant) TABLE_NAME_(variant)

#define INTEGER_ROWS(change)                                                   \
    [JD_PRED] = change##_pred, [JD_S8] = change##_s8, [JD_S16] = change##_s16, \
    [JD_S32] = change##_s32, [JD_S64] = change##_s64, [JD_U8] = change##_u8,   \
    [JD_U16] = change##_u16, [JD_U32] = change##_u32, [JD_U64] = change##_u64
#define FLOAT_ROWS(change)                                                     \
    [JD_F16] = change##_f16, [JD_BF16] = change##_bf16,                        \
    [JD_F8E5M2] = change##_f8e5m2, [JD_F8E4M3FN] = change##_f8e4m3fn,          \
    [JD_F32] = change##_f32, [JD_F64] = change##_f64, [JD_C64] = change##_c64, \
    [JD_C128] = change##_c128

const struct jd_convert_loops TABLE_NAME(JD_FOLD_VARIANT) = {
    .to_double = { INTEGER_ROWS(to_double), FLOAT_ROWS(to_double) },
    .to_odd_double = {
        [JD_S64] = to_odd_double_s64,
        [JD_U64] = to_odd_double_u64,
    },
    .from_double = { INTEGER_ROWS(from_double), FLOAT_ROWS(from_double) },
    .to_bits = { INTEGER_ROWS(to_bits) },
    .from_bits = { INTEGER_ROWS(from_bits) },
};

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fold_number.h - the floating types of 8 and 16 bits, and the order of all
 * floating numbers, as expressions without branches, so that a loop over them
 * becomes vector instructions.
 *
 *     float x = jd__small_widen(h, JD_SMALL_F16);
 *     uint16_t h = (uint16_t)jd__small_narrow(x, JD_SMALL_F16);
 *
 * The GPUs' folds are made of the same expressions (platform_cuda): it is C and
 * C++.
 *
 * Rounding is to nearest even, once. Every NaN that comes out is the quiet one
 * without sign and payload, so that nothing depends on which of two NaNs an
 * instruction hands on. Subnormals are kept in every rounding and flushing
 * mode that a program may have set for itself but for F32's and F64's own.
 * Threads: any.
 */
#ifndef COLLECTIVES_KERNELS_FOLD_NUMBER_H
#define COLLECTIVES_KERNELS_FOLD_NUMBER_H

#include <stdint.h>
#include <string.h>

#ifndef JD_INLINE
#define JD_INLINE static inline __attribute__((always_inline))
#endif

/* Buffers of a program, and payloads in messages, have any alignment; and
 * what the program calls a long long may be an int64_t here. */
#define JD_ANYWHERE __attribute__((aligned(1), may_alias))

/* Elements as the loops take them. */
typedef int8_t s8;
typedef int16_t s16 JD_ANYWHERE;
typedef int32_t s32 JD_ANYWHERE;
typedef int64_t s64 JD_ANYWHERE;
typedef uint8_t u8;
typedef uint16_t u16 JD_ANYWHERE;
typedef uint32_t u32 JD_ANYWHERE;
typedef uint64_t u64 JD_ANYWHERE;
typedef float f32 JD_ANYWHERE;
typedef double f64 JD_ANYWHERE;

/* Before a loop whose iterations do not depend on each other, though the
 * compiler cannot see it: an out is one of the ins or apart from them. */
#ifdef __clang__
#define JD_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define JD_INDEPENDENT _Pragma("GCC ivdep")
#endif

/* A floating type by its layout: bits, of them mantissa; the exponent's bias;
 * and as codes without sign: the largest that is a number or infinity, what
 * comes beyond it, and NaN. */
struct jd_small {
    int bits, mantissa, bias;
    uint32_t top, beyond, nan;
};

#ifdef __cplusplus
#define JD_SMALL(...) (jd_small{ __VA_ARGS__ })
#else
#define JD_SMALL(...) ((struct jd_small){ __VA_ARGS__ })
#endif
#define JD_SMALL_F16 JD_SMALL(16, 10, 15, 0x7c00, 0x7c00, 0x7e00)
#define JD_SMALL_BF16 JD_SMALL(16, 7, 127, 0x7f80, 0x7f80, 0x7fc0)
#define JD_SMALL_F8E5M2 JD_SMALL(8, 2, 15, 0x7c, 0x7c, 0x7e)
#define JD_SMALL_F8E4M3FN JD_SMALL(8, 3, 7, 0x7e, 0x7f, 0x7f)

JD_INLINE float jd__f32_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

JD_INLINE uint32_t jd__f32_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

JD_INLINE double jd__f64_of(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

JD_INLINE uint64_t jd__f64_bits(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* -x by its bits. */
JD_INLINE float jd__f32_negative(float x)
{
    return jd__f32_of(jd__f32_bits(x) ^ 0x80000000);
}

JD_INLINE double jd__f64_negative(double x)
{
    return jd__f64_of(jd__f64_bits(x) ^ 0x8000000000000000);
}

/* x, or the one NaN. */
JD_INLINE float jd__f32_plain(float x)
{
    return x == x ? x : jd__f32_of(0x7fc00000);
}

JD_INLINE double jd__f64_plain(double x)
{
    return x == x ? x : jd__f64_of(0x7ff8000000000000);
}

/* The exact value. A subnormal's mantissa is put under the exponent of a
 * number that has the same unit in the last place, which is then taken off. */
JD_INLINE float jd__small_widen(uint32_t code, struct jd_small type)
{
    uint32_t magnitude = code & ((1u << (type.bits - 1)) - 1);
    uint32_t sign = (code >> (type.bits - 1)) << 31;
    uint32_t shifted = magnitude << (23 - type.mantissa);
    uint32_t base = (uint32_t)(128 - type.bias) << 23;
    uint32_t bits = shifted + ((uint32_t)(127 - type.bias) << 23);
    if (type.bias < 127) {
        float small = jd__f32_of(shifted + base) - jd__f32_of(base);
        bits = magnitude >> type.mantissa ? bits : jd__f32_bits(small);
        if (type.beyond == type.top) /* has infinities */
            bits = magnitude == type.top ? 0x7f800000 : bits;
    }
    bits |= sign;
    return jd__f32_of(magnitude > type.top ? 0x7fc00000 : bits);
}

/*
 * The nearest code. In the range of the type's normal numbers, and of those
 * subnormals that F32 has too, an integer addition carries the rounding into
 * the exponent; below, the addition of a number with the right unit in the
 * last place rounds.
 */
JD_INLINE uint32_t jd__small_narrow(float x, struct jd_small type)
{
    const int shift = 23 - type.mantissa;
    uint32_t bits = jd__f32_bits(x);
    uint32_t magnitude = bits & 0x7fffffff;
    uint32_t half = (1u << (shift - 1)) - 1;
    uint32_t code = magnitude - ((uint32_t)(127 - type.bias) << 23);
    code = (code + half + ((magnitude >> shift) & 1)) >> shift;
    if (type.bias < 127) {
        uint32_t base = (uint32_t)(127 + 24 - type.bias - type.mantissa) << 23;
        float small = jd__f32_of(magnitude) + jd__f32_of(base);
        code = code > type.top ? type.beyond : code;
        code = magnitude < ((uint32_t)(128 - type.bias) << 23)
                   ? jd__f32_bits(small) - base
                   : code;
    }
    uint32_t sign = (bits >> 31) << (type.bits - 1);
    if (type.beyond == type.nan)
        sign = code == type.nan ? 0 : sign;
    return magnitude > 0x7f800000 ? type.nan : code | sign;
}

/* The same from F64. BF16's subnormals are none in F64. */
JD_INLINE uint32_t jd__small_from_f64(double x, struct jd_small type)
{
    const int shift = 52 - type.mantissa;
    uint64_t bits = jd__f64_bits(x);
    uint64_t magnitude = bits & 0x7fffffffffffffff;
    uint64_t half = (1ull << (shift - 1)) - 1;
    uint64_t code = magnitude - ((uint64_t)(1023 - type.bias) << 52);
    code = (code + half + ((magnitude >> shift) & 1)) >> shift;
    code = code > type.top ? type.beyond : code;
    uint64_t base = (uint64_t)(1023 + 53 - type.bias - type.mantissa) << 52;
    double small = jd__f64_of(magnitude) + jd__f64_of(base);
    code = magnitude < ((uint64_t)(1024 - type.bias) << 52)
               ? jd__f64_bits(small) - base
               : code;
    uint64_t sign = (bits >> 63) << (type.bits - 1);
    if (type.beyond == type.nan)
        sign = code == type.nan ? 0 : sign;
    return (uint32_t)(magnitude > 0x7ff0000000000000 ? type.nan : code | sign);
}

/*
 * The order of floating numbers as that of signed integers: jd__NAME_key() of a
 * code, in which negative ones are turned round. NaNs with a sign, which are
 * the lowest then, are brought above the others by taking off their number,
 * modulo 2^bits, and so NaN wins a maximum. For a minimum the sign is changed
 * before and after: flip is jd__NAME_sign() then, else 0. jd__NAME_code() is
 * the way back; of all NaNs' keys it makes the one NaN. jd__NAME_max() is the
 * larger of two codes.
 */
#define JD_DEFINE_ORDER(name, bits, infinity, nan)                             \
    JD_INLINE uint##bits##_t jd__##name##_sign(void)                           \
    {                                                                          \
        return (uint##bits##_t)((uint##bits##_t)1 << (bits - 1));              \
    }                                                                          \
    JD_INLINE int##bits##_t jd__##name##_key(uint##bits##_t code)              \
    {                                                                          \
        const uint##bits##_t low = (uint##bits##_t) ~0 >> 1;                   \
        int##bits##_t sign = (int##bits##_t)code < 0 ? -1 : 0;                 \
        return (int##bits##_t)((code ^ ((uint##bits##_t)sign & low)) -         \
                               (low - (infinity)));                            \
    }                                                                          \
    JD_INLINE uint##bits##_t jd__##name##_code(int##bits##_t number,           \
                                               uint##bits##_t flip)            \
    {                                                                          \
        const uint##bits##_t low = (uint##bits##_t) ~0 >> 1;                   \
        uint##bits##_t key =                                                   \
            (uint##bits##_t)((uint##bits##_t)number + (low - (infinity)));     \
        int##bits##_t sign = (int##bits##_t)key < 0 ? -1 : 0;                  \
        uint##bits##_t code = key ^ ((uint##bits##_t)sign & low);              \
        return (uint##bits##_t)((code & low) > (infinity) ? (nan)              \
                                                          : (code ^ flip));    \
    }                                                                          \
    JD_INLINE uint##bits##_t jd__##name##_max(                                 \
        uint##bits##_t a, uint##bits##_t b, uint##bits##_t flip)               \
    {                                                                          \
        int##bits##_t x = jd__##name##_key(a ^ flip),                          \
                      y = jd__##name##_key(b ^ flip);                          \
        return jd__##name##_code(x > y ? x : y, flip);                         \
    }
JD_DEFINE_ORDER(f8e4m3fn, 8, 0x7e, 0x7f)
JD_DEFINE_ORDER(f8e5m2, 8, 0x7c, 0x7e)
JD_DEFINE_ORDER(f16, 16, 0x7c00, 0x7e00)
JD_DEFINE_ORDER(bf16, 16, 0x7f80, 0x7fc0)
JD_DEFINE_ORDER(f32, 32, 0x7f800000, 0x7fc00000)
JD_DEFINE_ORDER(f64, 64, 0x7ff0000000000000, 0x7ff8000000000000)

#endif

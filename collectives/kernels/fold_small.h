/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fold_small.h - for fold_loops.c alone: the loops of F16, BF16 and F8, each
 * as the compiler makes it, and some in the vectors of fold_vector.h.
 */
#ifndef COLLECTIVES_KERNELS_FOLD_SMALL_H
#define COLLECTIVES_KERNELS_FOLD_SMALL_H

#include "collectives/kernels/fold_number.h"
#include "collectives/kernels/fold_vector.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef uint8_t code8;
typedef uint16_t code16 JD_ANYWHERE;
typedef uint32_t two_codes JD_ANYWHERE;
typedef float number JD_ANYWHERE;

#define DEFINE_WIDEN(name, code, layout)                                       \
    static void widen_##name(void *to, const void *from, size_t n)             \
    {                                                                          \
        number *out = to;                                                      \
        const code *in = from;                                                 \
        JD_INDEPENDENT                                                         \
        for (size_t i = 0; i < n; i++)                                         \
            out[i] = jd__small_widen(in[i], layout);                           \
    }
#define DEFINE_NARROW(name, code, layout)                                      \
    static void narrow_##name(void *to, const void *from, size_t n)            \
    {                                                                          \
        code *out = to;                                                        \
        const number *in = from;                                               \
        JD_INDEPENDENT                                                         \
        for (size_t i = 0; i < n; i++)                                         \
            out[i] = (code)jd__small_narrow(in[i], layout);                    \
    }
DEFINE_WIDEN(bf16, code16, JD_SMALL_BF16)
DEFINE_WIDEN(f8e5m2, code8, JD_SMALL_F8E5M2)
DEFINE_WIDEN(f8e4m3fn, code8, JD_SMALL_F8E4M3FN)
DEFINE_NARROW(bf16, code16, JD_SMALL_BF16)
DEFINE_NARROW(f8e5m2, code8, JD_SMALL_F8E5M2)
DEFINE_NARROW(f8e4m3fn, code8, JD_SMALL_F8E4M3FN)

#define DEFINE_GATHER(name, code, layout)                                      \
    static void gather_##name(void *to, const void *first, const void *second, \
                              size_t n)                                        \
    {                                                                          \
        number *out = to;                                                      \
        const number *a = first;                                               \
        const code *b = second;                                                \
        JD_INDEPENDENT                                                         \
        for (size_t i = 0; i < n; i++)                                         \
            out[i] = jd__f32_plain(a[i] + jd__small_widen(b[i], layout));      \
    }
DEFINE_GATHER(bf16, code16, JD_SMALL_BF16)
DEFINE_GATHER(f8e5m2, code8, JD_SMALL_F8E5M2)
DEFINE_GATHER(f8e4m3fn, code8, JD_SMALL_F8E4M3FN)

#ifdef FOLD_VECTORS
/* What one step does: to numbers as many as vectors hold. */
typedef void fold_step(void *out, const void *a, const void *b);

struct fold_shape {
    size_t numbers; /* of a step */
    size_t out_size, a_size, b_size;
};

/* The numbers after the last whole step take one beside the vectors. */
JD_INLINE void in_steps(fold_step *step, struct fold_shape shape, void *to,
                        const void *first, const void *second, size_t n)
{
    unsigned char *out = to;
    const unsigned char *a = first, *b = second;
    size_t whole = n - n % shape.numbers, left = n - whole;
    for (size_t i = 0; i < whole; i += shape.numbers)
        step(out + i * shape.out_size, a + i * shape.a_size,
             b + i * shape.b_size);
    if (left == 0)
        return;
    unsigned char beside[3][sizeof(lanes) * 2] = { { 0 } };
    memcpy(beside[1], a + whole * shape.a_size, left * shape.a_size);
    memcpy(beside[2], b + whole * shape.b_size, left * shape.b_size);
    step(beside[0], beside[1], beside[2]);
    memcpy(out + whole * shape.out_size, beside[0], left * shape.out_size);
}

/* Other bits of a NaN come up so seldom that a branch is the cheapest. */
JD_INLINE void make_plain(lanes *x, lanes *y)
{
    if (__builtin_expect(any_nan(*x, *y), 0)) {
        *x = plain_lanes(*x);
        *y = plain_lanes(*y);
    }
}

JD_INLINE void gather_f16_step(void *out, const void *a, const void *b)
{
    store_f32(out, plain_lanes(add_lanes(load_f32(a), load_f16(b))));
}

JD_INLINE void widen_f16_step(void *out, const void *a, const void *b)
{
    (void)b;
    store_f32(out, plain_lanes(load_f16(a)));
}

JD_INLINE void narrow_f16_step(void *out, const void *a, const void *b)
{
    (void)b;
    store_f16(out, plain_lanes(load_f32(a)));
}

/* Two vectors of lanes: of BF16 the even and the odd numbers, of F16 the lower
 * and the upper half. */
struct both {
    lanes x, y;
};

JD_INLINE struct both load_both_bf16(const void *from)
{
    words both = load_words(from);
    return (struct both){ even_bf16(both), odd_bf16(both) };
}

JD_INLINE void store_both_bf16(void *to, struct both sum)
{
    store_words(to, join_bf16(sum.x, sum.y));
}

JD_INLINE struct both load_both_f16(const void *from)
{
    const code16 *codes = from;
    return (struct both){ load_f16(codes), load_f16(codes + LANES) };
}

JD_INLINE void store_both_f16(void *to, struct both sum)
{
    store_f16(to, sum.x);
    store_f16((code16 *)to + LANES, sum.y);
}

JD_INLINE struct both divide_both(struct both sum, int divisor)
{
    float by = (float)divisor;
    if (divisor == 0)
        return sum;
    if ((divisor & (divisor - 1)) == 0)
        return (struct both){ multiply_lanes(sum.x, 1 / by),
                              multiply_lanes(sum.y, 1 / by) };
    return (struct both){ divide_lanes(sum.x, by), divide_lanes(sum.y, by) };
}

#define DEFINE_PAIR_STEP(name)                                                 \
    JD_INLINE void pair_##name##_step(void *out, const void *a, const void *b) \
    {                                                                          \
        struct both x = load_both_##name(a), y = load_both_##name(b);          \
        struct both sum = { add_lanes(x.x, y.x), add_lanes(x.y, y.y) };        \
        make_plain(&sum.x, &sum.y);                                            \
        store_both_##name(out, sum);                                           \
    }
DEFINE_PAIR_STEP(bf16)
DEFINE_PAIR_STEP(f16)

/* Any number of ins, which meet in registers; bytes are those of a step, or
 * fewer at the end. */
#define DEFINE_MANY(name)                                                      \
    JD_INLINE void many_##name##_step(unsigned char *out,                      \
                                      const void *const *ins, int num_ins,     \
                                      size_t at, size_t bytes, int divisor)    \
    {                                                                          \
        unsigned char beside[sizeof(lanes)] = { 0 };                           \
        struct both sum = { 0 };                                               \
        for (int k = 0; k < num_ins; k++) {                                    \
            const unsigned char *in = (const unsigned char *)ins[k] + at;      \
            if (bytes < sizeof beside)                                         \
                in = memcpy(beside, in, bytes);                                \
            struct both next = load_both_##name(in);                           \
            sum.x = k == 0 ? next.x : add_lanes(sum.x, next.x);                \
            sum.y = k == 0 ? next.y : add_lanes(sum.y, next.y);                \
        }                                                                      \
        sum = divide_both(sum, divisor);                                       \
        make_plain(&sum.x, &sum.y);                                            \
        if (bytes == sizeof beside) {                                          \
            store_both_##name(out, sum);                                       \
        } else {                                                               \
            store_both_##name(beside, sum);                                    \
            memcpy(out, beside, bytes);                                        \
        }                                                                      \
    }                                                                          \
    static void many_##name(void *to, const void *const *ins, int num_ins,     \
                            size_t start, size_t n, int divisor)               \
    {                                                                          \
        unsigned char *out = to;                                               \
        const size_t step = sizeof(lanes), bytes = 2 * n;                      \
        const size_t whole = bytes - bytes % step;                             \
        for (size_t i = 0; i < whole; i += step)                               \
            many_##name##_step(out + i, ins, num_ins, 2 * start + i, step,     \
                               divisor);                                       \
        if (bytes > whole)                                                     \
            many_##name##_step(out + whole, ins, num_ins, 2 * start + whole,   \
                               bytes - whole, divisor);                        \
    }
DEFINE_MANY(bf16)
DEFINE_MANY(f16)

static void pair_bf16(void *out, const void *a, const void *b, size_t n)
{
    in_steps(pair_bf16_step, (struct fold_shape){ 2 * LANES, 2, 2, 2 }, out, a,
             b, n);
}

static void pair_f16(void *out, const void *a, const void *b, size_t n)
{
    in_steps(pair_f16_step, (struct fold_shape){ 2 * LANES, 2, 2, 2 }, out, a,
             b, n);
}

static void gather_f16(void *out, const void *a, const void *b, size_t n)
{
    in_steps(gather_f16_step, (struct fold_shape){ LANES, 4, 4, 2 }, out, a, b,
             n);
}

static void widen_f16(void *out, const void *in, size_t n)
{
    in_steps(widen_f16_step, (struct fold_shape){ LANES, 4, 2, 0 }, out, in, in,
             n);
}

static void narrow_f16(void *out, const void *in, size_t n)
{
    in_steps(narrow_f16_step, (struct fold_shape){ LANES, 2, 4, 0 }, out, in,
             in, n);
}

#else
DEFINE_WIDEN(f16, code16, JD_SMALL_F16)
DEFINE_NARROW(f16, code16, JD_SMALL_F16)
DEFINE_GATHER(f16, code16, JD_SMALL_F16)
#define pair_f16 NULL
#define many_f16 NULL
#define many_bf16 NULL

/* Two numbers in a word, without a shuffle. */
static void pair_bf16(void *to, const void *first, const void *second, size_t n)
{
    two_codes *out = to;
    const two_codes *a = first, *b = second;
    JD_INDEPENDENT
    for (size_t i = 0; i < n / 2; i++) {
        const uint32_t x = a[i], y = b[i], odd = 0xffff0000;
        float low = jd__f32_of(x << 16) + jd__f32_of(y << 16);
        float high = jd__f32_of(x & odd) + jd__f32_of(y & odd);
        out[i] = jd__small_narrow(low, JD_SMALL_BF16) |
                 jd__small_narrow(high, JD_SMALL_BF16) << 16;
    }
    if (n % 2 == 1) {
        const code16 *x = first, *y = second;
        float sum = jd__small_widen(x[n - 1], JD_SMALL_BF16) +
                    jd__small_widen(y[n - 1], JD_SMALL_BF16);
        ((code16 *)to)[n - 1] = (code16)jd__small_narrow(sum, JD_SMALL_BF16);
    }
}
#endif

#endif

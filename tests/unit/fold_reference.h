/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fold_reference.h - what folds of single elements give, slowly and by the
 * definition of each type; the variants that are held against it, and the
 * values that are wild enough.
 */
#ifndef TESTS_UNIT_FOLD_REFERENCE_H
#define TESTS_UNIT_FOLD_REFERENCE_H

#include "collectives/kernels/fold.h"
#include "tests/unit/numbers.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const char *const variants[] = { "portable", "avx2", "avx512" };
enum { NUM_VARIANTS = 3 };

/* False, and said so, where this processor cannot run it. */
static inline bool choose(const char *variant)
{
    bool can = jd__fold_set_variant(variant);
    if (!can)
        printf("# the processor has no %s, not tested\n", variant);
    return can;
}

static const jd_dtype dtypes[] = {
#define LIST_DTYPE(name, number, size) JD_##name,
    JD_DTYPE_MAP(LIST_DTYPE)
#undef LIST_DTYPE
};
enum { NUM_DTYPES = sizeof dtypes / sizeof *dtypes };

static inline bool is_complex(jd_dtype dtype)
{
    return dtype == JD_C64 || dtype == JD_C128;
}

static inline bool is_small(jd_dtype dtype)
{
    return jd__fold_wide(dtype) != dtype;
}

static inline bool is_float(jd_dtype dtype)
{
    return is_small(dtype) || is_complex(dtype) || dtype == JD_F32 ||
           dtype == JD_F64;
}

static inline bool is_signed(jd_dtype dtype)
{
    return dtype == JD_S8 || dtype == JD_S16 || dtype == JD_S32 ||
           dtype == JD_S64;
}

static inline bool is_of_bits(enum jd_reduce op)
{
    return op == JD_REDUCE_AND || op == JD_REDUCE_OR || op == JD_REDUCE_XOR;
}

static inline bool has_meaning(jd_dtype dtype, enum jd_reduce op)
{
    bool orders = op == JD_REDUCE_MAX || op == JD_REDUCE_MIN;
    if (is_of_bits(op))
        return !is_float(dtype);
    if (is_complex(dtype))
        return !orders;
    return is_float(dtype) || orders ||
           (dtype != JD_PRED && op != JD_REDUCE_MEAN);
}

/* One element, whatever its type. Of F32 and smaller ones f, else d. */
struct element {
    uint64_t integer;
    float f[2];
    double d[2];
};

static inline struct element load(jd_dtype dtype, const unsigned char *from)
{
    struct element e = { 0 };
    size_t size = jd_dtype_size(dtype);
    if (is_small(dtype)) {
        memcpy(&e.integer, from, size);
        e.f[0] = (float)number_decode(dtype, (unsigned)e.integer);
    } else if (dtype == JD_F32 || dtype == JD_C64) {
        memcpy(e.f, from, size);
    } else if (dtype == JD_F64 || dtype == JD_C128) {
        memcpy(e.d, from, size);
    } else {
        memcpy(&e.integer, from, size);
        if (is_signed(dtype) && from[size - 1] >> 7)
            for (size_t i = size; i < 8; i++)
                e.integer |= (uint64_t)0xff << (8 * i);
    }
    return e;
}

static inline void store(jd_dtype dtype, struct element e, unsigned char *to)
{
    size_t size = jd_dtype_size(dtype);
    for (int i = 0; i < 2; i++) {
        e.f[i] = isnan(e.f[i]) ? copysignf(NAN, 1) : e.f[i];
        e.d[i] = isnan(e.d[i]) ? copysign(NAN, 1) : e.d[i];
    }
    if (is_small(dtype)) {
        unsigned code = number_encode(dtype, e.f[0]);
        memcpy(to, &code, size);
    } else if (dtype == JD_F32 || dtype == JD_C64) {
        memcpy(to, e.f, size);
    } else if (dtype == JD_F64 || dtype == JD_C128) {
        memcpy(to, e.d, size);
    } else {
        memcpy(to, &e.integer, size);
    }
}

#define FIRST_OF(x, y, greater)                                                \
    (isnan(x) || isnan(y)       ? NAN                                          \
     : (x) == (y)               ? (!signbit(x) == (greater) ? (x) : (y))       \
     : ((x) > (y)) == (greater) ? (x)                                          \
                                : (y))

static inline uint64_t combine_bits(enum jd_reduce op, uint64_t a, uint64_t b)
{
    return op == JD_REDUCE_AND ? a & b : op == JD_REDUCE_OR ? a | b : a ^ b;
}

static inline struct element combine(jd_dtype dtype, enum jd_reduce op,
                                     struct element a, struct element b)
{
    struct element e = a;
    bool greater = op == JD_REDUCE_MAX, is_product = op == JD_REDUCE_PROD;
    if (is_of_bits(op)) {
        e.integer = dtype == JD_PRED
                        ? combine_bits(op, a.integer != 0, b.integer != 0)
                        : combine_bits(op, a.integer, b.integer);
    } else if (dtype == JD_PRED) {
        e.integer = greater ? a.integer || b.integer : a.integer && b.integer;
    } else if (op == JD_REDUCE_MAX || op == JD_REDUCE_MIN) {
        bool less = is_signed(dtype) ? (int64_t)a.integer < (int64_t)b.integer
                                     : a.integer < b.integer;
        e.integer = less == greater ? b.integer : a.integer;
        e.f[0] = (float)FIRST_OF(a.f[0], b.f[0], greater);
        e.d[0] = FIRST_OF(a.d[0], b.d[0], greater);
    } else if (is_product && is_complex(dtype)) {
        e.f[0] = a.f[0] * b.f[0] - a.f[1] * b.f[1];
        e.f[1] = a.f[0] * b.f[1] + a.f[1] * b.f[0];
        e.d[0] = a.d[0] * b.d[0] - a.d[1] * b.d[1];
        e.d[1] = a.d[0] * b.d[1] + a.d[1] * b.d[0];
    } else {
        e.integer = is_product ? a.integer * b.integer : a.integer + b.integer;
        for (int i = 0; i < 2; i++) {
            e.f[i] = is_product ? a.f[i] * b.f[i] : a.f[i] + b.f[i];
            e.d[i] = is_product ? a.d[i] * b.d[i] : a.d[i] + b.d[i];
        }
    }
    return e;
}

static inline struct element divide(struct element e, int divisor)
{
    for (int part = 0; part < 2; part++) {
        e.f[part] /= (float)divisor;
        e.d[part] /= divisor;
    }
    return e;
}

static inline uint64_t wild_bits(void)
{
    static uint64_t state = 1;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state ^ state >> 29;
}

/* Random bits; half of floats are special, or small and round. */
static inline void fill_wild(unsigned char *to, size_t bytes, jd_dtype dtype)
{
    static const double specials[] = { NAN,       -NAN,    INFINITY, -INFINITY,
                                       0.0,       -0.0,    1.0,      -1.0,
                                       1.5,       65504,   -65520,   448,
                                       0x1p-149,  0x1p-24, 0x1p-9,   0x1p-1074,
                                       -0x1p-133, 464,     3.4e38,   1e308 };
    for (size_t i = 0; i < bytes; i += 8) {
        uint64_t bits = wild_bits();
        memcpy(to + i, &bits, 8);
    }
    jd_dtype part = dtype == JD_C64    ? JD_F32
                    : dtype == JD_C128 ? JD_F64
                                       : dtype;
    size_t size = jd_dtype_size(part);
    for (size_t at = 0; is_float(dtype) && at < bytes; at += size) {
        uint64_t bits = wild_bits() >> 13;
        double x = specials[bits % 20];
        if (bits >> 5 & 1)
            x = (double)(bits >> 8 & 0xff) / 64 - 2;
        if (bits >> 6 & 1)
            store(part, (struct element){ .f = { (float)x }, .d = { x } },
                  to + at);
    }
}

#endif

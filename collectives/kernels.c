/* SPDX-License-Identifier: BSD-3-Clause */
/* kernels.c - sums of vectors, a function per type and a table of them. */
#include "collectives/kernels.h"

#include <stdint.h>

/* gcc 12 vectorises a loop of unknown length at -O3 only; clang at -O2. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O3")
#endif

/* Buffers of a program, and payloads in messages, have any alignment; and
 * what the program calls a long long may be an int64_t here. */
#define ANYWHERE __attribute__((aligned(1), may_alias))

typedef uint8_t u8;
typedef uint16_t u16 ANYWHERE;
typedef uint32_t u32 ANYWHERE;
typedef uint64_t u64 ANYWHERE;
typedef float f32 ANYWHERE;
typedef double f64 ANYWHERE;

/* Unsigned arithmetic wraps, and gives the bits of the signed sum too. */
#define DEFINE_ADD(type)                                                       \
    static void add_##type(void *accumulator, const void *in, size_t n)        \
    {                                                                          \
        type *restrict a = accumulator;                                        \
        const type *restrict b = in;                                           \
        for (size_t i = 0; i < n; i++)                                         \
            a[i] = (type)(a[i] + b[i]);                                        \
    }

DEFINE_ADD(u8)
DEFINE_ADD(u16)
DEFINE_ADD(u32)
DEFINE_ADD(u64)
DEFINE_ADD(f32)
DEFINE_ADD(f64)

/* A complex number is its two parts. */
static void add_c64(void *accumulator, const void *in, size_t n)
{
    add_f32(accumulator, in, 2 * n);
}

static void add_c128(void *accumulator, const void *in, size_t n)
{
    add_f64(accumulator, in, 2 * n);
}

#define NUM_DTYPES (JD_F8E4M3FN + 1) /* the largest number */

static jd_kernel *const add_table[NUM_DTYPES] = {
    [JD_S8] = add_u8,   [JD_S16] = add_u16, [JD_S32] = add_u32,
    [JD_S64] = add_u64, [JD_U8] = add_u8,   [JD_U16] = add_u16,
    [JD_U32] = add_u32, [JD_U64] = add_u64, [JD_F32] = add_f32,
    [JD_F64] = add_f64, [JD_C64] = add_c64, [JD_C128] = add_c128,
};

jd_kernel *jd__kernel_add(jd_dtype dtype)
{
    return (unsigned)dtype < NUM_DTYPES ? add_table[dtype] : NULL;
}

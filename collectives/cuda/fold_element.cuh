/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fold_element.cuh - the folds of single elements, on a GPU and on the host:
 * every pair of a type and an operation that collectives/kernels/fold.h has,
 * made of the cpu platform's own expressions (fold_number.h), so that the bits
 * are the same. Nothing here may be contracted: nvcc -fmad=false.
 *
 *     Fold::wide sum = Fold::first(a);
 *     sum = Fold::next(sum, b);
 *     Fold::stored out = Fold::last(sum, divisor);
 *
 * fold_visit() finds the Fold of a pair, fold_visit_keys() what turns floats
 * into integers of the same order. A compiler of C++ without CUDA takes
 * this file too: the unit tests are built by one.
 */
#ifndef COLLECTIVES_CUDA_FOLD_ELEMENT_CUH
#define COLLECTIVES_CUDA_FOLD_ELEMENT_CUH

#ifdef __CUDACC__
#define FOLD_INLINE static __host__ __device__ __forceinline__
#else
#define FOLD_INLINE static inline
#endif
#define JD_INLINE FOLD_INLINE
#include "collectives/kernels/fold_number.h"
#include "collectives/kernels/order_keys.h"
#include "collectives/kernels/reduce.h"
#include "jd_dtype.h"

#include <stddef.h>
#include <stdint.h>

/* What a type is stored as and computed in, and its arithmetic. */
template <class T> struct fold_unsigned {
    typedef T stored;
    typedef T wide;
    FOLD_INLINE wide widen(stored x)
    {
        return x;
    }
    FOLD_INLINE stored narrow(wide x)
    {
        return x;
    }
    FOLD_INLINE wide sum(wide x, wide y)
    {
        return (T)(x + y);
    }
    /* Of 16 bits it would be int's product, which does not wrap. */
    FOLD_INLINE wide product(wide x, wide y)
    {
        return (T)(1u * x * y);
    }
};

struct fold_f32 {
    typedef float stored;
    typedef float wide;
    FOLD_INLINE wide widen(stored x)
    {
        return x;
    }
    FOLD_INLINE stored narrow(wide x)
    {
        return x;
    }
    FOLD_INLINE wide sum(wide x, wide y)
    {
        return jd__f32_plain(x + y);
    }
    FOLD_INLINE wide product(wide x, wide y)
    {
        return jd__f32_plain(x * y);
    }
    FOLD_INLINE wide divide(wide x, int divisor)
    {
        return jd__f32_plain(x / (float)divisor);
    }
};

struct fold_f64 {
    typedef double stored;
    typedef double wide;
    FOLD_INLINE wide widen(stored x)
    {
        return x;
    }
    FOLD_INLINE stored narrow(wide x)
    {
        return x;
    }
    FOLD_INLINE wide sum(wide x, wide y)
    {
        return jd__f64_plain(x + y);
    }
    FOLD_INLINE wide product(wide x, wide y)
    {
        return jd__f64_plain(x * y);
    }
    FOLD_INLINE wide divide(wide x, int divisor)
    {
        return jd__f64_plain(x / divisor);
    }
};

/* F16, BF16 and F8: F32 that is rounded once. */
#define DEFINE_SMALL(name, code, layout)                                       \
    struct fold_##name : fold_f32 {                                            \
        typedef code stored;                                                   \
        FOLD_INLINE wide widen(stored x)                                       \
        {                                                                      \
            return jd__small_widen(x, layout);                                 \
        }                                                                      \
        FOLD_INLINE stored narrow(wide x)                                      \
        {                                                                      \
            return (code)jd__small_narrow(x, layout);                          \
        }                                                                      \
    };
DEFINE_SMALL(f16, uint16_t, JD_SMALL_F16)
DEFINE_SMALL(bf16, uint16_t, JD_SMALL_BF16)
DEFINE_SMALL(f8e5m2, uint8_t, JD_SMALL_F8E5M2)
DEFINE_SMALL(f8e4m3fn, uint8_t, JD_SMALL_F8E4M3FN)
#undef DEFINE_SMALL

/* A complex number as a whole, for products alone. */
template <class Part> struct fold_complex {
    typedef typename Part::stored part;
    struct stored {
        part re, im;
    };
    typedef stored wide;
    FOLD_INLINE wide widen(stored x)
    {
        return x;
    }
    FOLD_INLINE stored narrow(wide x)
    {
        return x;
    }
    FOLD_INLINE wide product(wide x, wide y)
    {
        stored z;
        z.re = Part::sum(x.re * y.re, -(x.im * y.im));
        z.im = Part::sum(x.re * y.im, x.im * y.re);
        return z;
    }
};

/* The operations. */
template <class Type> struct fold_sum {
    typedef typename Type::stored stored;
    typedef typename Type::wide wide;
    FOLD_INLINE wide first(stored x)
    {
        return Type::widen(x);
    }
    FOLD_INLINE wide next(wide x, stored y)
    {
        return Type::sum(x, Type::widen(y));
    }
    FOLD_INLINE stored last(wide x, int divisor)
    {
        (void)divisor;
        return Type::narrow(x);
    }
};

template <class Type> struct fold_mean : fold_sum<Type> {
    FOLD_INLINE typename Type::stored last(typename Type::wide x, int divisor)
    {
        return Type::narrow(Type::divide(x, divisor));
    }
};

template <class Type> struct fold_product : fold_sum<Type> {
    FOLD_INLINE typename Type::wide next(typename Type::wide x,
                                         typename Type::stored y)
    {
        return Type::product(x, Type::widen(y));
    }
};

/* Without rounding: what is folded is codes. */
template <class T> struct fold_codes {
    typedef T stored;
    typedef T wide;
    FOLD_INLINE wide first(stored x)
    {
        return x;
    }
    FOLD_INLINE stored last(wide x, int divisor)
    {
        (void)divisor;
        return x;
    }
};

#define DEFINE_CODES(name, type, expression)                                   \
    struct name : fold_codes<type> {                                           \
        FOLD_INLINE type next(type x, type y)                                  \
        {                                                                      \
            return (type)(expression);                                         \
        }                                                                      \
    };
DEFINE_CODES(fold_max_pred, uint8_t, (x | y) != 0)
DEFINE_CODES(fold_min_pred, uint8_t, (x != 0) & (y != 0))
DEFINE_CODES(fold_xor_pred, uint8_t, (x != 0) ^ (y != 0))
#define DEFINE_BITS(size)                                                      \
    DEFINE_CODES(fold_and_u##size, uint##size##_t, x &y)                       \
    DEFINE_CODES(fold_or_u##size, uint##size##_t, x | y)                       \
    DEFINE_CODES(fold_xor_u##size, uint##size##_t, x ^ y)
DEFINE_BITS(8)
DEFINE_BITS(16)
DEFINE_BITS(32)
DEFINE_BITS(64)
#define DEFINE_INTEGER_ORDER(name, type)                                       \
    DEFINE_CODES(fold_max_##name, type, x > y ? x : y)                         \
    DEFINE_CODES(fold_min_##name, type, x < y ? x : y)
DEFINE_INTEGER_ORDER(s8, int8_t)
DEFINE_INTEGER_ORDER(s16, int16_t)
DEFINE_INTEGER_ORDER(s32, int32_t)
DEFINE_INTEGER_ORDER(s64, int64_t)
DEFINE_INTEGER_ORDER(u8, uint8_t)
DEFINE_INTEGER_ORDER(u16, uint16_t)
DEFINE_INTEGER_ORDER(u32, uint32_t)
DEFINE_INTEGER_ORDER(u64, uint64_t)
#define DEFINE_FLOAT_ORDER(name, type)                                         \
    DEFINE_CODES(fold_max_##name, type, jd__##name##_max(x, y, 0))             \
    DEFINE_CODES(fold_min_##name, type,                                        \
                 jd__##name##_max(x, y, jd__##name##_sign()))
DEFINE_FLOAT_ORDER(f8e4m3fn, uint8_t)
DEFINE_FLOAT_ORDER(f8e5m2, uint8_t)
DEFINE_FLOAT_ORDER(f16, uint16_t)
DEFINE_FLOAT_ORDER(bf16, uint16_t)
DEFINE_FLOAT_ORDER(f32, uint32_t)
DEFINE_FLOAT_ORDER(f64, uint64_t)

/* One vector's codes as keys, and back (order_keys.h). */
#define DEFINE_MAP(name, type, expression)                                     \
    struct name : fold_codes<type> {                                           \
        FOLD_INLINE type next(type x, type y)                                  \
        {                                                                      \
            (void)y;                                                           \
            return x;                                                          \
        }                                                                      \
        FOLD_INLINE type last(type x, int divisor)                             \
        {                                                                      \
            (void)divisor;                                                     \
            return (type)(expression);                                         \
        }                                                                      \
    };
#define DEFINE_KEYS(name, type, number)                                        \
    DEFINE_MAP(keys_max_##name, type, jd__##name##_key(x))                     \
    DEFINE_MAP(keys_min_##name, type,                                          \
               jd__##name##_key(x ^ jd__##name##_sign()))                      \
    DEFINE_MAP(codes_max_##name, type, jd__##name##_code((number)x, 0))        \
    DEFINE_MAP(codes_min_##name, type,                                         \
               jd__##name##_code((number)x, jd__##name##_sign()))
DEFINE_KEYS(f8e4m3fn, uint8_t, int8_t)
DEFINE_KEYS(f8e5m2, uint8_t, int8_t)
DEFINE_KEYS(f32, uint32_t, int32_t)
DEFINE_KEYS(f64, uint64_t, int64_t)
#undef DEFINE_MAP
#undef DEFINE_KEYS
#undef DEFINE_CODES
#undef DEFINE_BITS
#undef DEFINE_INTEGER_ORDER
#undef DEFINE_FLOAT_ORDER

/* visitor.run<Fold>(parts): an element is so many of what Fold folds. */
template <class Type, class Visitor>
bool fold_visit_integer(enum jd_reduce op, Visitor &visitor)
{
    if (op == JD_REDUCE_SUM)
        visitor.template run<fold_sum<Type>>(1);
    else if (op == JD_REDUCE_PROD)
        visitor.template run<fold_product<Type>>(1);
    return op == JD_REDUCE_SUM || op == JD_REDUCE_PROD;
}

template <class Type, class Visitor>
bool fold_visit_sums(enum jd_reduce op, int parts, Visitor &visitor)
{
    if (op == JD_REDUCE_SUM)
        visitor.template run<fold_sum<Type>>(parts);
    else if (op == JD_REDUCE_MEAN)
        visitor.template run<fold_mean<Type>>(parts);
    return op == JD_REDUCE_SUM || op == JD_REDUCE_MEAN;
}

template <class Type, class Visitor>
bool fold_visit_real(enum jd_reduce op, Visitor &visitor)
{
    if (op == JD_REDUCE_PROD)
        visitor.template run<fold_product<Type>>(1);
    return op == JD_REDUCE_PROD || fold_visit_sums<Type>(op, 1, visitor);
}

template <class Part, class Visitor>
bool fold_visit_complex(enum jd_reduce op, Visitor &visitor)
{
    if (op == JD_REDUCE_PROD)
        visitor.template run<fold_product<fold_complex<Part>>>(1);
    return op == JD_REDUCE_PROD || fold_visit_sums<Part>(op, 2, visitor);
}

template <class Max, class Min, class Visitor>
bool fold_visit_order(enum jd_reduce op, Visitor &visitor)
{
    if (op == JD_REDUCE_MAX)
        visitor.template run<Max>(1);
    else if (op == JD_REDUCE_MIN)
        visitor.template run<Min>(1);
    return op == JD_REDUCE_MAX || op == JD_REDUCE_MIN;
}

template <class And, class Or, class Xor, class Visitor>
bool fold_visit_bits(enum jd_reduce op, Visitor &visitor)
{
    if (op == JD_REDUCE_AND)
        visitor.template run<And>(1);
    else if (op == JD_REDUCE_OR)
        visitor.template run<Or>(1);
    else if (op == JD_REDUCE_XOR)
        visitor.template run<Xor>(1);
    return op == JD_REDUCE_AND || op == JD_REDUCE_OR || op == JD_REDUCE_XOR;
}

#define FOLD_BITS(and_, or_, xor_)                                             \
    fold_visit_bits<fold_##and_, fold_##or_, fold_##xor_>(op, visitor)
#define FOLD_ORDER(name)                                                       \
    fold_visit_order<fold_max_##name, fold_min_##name>(op, visitor)
#define FOLD_INTEGER(number, name, size)                                       \
    case JD_##number:                                                          \
        return FOLD_ORDER(name) ||                                             \
               FOLD_BITS(and_u##size, or_u##size, xor_u##size) ||              \
               fold_visit_integer<fold_unsigned<uint##size##_t>>(op, visitor);
#define FOLD_REAL(number, name)                                                \
    case JD_##number:                                                          \
        return FOLD_ORDER(name) || fold_visit_real<fold_##name>(op, visitor);

/* False, and the visitor not called, for a pair without a meaning. */
template <class Visitor>
bool fold_visit(jd_dtype dtype, enum jd_reduce op, Visitor &visitor)
{
    switch (dtype) {
        FOLD_INTEGER(S8, s8, 8)
        FOLD_INTEGER(S16, s16, 16)
        FOLD_INTEGER(S32, s32, 32)
        FOLD_INTEGER(S64, s64, 64)
        FOLD_INTEGER(U8, u8, 8)
        FOLD_INTEGER(U16, u16, 16)
        FOLD_INTEGER(U32, u32, 32)
        FOLD_INTEGER(U64, u64, 64)
        FOLD_REAL(F16, f16)
        FOLD_REAL(BF16, bf16)
        FOLD_REAL(F8E5M2, f8e5m2)
        FOLD_REAL(F8E4M3FN, f8e4m3fn)
        FOLD_REAL(F32, f32)
        FOLD_REAL(F64, f64)
    case JD_C64:
        return fold_visit_complex<fold_f32>(op, visitor);
    case JD_C128:
        return fold_visit_complex<fold_f64>(op, visitor);
    case JD_PRED:
        return FOLD_ORDER(pred) || FOLD_BITS(min_pred, max_pred, xor_pred);
    default:
        return false;
    }
}

/* As fold_visit(), with what makes keys of one vector, or codes of keys; false
 * where jd__order_keys_find() has none. */
#define FOLD_KEYS(number, name)                                                \
    case JD_##number:                                                          \
        return way == JD_ORDER_TO_KEYS                                         \
                   ? fold_visit_order<keys_max_##name, keys_min_##name>(       \
                         op, visitor)                                          \
                   : fold_visit_order<codes_max_##name, codes_min_##name>(     \
                         op, visitor);
template <class Visitor>
bool fold_visit_keys(jd_dtype dtype, enum jd_reduce op, enum jd_order_way way,
                     Visitor &visitor)
{
    switch (dtype) {
        FOLD_KEYS(F8E5M2, f8e5m2)
        FOLD_KEYS(F8E4M3FN, f8e4m3fn)
        FOLD_KEYS(F32, f32)
        FOLD_KEYS(F64, f64)
    default:
        return false;
    }
}
#undef FOLD_KEYS
#undef FOLD_BITS
#undef FOLD_ORDER
#undef FOLD_INTEGER
#undef FOLD_REAL

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* order_keys.c - floating numbers as signed integers in the order of pmax. */
#include "collectives/kernels/order_keys.h"
#include "collectives/kernels/fold_number.h"

#include <stddef.h>

/* The four of a type: to keys and back, of a maximum and of a minimum. */
#define DEFINE_LOOP(function, type, expression)                                \
    static void function(const struct jd_fold *fold)                           \
    {                                                                          \
        const type *in = fold->ins[0];                                         \
        type *out = fold->outs[0];                                             \
        for (size_t i = 0; i < fold->count; i++) {                             \
            type x = in[i];                                                    \
            out[i] = (type)(expression);                                       \
        }                                                                      \
    }
#define DEFINE_TYPE(name, type, number)                                        \
    DEFINE_LOOP(name##_max_keys, type, jd__##name##_key(x))                    \
    DEFINE_LOOP(name##_min_keys, type,                                         \
                jd__##name##_key(x ^ jd__##name##_sign()))                     \
    DEFINE_LOOP(name##_max_codes, type, jd__##name##_code((number)x, 0))       \
    DEFINE_LOOP(name##_min_codes, type,                                        \
                jd__##name##_code((number)x, jd__##name##_sign()))             \
    static jd_fold_function *const name##_loops[2][2] = {                      \
        { name##_max_keys, name##_max_codes },                                 \
        { name##_min_keys, name##_min_codes },                                 \
    };
DEFINE_TYPE(f8e5m2, u8, s8)
DEFINE_TYPE(f8e4m3fn, u8, s8)
DEFINE_TYPE(f32, u32, s32)
DEFINE_TYPE(f64, u64, s64)

jd_fold_function *jd__order_keys_find(jd_dtype dtype, enum jd_reduce op,
                                      enum jd_order_way way)
{
    if (op != JD_REDUCE_MAX && op != JD_REDUCE_MIN)
        return NULL;
    switch (dtype) {
    case JD_F8E5M2:
        return f8e5m2_loops[op == JD_REDUCE_MIN][way];
    case JD_F8E4M3FN:
        return f8e4m3fn_loops[op == JD_REDUCE_MIN][way];
    case JD_F32:
        return f32_loops[op == JD_REDUCE_MIN][way];
    case JD_F64:
        return f64_loops[op == JD_REDUCE_MIN][way];
    default:
        return NULL;
    }
}

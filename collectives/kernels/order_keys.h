/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * order_keys.h - floating numbers as signed integers of as many bytes, in the
 * order that pmax or pmin has them: the greatest integer is the result's. So
 * what compares integers alone finds the bits that the cpu's fold has, with NaN
 * before all others and -0.0 < +0.0.
 *
 *     jd_fold_function *to_keys = jd__order_keys_find(JD_F32, JD_REDUCE_MIN,
 *                                                     JD_ORDER_TO_KEYS);
 *     to_keys(&(struct jd_fold){ .ins = &in, .num_ins = 1, .outs = &out,
 *                                .num_outs = 1, .count = n });
 *
 * Threads: any.
 */
#ifndef COLLECTIVES_KERNELS_ORDER_KEYS_H
#define COLLECTIVES_KERNELS_ORDER_KEYS_H

#include "collectives/kernels/fold.h"

enum jd_order_way { JD_ORDER_TO_KEYS, JD_ORDER_FROM_KEYS };

/* A fold of one vector, which may be its out. NULL where op is neither max nor
 * min, or the type is none of F32, F64 and F8. */
jd_fold_function *jd__order_keys_find(jd_dtype dtype, enum jd_reduce op,
                                      enum jd_order_way way);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* fold_on_host.h - the GPUs' folds of single elements, run on the host. */
#ifndef TESTS_UNIT_FOLD_ON_HOST_H
#define TESTS_UNIT_FOLD_ON_HOST_H

#include "collectives/kernels/order_keys.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* fold->num_ins vectors into outs[0]; false for a pair without a meaning. */
bool fold_on_host(jd_dtype dtype, enum jd_reduce op,
                  const struct jd_fold *fold);

/* fold->ins[0]'s keys, or the way back, into outs[0]; false where there are
 * none. */
bool keys_on_host(jd_dtype dtype, enum jd_reduce op, enum jd_order_way way,
                  const struct jd_fold *fold);

#ifdef __cplusplus
}
#endif

#endif

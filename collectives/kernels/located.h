/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * located.h - a value and the index that came with it as a pair of integers,
 * so that the greater pair is that of the greater value, or, of equal ones, of
 * the lesser index: a fold of pairs (JD_REDUCE_LOCATED) finds it.
 *
 *     jd__located_pack(&(struct jd_locating){ .dtype = JD_F32 }, in, NULL, n,
 *                      pairs);
 *     ... the greatest pairs of all members ...
 *     jd__located_values(&locating, pairs, n, out);
 *     jd__located_indices(pairs, n, out_index);
 *
 * Values have the order of JD_REDUCE_MAX and JD_REDUCE_MIN: NaN wins, and -0.0
 * < +0.0. A NaN comes out as the quiet one without sign and payload.
 * Threads: any.
 */
#ifndef COLLECTIVES_KERNELS_LOCATED_H
#define COLLECTIVES_KERNELS_LOCATED_H

#include "jd_dtype.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* As large as an element of C128, as which it travels. */
struct jd_located {
    int64_t key;  /* of the value, in its order */
    int64_t rest; /* the index's complement */
};

/* Of what: a type that JD_REDUCE_MAX has. */
struct jd_locating {
    jd_dtype dtype;
    bool is_least; /* the least value is sought */
    int64_t own;   /* the index of all elements that come without */
};

/* indices are those of the elements, or NULL. Nothing needs alignment but the
 * pairs. */
void jd__located_pack(const struct jd_locating *locating, const void *in,
                      const int64_t *indices, size_t count,
                      struct jd_located *pairs);

void jd__located_values(const struct jd_locating *locating,
                        const struct jd_located *pairs, size_t count,
                        void *out);
void jd__located_indices(const struct jd_located *pairs, size_t count,
                         int64_t *indices);

#endif

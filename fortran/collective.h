/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * collective.h - the arguments of a collective over arrays, in C's form.
 *
 *     struct jdf_collective it;
 *     jd_status status = jdf_collective_begin(&call, shard, axes, in, out,
 *                                             dtype, JDF_MOVED, &it);
 *     if (status == JD_OK)
 *         status = jd_psum(it.shard, it.along.text, it.pair.in.data, ...);
 *     jdf_collective_end(&call, &it, status);
 */
#ifndef FORTRAN_COLLECTIVE_H
#define FORTRAN_COLLECTIVE_H

#include "fortran/buffer.h"

/* What a collective is called on. */
#define JDF_ALONG jd_shard *const *shard, const CFI_cdesc_t *axes
#define JDF_ARRAYS const CFI_cdesc_t *in, const CFI_cdesc_t *out
/* The last arguments of those that have arrays. */
#define JDF_TYPED const int *dtype, JDF_OUTCOME

struct jdf_collective {
    jd_shard *shard;
    struct jdf_text along;
    struct jdf_pair pair;
};

/* To be ended whether it fails or not. */
jd_status jdf_collective_begin(const struct jdf_call *call, JDF_ALONG,
                               JDF_ARRAYS, const int *dtype, enum jdf_use use,
                               struct jdf_collective *ret_collective);

/* Unpacks what was written, where status is JD_OK, and ends the call. */
void jdf_collective_end(const struct jdf_call *call,
                        struct jdf_collective *collective, jd_status status);

/* Along its axes; negative after a failure, which has said why. */
int jdf_collective_members(const struct jdf_collective *collective);

/* A gathering has a part of each member in out, and a scattering in in: the
 * array that has them all, and the one that is a part. */
struct jdf_parts {
    const struct jdf_buffer *all, *part;
};

struct jdf_parts jdf_parts_of(const struct jdf_collective *collective,
                              bool gathers);
enum jdf_use jdf_use_of_parts(bool gathers);

/* The elements of in that are for each member. Returns: INVALID_ARGUMENT where
 * they are not as many for each. */
jd_status jdf_collective_share(const struct jdf_call *call,
                               const struct jdf_collective *collective,
                               size_t *ret_count);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sharding.h - shardings and shapes of arrays in Fortran's order of dimensions.
 *
 * C reads the dimensions the other way round: an array x(20, 100) is { 100, 20
 * } and the spec "data,-", whose first entry is of x's first dimension, is
 * "-,data". Where the entries end there are C's first dimensions, so that the
 * rank has to be known, and is a part of the handle.
 */
#ifndef FORTRAN_SHARDING_H
#define FORTRAN_SHARDING_H

#include "fortran/call.h"

#include <stdint.h>

/* type(jd_sharding) */
struct jdf_sharding {
    jd_sharding *c;
    int ndim; /* of its arrays; -1: any, as nothing is cut */
};

/* A list of lengths, of 4 or 8 bytes each, in C's order. */
struct jdf_shape {
    int ndim;
    int64_t lengths[JD_MAX_NDIM];
};

/* Returns: INVALID_ARGUMENT naming the argument, where it is no such list. */
jd_status jdf_shape_take(const struct jdf_call *call, const char *name,
                         const CFI_cdesc_t *shape, struct jdf_shape *ret_shape);

/* Fails unless the sharding is one of arrays of that rank. */
jd_status jdf_sharding_check(const struct jdf_call *call,
                             const struct jdf_sharding *sharding, int ndim);

/* The entries of a spec the other way round, with those of the dimensions, ndim
 * of them, that it has none for: free() it. With ndim -1 it has all. */
jd_status jdf_spec_turn(const struct jdf_call *call, const CFI_cdesc_t *spec,
                        int ndim, char **ret_spec, int *ret_ndim);

/* Elements [begin, end) of C's dimensions, from 0, as those from first to last
 * of Fortran's, from 1. */
void jdf_ranges_turn(int ndim, const jd_range *ranges, int64_t *first,
                     int64_t *last);

/* jd_visualize_sharding(), or its like. */
typedef jd_status (*jdf_sharding_drawer)(const jd_sharding *sharding, int ndim,
                                         const int64_t *shape, FILE *out);

/* Draws it in Fortran's order; of arrays of that shape, which is in C's. */
jd_status jdf_sharding_draw(const struct jdf_call *call,
                            jdf_sharding_drawer drawer,
                            const struct jdf_sharding *sharding, int ndim,
                            const int64_t *shape, CFI_cdesc_t *ret_picture);

#endif

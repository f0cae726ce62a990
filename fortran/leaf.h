/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * leaf.h - an array of Fortran as a leaf of C's: the same elements in the same
 * order, so that the shape is reversed: a(2, 3) is { 3, 2 }. An array of texts
 * has their length as the last dimension.
 */
#ifndef FORTRAN_LEAF_H
#define FORTRAN_LEAF_H

#include "fortran/buffer.h"

#include <stdint.h>

struct jdf_leaf {
    jd_leaf leaf; /* points into this struct */
    int64_t shape[CFI_MAX_RANK + 1];
    struct jdf_buffer buffer;
};

/* name is the argument's. */
jd_status jdf_leaf_take(const struct jdf_call *call, const char *name,
                        const CFI_cdesc_t *array, const int *dtype,
                        struct jdf_leaf *ret_leaf);

/* Unpacks what was written where status is JD_OK; and lets go of it. */
void jdf_leaf_end(struct jdf_leaf *leaf, jd_status status);
void jdf_leaf_drop(struct jdf_leaf *leaf);

/* Several arrays at once, whose memory the program keeps (jd_leaf_of). */
struct jdf_listed {
    void *data;
    int dtype;
    int ndim;
    int64_t shape[JD_MAX_NDIM];
};

#endif

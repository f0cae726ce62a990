/* SPDX-License-Identifier: BSD-3-Clause */
/* visualize.h - what is drawn of a sharding, and what is refused, in text and
 * in SVG. */
#ifndef ARRAYS_ARRAY_VISUALIZE_H
#define ARRAYS_ARRAY_VISUALIZE_H

#include "arrays/array/array.h"

#include <stdio.h>

struct jd_drawing {
    const char *operation;
    const jd_sharding *sharding;
    int ndim;
    const int64_t *shape;
    FILE *out;
};

jd_status jd__visualize_check(const struct jd_drawing *drawing);
/* The drawing of an array. */
jd_status jd__visualize_array(const jd_array *array, const char *operation,
                              FILE *out, struct jd_drawing *ret_drawing);

#endif

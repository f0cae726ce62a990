/* SPDX-License-Identifier: BSD-3-Clause */
/* mesh.h - what the calls of meshes share with those of arrays: pictures, and
 * bodies that are Fortran's. */
#ifndef FORTRAN_MESH_H
#define FORTRAN_MESH_H

#include "fortran/call.h"

#include <stdio.h>

/* What C writes for a person, as a text that goes to a unit of Fortran. */
struct jdf_picture {
    FILE *out;
    char *text;
    size_t size;
};

jd_status jdf_picture_begin(const struct jdf_call *call,
                            struct jdf_picture *ret_picture);

/* Gives the picture where status is JD_OK, an empty text otherwise. */
jd_status jdf_picture_end(const struct jdf_call *call,
                          struct jdf_picture *picture, jd_status status,
                          CFI_cdesc_t *ret_text);

/* The module's procedure that runs a body with its context. */
typedef void (*jdf_body_f)(jd_shard *const *shard, void *context, int *stat);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec.h - the text that says how an array is cut, read and written.
 *
 *     struct jd_spec spec = { .operation = "jd_sharding_create", .mesh = mesh,
 *                             .text = "data,-,model+pipe" };
 *     status = jd__spec_parse(&spec, &num_cuts, cuts);
 *     char *text = jd__spec_print(mesh, num_cuts, cuts);
 */
#ifndef ARRAYS_SHARDING_SPEC_H
#define ARRAYS_SHARDING_SPEC_H

#include "arrays/sharding/sharding.h"

struct jd_spec {
    const char *operation; /* for sentences */
    const struct jd_mesh *mesh;
    const char *text;
};

/* How many entries the text has, a "-" too. */
int jd__spec_count(const char *text);

/*
 * The cuts, JD_MAX_NDIM of them, those that the text does not name too; and
 * how many there are up to the last one that it names an axis for.
 * Returns: JD_OK; INVALID_ARGUMENT naming operation, entry, axis, and the axes
 *   that the mesh has.
 */
jd_status jd__spec_parse(const struct jd_spec *spec, int *ret_num_cuts,
                         struct jd_cut *ret_cuts);

/* The shortest text, malloc'ed; NULL where there is no memory. */
char *jd__spec_print(const struct jd_mesh *mesh, int num_cuts,
                     const struct jd_cut *cuts);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * host_box.h - the part of a mesh that a process has, where that is a box: of
 * each axis some neighbours, in all combinations.
 *
 *     struct jd_host_box box;
 *     status = jd__host_box_find("jd_x", sharding, process, &box);
 *     int ways = jd__host_box_ways(&box, &sharding->cuts[d]);
 *
 * Threads: any.
 */
#ifndef ARRAYS_ARRAY_HOST_BOX_H
#define ARRAYS_ARRAY_HOST_BOX_H

#include "arrays/sharding/sharding.h"

struct jd_host_box {
    int begin[JD_MAX_AXES];
    int size[JD_MAX_AXES];
};

/*
 * The box of a process; all others have one of the same size.
 * Returns: JD_OK; INVALID_ARGUMENT, the same on all processes but those
 *   without a device, naming the process whose devices are no box, or the two
 *   whose boxes are unlike; RESOURCE_EXHAUSTED.
 */
jd_status jd__host_box_find(const char *operation, const jd_sharding *sharding,
                            int process, struct jd_host_box *ret_box);

/* How many blocks of a dimension the box has. */
int jd__host_box_ways(const struct jd_host_box *box, const struct jd_cut *cut);

/* Which of them the place has, by its axes' indices in the box. */
int jd__host_box_number(const struct jd_host_box *box,
                        const jd_sharding *sharding, const struct jd_cut *cut,
                        int place);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* put.h - a call on arrays of all processes of a mesh with an axis "a". */
#ifndef PUT_H
#define PUT_H

#include "jd.h"

#include "tests/mpi/expect.h"

static void put(jd_mesh *mesh)
{
    static const int64_t shape[] = { 8 };
    static double numbers[8];
    const jd_leaf leaf = { numbers, JD_F64, 1, shape };
    jd_sharding *sharding;
    jd_array *array;
    EXPECT_OK(jd_sharding_create(&sharding, mesh, "a"));
    JD_CHECK(jd_device_put(&array, &leaf, sharding));
}

#endif

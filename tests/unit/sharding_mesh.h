/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sharding_mesh.h - what tests of shardings have: a mesh of six devices of this
 * process, "data" 2 x "model" 3, made before each test.
 *
 *     jd_sharding *sharding = sharding_of("data,-");
 *     UNIT_OK(jd_sharding_shard_shape(sharding, SHAPE(4, 6), shape));
 */
#ifndef TESTS_UNIT_SHARDING_MESH_H
#define TESTS_UNIT_SHARDING_MESH_H

#include "arrays/sharding/sharding.h"
#include "tests/unit/unit.h"

static jd_mesh *mesh;

static void start_mesh(void)
{
    setenv("JD_NUM_CPU_DEVICES", "6", 1);
    UNIT_OK(jd_mesh_create(&mesh, 2, (int[]){ 2, 3 },
                           (const char *[]){ "data", "model" }, NULL));
}

static void end_mesh(void)
{
    jd_mesh_destroy(mesh);
}

static inline jd_sharding *sharding_of(const char *spec)
{
    jd_sharding *sharding = NULL;
    UNIT_OK(jd_sharding_create(&sharding, mesh, spec));
    return sharding;
}

#define SHAPE(...)                                                             \
    (int)(sizeof((int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t)), (int64_t[])   \
    {                                                                          \
        __VA_ARGS__                                                            \
    }

static inline TCase *mesh_case(Suite *suite, const char *name)
{
    TCase *tcase = unit_case(suite, name);
    tcase_add_checked_fixture(tcase, start_mesh, end_mesh);
    return tcase;
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_sharding.c - specs as they are read and refused, which device has which
 * block, whole and uneven and empty ones, and shardings that are the same.
 */
#include "arrays/sharding.h"
#include "tests/unit/unit.h"

#include <stdio.h>

static jd_mesh *mesh; /* "data" 2 x "model" 3 */

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

static jd_sharding *sharding_of(const char *spec)
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

/* "0:2,0:3 r0" for each device, in the mesh's order, with blanks between. */
static const char *layout(const jd_sharding *sharding, int ndim,
                          const int64_t *shape)
{
    static char text[1024];
    size_t used = 0;
    for (int i = 0; i < mesh->size; i++) {
        jd_range index[JD_MAX_NDIM];
        int replica = -1;
        UNIT_OK(jd_sharding_index(sharding, ndim, shape, mesh->devices[i],
                                  index, &replica));
        used += (size_t)sprintf(text + used, "%s", i ? "  " : "");
        for (int d = 0; d < ndim; d++)
            used += (size_t)sprintf(text + used, "%s%lld:%lld", d ? "," : "",
                                    (long long)index[d].begin,
                                    (long long)index[d].end);
        used += (size_t)sprintf(text + used, "#%d", replica);
    }
    return text;
}

#define LAYOUT(spec, wanted, ...)                                              \
    do {                                                                       \
        jd_sharding *sharding_ = sharding_of(spec);                            \
        ck_assert_str_eq(layout(sharding_, __VA_ARGS__), wanted);              \
        jd_sharding_release(sharding_);                                        \
    } while (0)

/* ---- blocks ---------------------------------------------------------------
 */

START_TEST(each_axis_cuts_its_dimension)
{
    LAYOUT("data,model",
           "0:2,0:2#0  0:2,2:4#0  0:2,4:6#0  "
           "2:4,0:2#0  2:4,2:4#0  2:4,4:6#0",
           SHAPE(4, 6));
    LAYOUT("model,data",
           "0:2,0:2#0  2:4,0:2#0  4:6,0:2#0  "
           "0:2,2:4#0  2:4,2:4#0  4:6,2:4#0",
           SHAPE(6, 4));
    LAYOUT("-,-,data",
           "0:1,0:5,0:2#0  0:1,0:5,0:2#1  0:1,0:5,0:2#2  "
           "0:1,0:5,2:4#0  0:1,0:5,2:4#1  0:1,0:5,2:4#2",
           SHAPE(1, 5, 4));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sharding");
    TCase *blocks = unit_case(suite, "blocks");
    tcase_add_checked_fixture(blocks, start_mesh, end_mesh);
    tcase_add_test(blocks, each_axis_cuts_its_dimension);
    return unit_main(suite);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_replicas - jd_array_assert_replicas_equal on blocks that are the same,
 * and on such as a program has made differ: on one device, on all of a
 * process, in the last element of a long block, within a tolerance, in NaNs.
 */
#include "jd.h"

#include "expect.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

static int self, count, num_devices;
static jd_mesh *mesh; /* "x" 1 or 2, "y" the rest */
static int rows;

static jd_array *make_array(const char *spec, int64_t length)
{
    jd_sharding *sharding;
    jd_array *array;
    EXPECT_OK(jd_sharding_create(&sharding, mesh, spec));
    EXPECT_OK(
        jd_array_zeros(&array, sharding, JD_F64, 2, (int64_t[]){ length, 3 }));
    jd_sharding_release(sharding);
    return array;
}

/* The block's element on one device of the job, if it is of this process. */
static void set(jd_array *array, const jd_device *device, int64_t element,
                double value)
{
    int shards;
    const jd_array_shard *list = jd_array_shards(array, &shards);
    for (int i = 0; i < shards; i++)
        if (list[i].device == device)
            ((double *)list[i].data)[element] = value;
}

static jd_status check(const jd_array *array, jd_equality rules)
{
    return jd_array_assert_replicas_equal(array, "p", &rules, sizeof rules);
}

/* "value at index, where replica 0, device, has wanted" */
static void expect_unlike(const jd_array *array, jd_equality rules,
                          const jd_device *device, const char *end)
{
    expect_sentence(check(array, rules), JD_FAILED_PRECONDITION,
                    "p: jd_array_assert_replicas_equal: device %d of process "
                    "%d (%s) has %s",
                    device->local_ordinal, device->process_index, device->host,
                    end);
}

static const jd_equality by_value, bitwise = { .bitwise = 1 };

static void try_equal(void)
{
    static const char *const specs[] = { "", "x", "-,y", "x,y", "y+x" };
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        jd_array *array = make_array(specs[i], 10);
        EXPECT_OK(check(array, by_value));
        EXPECT_OK(check(array, bitwise));
        EXPECT_OK(check(array, (jd_equality){ .nan_differs = 1 }));
        EXPECT_OK(jd_array_assert_replicas_equal(array, NULL, NULL, 0));
        jd_array_release(array);
    }
}

/* Each device but the first in turn; the block has more than one chunk. */
static void try_each_device(const jd_device *const *all)
{
    enum { LENGTH = 10001 };
    char end[200];
    for (int i = 1; i < num_devices; i++) {
        jd_array *array = make_array("", LENGTH);
        set(array, all[i], 3 * LENGTH - 1, 0.5);
        snprintf(end, sizeof end,
                 "0.5 at index [%d,2], where replica 0, device 0 of process "
                 "0, has 0",
                 LENGTH - 1);
        expect_unlike(array, by_value, all[i], end);
        set(array, all[num_devices - 1], 0, 1);
        expect_unlike(array, by_value, all[i],
                      i < num_devices - 1
                          ? end
                          : "1 at index [0,0], where replica 0, device 0 of "
                            "process 0, has 0");
        jd_array_release(array);
    }
}

/* The reference is the odd one: the first of the others is named. */
static void try_reference(const jd_device *const *all)
{
    jd_array *array = make_array("", 4);
    set(array, all[0], 7, -2);
    expect_unlike(array, by_value, all[1],
                  "0 at index [2,1], where replica 0, device 0 of process 0, "
                  "has -2");
    jd_array_release(array);
}

/* Blocks that are cut: the index is the array's, the reference the block's. */
static void try_cut(const jd_device *const *all)
{
    char end[200];
    const jd_device *first = all[num_devices / rows], *last;
    jd_array *array = make_array("x", 5);
    last = all[num_devices - 1];
    set(array, last, 4, 8);
    snprintf(end, sizeof end,
             "8 at index [%d,1], where replica 0, device %d of process %d, has "
             "0",
             3 + 1, first->local_ordinal, first->process_index);
    expect_unlike(array, by_value, last, end);
    jd_array_release(array);
}

static void try_rules(const jd_device *const *all)
{
    const jd_device *last = all[num_devices - 1];
    jd_array *array = make_array("", 2);
    set(array, last, 1, -0.0);
    EXPECT_OK(check(array, by_value));
    expect_unlike(array, bitwise, last,
                  "-0 at index [0,1], where replica 0, device 0 of process 0, "
                  "has 0 (bitwise)");
    set(array, last, 1, 0.25);
    EXPECT_OK(check(array, (jd_equality){ .absolute = 0.25 }));
    expect_unlike(array, (jd_equality){ .absolute = 0.125 }, last,
                  "0.25 at index [0,1], where replica 0, device 0 of process "
                  "0, has 0 (within 0.125 + 0 * |b|)");
    jd_array_release(array);
}

static void try_nans(const jd_device *const *all)
{
    jd_array *array = make_array("", 2);
    for (int i = 0; i < num_devices; i++)
        set(array, all[i], 5, fabs((double)NAN));
    EXPECT_OK(check(array, by_value));
    EXPECT_OK(check(array, bitwise));
    expect_unlike(array, (jd_equality){ .nan_differs = 1 }, all[0],
                  "nan at index [1,2], where replica 0, device 0 of process 0, "
                  "has nan (NaNs differ)");
    jd_array_release(array);
}

static void try_refusals(void)
{
    jd_array *array = make_array("", 2);
    jd_equality rules = { .absolute = -1 };
    expect_sentence(check(array, rules), JD_INVALID_ARGUMENT,
                    "jd_array_assert_replicas_equal: equality.absolute is -1; "
                    "it is at least 0, and finite");
    expect_sentence(jd_array_assert_replicas_equal(NULL, NULL, NULL, 0),
                    JD_INVALID_ARGUMENT,
                    "jd_array_assert_replicas_equal: array is NULL");
    if (count > 1) {
        rules.absolute = self == count - 1;
        EXPECT_STATUS(check(array, rules), JD_INVALID_ARGUMENT,
                      "(within 1 + 0 * |b|)");
    }
    EXPECT_OK(check(array, by_value));
    jd_array_release(array);
}

int main(void)
{
    JD_CHECK(jd_initialize());
    self = jd_process_index();
    count = jd_process_count();
    num_devices = jd_device_count();
    rows = num_devices % 2 == 0 ? 2 : 1;
    EXPECT_OK(jd_mesh_create(&mesh, 2, (int[]){ rows, -1 },
                             (const char *[]){ "x", "y" }, NULL));
    const jd_device *const *all = jd_devices(NULL);
    try_equal();
    if (num_devices > 1) {
        try_each_device(all);
        try_reference(all);
        try_rules(all);
    }
    if (num_devices > 3 && rows == 2)
        try_cut(all);
    try_nans(all);
    try_refusals();
    jd_mesh_destroy(mesh);
    JD_CHECK(jd_shutdown());
    return 0;
}

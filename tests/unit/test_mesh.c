/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_mesh.c - axis lists and positions in meshes of several axes (made by
 * hand: jd_mesh_create makes those of one), and the default order of devices.
 */
#include "collectives/mesh.h"
#include "tests/unit/unit.h"

/* pipe = 2, data = 3, model = 4 */
static const struct jd_mesh mesh = {
    .ndim = 3,
    .shape = { 2, 3, 4 },
    .axis_names = { (char[]){ "pipe" }, (char[]){ "data" },
                    (char[]){ "model" } },
    .axes = (char[]){ "\"pipe\", \"data\", \"model\"" },
    .size = 24,
};

static int index_of(const char *text, int position)
{
    struct jd_axes axes;
    UNIT_OK(jd__axes_parse(&mesh, text, "test", &axes));
    return jd__axes_index(&mesh, &axes, position);
}

static int size_of(const char *text)
{
    struct jd_axes axes;
    UNIT_OK(jd__axes_parse(&mesh, text, "test", &axes));
    return jd__axes_size(&mesh, &axes);
}

START_TEST(positions_are_row_major_along_the_axes)
{
    int position = 1 * 12 + 2 * 4 + 3; /* pipe 1, data 2, model 3 */
    ck_assert_int_eq(index_of("pipe", position), 1);
    ck_assert_int_eq(index_of("data", position), 2);
    ck_assert_int_eq(index_of("model", position), 3);
    ck_assert_int_eq(index_of("data,model", position), 2 * 4 + 3);
    ck_assert_int_eq(index_of("model,data", position), 3 * 3 + 2);
    ck_assert_int_eq(index_of("model,pipe", position), 3 * 2 + 1);
    for (int i = 0; i < 24; i++) {
        ck_assert_int_eq(index_of(NULL, i), i);
        ck_assert_int_eq(index_of("pipe,data,model", i), i);
    }
    ck_assert_int_eq(size_of("pipe,model"), 8);
    ck_assert_int_eq(size_of("data"), 3);
    ck_assert_int_eq(size_of(NULL), 24);
}
END_TEST

START_TEST(bad_lists_are_named)
{
    struct jd_axes axes = { .count = 7 };
    UNIT_FAILS(jd__axes_parse(&mesh, "data,mode", "jd_psum", &axes),
               JD_INVALID_ARGUMENT,
               "jd_psum: the mesh has no axis \"mode\" (of \"data,mode\"); its "
               "axes are \"pipe\", \"data\", \"model\", and NULL stands for "
               "all of them");
    UNIT_FAILS(jd__axes_parse(&mesh, "data,pipe,data", "jd_psum", &axes),
               JD_INVALID_ARGUMENT,
               "jd_psum: the axis \"data\" is there twice in "
               "\"data,pipe,data\"; name each axis once");
    ck_assert_int_eq(jd__axes_parse(&mesh, "", "x", &axes),
                     JD_INVALID_ARGUMENT);
    ck_assert_int_eq(jd__axes_parse(&mesh, ",data", "x", &axes),
                     JD_INVALID_ARGUMENT);
    ck_assert_int_eq(jd__axes_parse(&mesh, " data", "x", &axes),
                     JD_INVALID_ARGUMENT);
    ck_assert_int_eq(axes.count, 7);
}
END_TEST

/* Two hosts whose processes alternate: 0 and 2 are on one, 1 and 3 on the
 * other; a device each. */
START_TEST(default_order_is_host_by_host)
{
    enum { COUNT = 4 };
    static const int wanted[COUNT] = { 0, 2, 1, 3 };
    struct jd_process_info processes[COUNT] = {
        { .host = 0 }, { .host = 1 }, { .host = 0 }, { .host = 1 }
    };
    jd_device devices[COUNT];
    const jd_device *list[COUNT], *ordered[COUNT];
    for (int i = 0; i < COUNT; i++) {
        devices[i] = (jd_device){ .process_index = i, .platform = "cpu" };
        list[i] = &devices[i];
    }
    struct jd_device_list platform = { .count = COUNT, .devices = list };
    struct jd_topology topology = {
        .num_hosts = 2,
        .num_processes = COUNT,
        .processes = processes,
        .platforms = &platform,
    };
    jd__mesh_order_devices(&topology, ordered);
    for (int i = 0; i < COUNT; i++)
        ck_assert_int_eq(ordered[i]->process_index, wanted[i]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mesh");
    TCase *axes = unit_case(suite, "axes");
    tcase_add_test(axes, positions_are_row_major_along_the_axes);
    tcase_add_test(axes, bad_lists_are_named);
    TCase *order = unit_case(suite, "order");
    tcase_add_test(order, default_order_is_host_by_host);
    return unit_main(suite);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* test_mesh_questions.c - what a mesh says of itself, while its world lasts and
 * after it. */
#include "jd_process.h"
#include "jd_shard.h"
#include "tests/unit/unit.h"

static const char *const names[] = { "data", "model" };

/* Of six of eight devices, the last one first. */
static jd_mesh *make_mesh(const jd_device **ret_devices)
{
    jd_mesh *mesh;
    int count;
    const jd_device *const *all = jd_devices(&count);
    ck_assert_int_eq(count, 8);
    for (int i = 0; i < 6; i++)
        ret_devices[i] = all[7 - i];
    UNIT_OK(jd_mesh_create(&mesh, 2, (int[]){ 2, 3 }, names, ret_devices));
    return mesh;
}

static void has_axes(const jd_mesh *mesh)
{
    ck_assert_int_eq(jd_mesh_ndim(mesh), 2);
    ck_assert_int_eq(jd_mesh_axis_sizes(mesh)[0], 2);
    ck_assert_int_eq(jd_mesh_axis_sizes(mesh)[1], 3);
    for (int i = 0; i < 2; i++)
        ck_assert_str_eq(jd_mesh_axis_names(mesh)[i], names[i]);
}

static void has_devices(const jd_mesh *mesh, const jd_device *const *wanted)
{
    int count = 7, local = 7;
    const jd_device *const *devices = jd_mesh_devices(mesh, &count);
    const jd_device *const *own = jd_mesh_local_devices(mesh, &local);
    ck_assert_int_eq(count, 6);
    ck_assert_int_eq(local, 6);
    for (int i = 0; i < 6; i++) {
        ck_assert_ptr_eq(devices[i], wanted[i]);
        ck_assert_ptr_eq(own[i], wanted[i]);
    }
    ck_assert_ptr_eq(jd_mesh_devices(mesh, NULL), devices);
    ck_assert_ptr_eq(jd_mesh_local_devices(mesh, NULL), own);
}

START_TEST(a_mesh_is_what_it_was_made_of)
{
    const jd_device *devices[6];
    jd_mesh *mesh = make_mesh(devices), *again;
    has_axes(mesh);
    has_devices(mesh, devices);
    UNIT_OK(jd_mesh_create(&again, jd_mesh_ndim(mesh), jd_mesh_axis_sizes(mesh),
                           jd_mesh_axis_names(mesh),
                           jd_mesh_devices(mesh, NULL)));
    jd_mesh_destroy(mesh);
    has_axes(again);
    has_devices(again, devices);
    jd_mesh_destroy(again);
}
END_TEST

START_TEST(what_is_left_has_become_a_size)
{
    jd_mesh *mesh;
    UNIT_OK(jd_mesh_create(&mesh, 2, (int[]){ 2, -1 }, names, NULL));
    ck_assert_int_eq(jd_mesh_axis_sizes(mesh)[1], 4);
    jd_mesh_destroy(mesh);
}
END_TEST

/* ---- what has no answer ------------------------------------------------- */

static void has_none(const jd_mesh *mesh, const char *all, const char *own)
{
    int count = 7, local = 7;
    ck_assert_ptr_null(jd_mesh_devices(mesh, &count));
    ck_assert_str_eq(jd_error_message(), all);
    ck_assert_ptr_null(jd_mesh_local_devices(mesh, &local));
    ck_assert_str_eq(jd_error_message(), own);
    ck_assert_int_eq(count, -1);
    ck_assert_int_eq(local, -1);
    ck_assert_ptr_null(jd_mesh_devices(mesh, NULL));
    ck_assert_ptr_null(jd_mesh_local_devices(mesh, NULL));
}

START_TEST(after_its_world_it_has_axes_alone)
{
    const jd_device *devices[6];
    jd_mesh *mesh;
    UNIT_OK(jd_initialize());
    mesh = make_mesh(devices);
    UNIT_OK(jd_shutdown());
    has_axes(mesh);
    has_none(mesh,
             "jd_mesh_devices: the mesh was made before jd_shutdown() ended "
             "its world; make it again",
             "jd_mesh_local_devices: the mesh was made before jd_shutdown() "
             "ended its world; make it again");
    jd_mesh_destroy(mesh);
}
END_TEST

START_TEST(no_mesh_is_named)
{
    ck_assert_int_eq(jd_mesh_ndim(NULL), -1);
    ck_assert_str_eq(jd_error_message(), "jd_mesh_ndim: mesh is NULL");
    ck_assert_ptr_null(jd_mesh_axis_names(NULL));
    ck_assert_str_eq(jd_error_message(), "jd_mesh_axis_names: mesh is NULL");
    ck_assert_ptr_null(jd_mesh_axis_sizes(NULL));
    ck_assert_str_eq(jd_error_message(), "jd_mesh_axis_sizes: mesh is NULL");
    has_none(NULL, "jd_mesh_devices: mesh is NULL",
             "jd_mesh_local_devices: mesh is NULL");
}
END_TEST

int main(void)
{
    setenv("JD_NUM_CPU_DEVICES", "8", 1);
    Suite *suite = suite_create("mesh_questions");
    TCase *answers = unit_case(suite, "answers");
    tcase_add_test(answers, a_mesh_is_what_it_was_made_of);
    tcase_add_test(answers, what_is_left_has_become_a_size);
    TCase *none = unit_case(suite, "none");
    tcase_add_test(none, after_its_world_it_has_axes_alone);
    tcase_add_test(none, no_mesh_is_named);
    return unit_main(suite);
}

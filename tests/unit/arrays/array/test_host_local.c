/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_host_local.c - which part of a mesh a process has, and arrays made of
 * such parts and taken apart again. Jobs of several processes are made up:
 * nothing of theirs is read.
 */
#include "arrays/array/array.h"
#include "arrays/array/host_box.h"
#include "tests/unit/made_mesh.h"
#include "tests/unit/sharding_mesh.h"

#include <stdint.h>

static jd_sharding *made_sharding(struct jd_mesh *made, const char *spec)
{
    jd_sharding *sharding = NULL;
    UNIT_OK(jd_sharding_create(&sharding, made, spec));
    return sharding;
}

/* Gives each place's device to a process: "0011" */
static void set_processes(const struct jd_mesh *made, const char *processes)
{
    for (int i = 0; i < made->size; i++)
        made_devices[i].process_index = processes[i] - '0';
}

/* ---- boxes -------------------------------------------------------------- */

static void expect_box(const jd_sharding *sharding, int process,
                       const int *begin, const int *size)
{
    struct jd_host_box box;
    UNIT_OK(jd__host_box_find("jd_x", sharding, process, &box));
    for (int a = 0; a < sharding->num_axes; a++) {
        ck_assert_int_eq(box.begin[a], begin[a]);
        ck_assert_int_eq(box.size[a], size[a]);
    }
}

START_TEST(neighbours_are_a_box)
{
    struct jd_mesh made;
    make_mesh(&made, 3, (int[]){ 2, 4, 2 }, 4);
    jd_sharding *sharding = made_sharding(&made, "a");
    expect_box(sharding, 0, (int[]){ 0, 0, 0 }, (int[]){ 1, 2, 2 });
    expect_box(sharding, 1, (int[]){ 0, 2, 0 }, (int[]){ 1, 2, 2 });
    expect_box(sharding, 2, (int[]){ 1, 0, 0 }, (int[]){ 1, 2, 2 });
    expect_box(sharding, 3, (int[]){ 1, 2, 0 }, (int[]){ 1, 2, 2 });
    jd_sharding_release(sharding);
    make_mesh(&made, 2, (int[]){ 2, 2 }, 1);
    set_processes(&made, "0101");
    sharding = made_sharding(&made, "a");
    expect_box(sharding, 1, (int[]){ 0, 1 }, (int[]){ 2, 1 });
    jd_sharding_release(sharding);
}
END_TEST

/* The mesh's devices are these processes'. */
static void expect_no_box(const int *shape, const char *processes, int process,
                          const char *sentence)
{
    struct jd_mesh made;
    struct jd_host_box box = { .size = { 77 } };
    make_mesh(&made, 2, shape, 1);
    set_processes(&made, processes);
    jd_sharding *sharding = made_sharding(&made, "a");
    UNIT_FAILS(jd__host_box_find("jd_x", sharding, process, &box),
               JD_INVALID_ARGUMENT, sentence);
    ck_assert_int_eq(box.size[0], 77);
    jd_sharding_release(sharding);
}

START_TEST(others_are_refused)
{
    static const int square[] = { 2, 2 }, wide[] = { 2, 3 };
    expect_no_box(square, "0110", 0,
                  "jd_x: the 2 devices of process 0 are no box of the mesh: "
                  "they reach over \"a\" 2 x \"b\" 2 places; order the mesh's "
                  "devices so that each process's are neighbours, or use "
                  "jd_array_from_process_local_data()");
    expect_no_box(wide, "001200", 1,
                  "jd_x: the 4 devices of process 0 are no box of the mesh: "
                  "they reach over \"a\" 2 x \"b\" 3 places; order the mesh's "
                  "devices so that each process's are neighbours, or use "
                  "jd_array_from_process_local_data()");
    expect_no_box(square, "0012", 0,
                  "jd_x: process 1 has \"a\" 1 x \"b\" 1 places of the mesh, "
                  "process 0 \"a\" 1 x \"b\" 2; boxes are alike on all "
                  "processes: use jd_array_from_process_local_data() where "
                  "they are not");
    expect_no_box(square, "0011", 5,
                  "jd_x: process 5 has no device in the mesh, and so no part "
                  "of the array; let it not call");
}
END_TEST

START_TEST(blocks_are_counted_within_the_box)
{
    struct jd_mesh made;
    struct jd_host_box box;
    make_mesh(&made, 2, (int[]){ 4, 2 }, 4);
    jd_sharding *sharding = made_sharding(&made, "b+a,-");
    const struct jd_cut *cut = &sharding->cuts[0];
    UNIT_OK(jd__host_box_find("jd_x", sharding, 1, &box));
    ck_assert_int_eq(jd__host_box_ways(&box, cut), 4);
    ck_assert_int_eq(jd__host_box_ways(&box, &sharding->cuts[1]), 1);
    /* Places 4 to 7: a 2 and 3, b 0 and 1; b is the more significant. */
    ck_assert_int_eq(jd__host_box_number(&box, sharding, cut, 4), 0);
    ck_assert_int_eq(jd__host_box_number(&box, sharding, cut, 5), 2);
    ck_assert_int_eq(jd__host_box_number(&box, sharding, cut, 6), 1);
    ck_assert_int_eq(jd__host_box_number(&box, sharding, cut, 7), 3);
    ck_assert_int_eq(jd__host_box_number(&box, sharding, &sharding->cuts[1], 7),
                     0);
    jd_sharding_release(sharding);
}
END_TEST

START_TEST(many_devices_are_no_trouble)
{
    struct jd_mesh made;
    struct jd_host_box box;
    make_mesh(&made, 3, (int[]){ 16, 16, 16 }, 8);
    jd_sharding *sharding = made_sharding(&made, "a");
    UNIT_OK(jd__host_box_find("jd_x", sharding, 511, &box));
    ck_assert(box.begin[0] == 15 && box.begin[1] == 15 && box.begin[2] == 8);
    jd_sharding_release(sharding);
}
END_TEST

/* ---- calls -------------------------------------------------------------- */

static void try_whole(const char *spec, int ndim, const int64_t *shape)
{
    int16_t values[64], back[64] = { 0 };
    jd_leaf local = { values, JD_S16, ndim, shape };
    jd_leaf out = { back, JD_S16, ndim, shape };
    jd_array *array;
    for (int i = 0; i < 64; i++)
        values[i] = (int16_t)(i * 3 + 1);
    UNIT_OK(jd_host_local_array_to_global_array(&array, &local, mesh, spec));
    ck_assert_str_eq(jd_sharding_spec(jd_array_sharding(array)), spec);
    UNIT_OK(jd_array_to_host(array, &out));
    int64_t n = 1;
    for (int d = 0; d < ndim; d++) {
        n *= shape[d];
        ck_assert_int_eq(jd_array_shape(array)[d], shape[d]);
    }
    ck_assert_mem_eq(values, back, (size_t)n * sizeof *values);
    memset(back, 0, sizeof back);
    UNIT_OK(jd_global_array_to_host_local_array(array, mesh, spec, &out));
    ck_assert_mem_eq(values, back, (size_t)n * sizeof *values);
    ck_assert_int_eq(back[n], 0);
    jd_array_release(array);
}

START_TEST(one_process_has_the_whole)
{
    try_whole("data,model", SHAPE(4, 6));
    try_whole("data,model", SHAPE(5, 7));
    try_whole("model+data", SHAPE(13));
    try_whole("-,model", SHAPE(3, 2));
    try_whole("model", SHAPE(0, 3));
    try_whole("", SHAPE(3, 1, 2));
    try_whole("", 0, NULL);
}
END_TEST

START_TEST(the_array_may_be_of_another_mesh)
{
    int32_t values[24], back[24];
    const jd_device *turned[6];
    jd_leaf local = { values, JD_S32, 2, (int64_t[]){ 4, 6 } };
    jd_leaf out = { back, JD_S32, 2, (int64_t[]){ 4, 6 } };
    jd_mesh *other;
    jd_array *array;
    for (int i = 0; i < 24; i++)
        values[i] = i;
    for (int i = 0; i < 6; i++)
        turned[i % 3 * 2 + i / 3] = mesh->devices[i];
    UNIT_OK(jd_mesh_create(&other, 2, (int[]){ 3, 2 },
                           (const char *[]){ "m", "d" }, turned));
    UNIT_OK(jd_host_local_array_to_global_array(&array, &local, other, "d,m"));
    UNIT_OK(
        jd_global_array_to_host_local_array(array, mesh, "data,model", &out));
    ck_assert_mem_eq(values, back, sizeof values);
    UNIT_FAILS(
        jd_global_array_to_host_local_array(array, mesh, "model,data", &out),
        JD_INVALID_ARGUMENT,
        "jd_global_array_to_host_local_array: the array is cut by \"d,m\", and "
        "spec is \"model,data\", which puts other blocks on this mesh's "
        "devices; jd_array_reshard() moves them there");
    jd_array_release(array);
    jd_mesh_destroy(other);
}
END_TEST

#define TO_GLOBAL "jd_host_local_array_to_global_array: "
#define TO_LOCAL "jd_global_array_to_host_local_array: "

START_TEST(local_arrays_that_do_not_fit)
{
    struct jd_mesh made;
    char data[8];
    jd_leaf local = { data, JD_U8, 2, (int64_t[]){ 1, 3 } };
    jd_array *array = NULL;
    make_mesh(&made, 2, (int[]){ 2, 4 }, 2);
    UNIT_FAILS(
        jd_host_local_array_to_global_array(&array, &local, &made, "a,b"),
        JD_INVALID_ARGUMENT,
        TO_GLOBAL "dimension 1 of local is 3 long, and this process has 2 of "
                  "the 4 blocks that \"a,b\" cuts it into; make it a multiple "
                  "of 2");
    local.shape = (int64_t[]){ 0, INT64_MAX };
    UNIT_FAILS(
        jd_host_local_array_to_global_array(&array, &local, &made, "-,a"),
        JD_INVALID_ARGUMENT,
        TO_GLOBAL "dimension 1 of local is 9223372036854775807 long, and would "
                  "be 2 times that in the whole array, more than an int64_t "
                  "counts");
    UNIT_FAILS(jd_host_local_array_to_global_array(&array, NULL, &made, "a"),
               JD_INVALID_ARGUMENT, TO_GLOBAL "local is NULL");
    UNIT_FAILS(jd_host_local_array_to_global_array(NULL, &local, &made, "a"),
               JD_INVALID_ARGUMENT, TO_GLOBAL "ret_array is NULL");
    local.ndim = -1;
    UNIT_FAILS(jd_host_local_array_to_global_array(&array, &local, &made, "a"),
               JD_INVALID_ARGUMENT,
               TO_GLOBAL "local[0].ndim is -1; it is at least 0");
    local = (jd_leaf){ data, JD_U8, 0, NULL };
    ck_assert_int_eq(
        jd_host_local_array_to_global_array(&array, &local, &made, "a"),
        JD_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(jd_error_message(), TO_GLOBAL "the spec"));
    ck_assert_int_eq(
        jd_host_local_array_to_global_array(&array, &local, &made, "z"),
        JD_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(jd_error_message(), TO_GLOBAL));
    ck_assert_ptr_null(array);
}
END_TEST

/* An array of a made-up mesh, which has no memory. */
static jd_array *made_array(struct jd_mesh *made, const char *spec, int ndim,
                            const int64_t *shape)
{
    jd_array *array = NULL;
    jd_sharding *sharding = made_sharding(made, spec);
    UNIT_OK(jd__array_create_without_data("jd_x", sharding, JD_U8, ndim, shape,
                                          &array));
    jd_sharding_release(sharding);
    return array;
}

START_TEST(arrays_that_cannot_be_taken_apart)
{
    struct jd_mesh made;
    char data[64];
    jd_leaf out = { data, JD_U8, 2, (int64_t[]){ 3, 4 } };
    make_mesh(&made, 2, (int[]){ 2, 4 }, 2);
    jd_array *array = made_array(&made, "a,b", SHAPE(6, 9));
    UNIT_FAILS(jd_global_array_to_host_local_array(array, &made, "a,b", &out),
               JD_INVALID_ARGUMENT,
               TO_LOCAL "dimension 1 of the array is 9 long, which is not a "
                        "multiple of the 4 blocks that \"a,b\" cuts it into: "
                        "processes would have unlike lengths; use "
                        "jd_array_shards()");
    jd_array_release(array);
    array = made_array(&made, "a,b", SHAPE(6, 16));
    UNIT_FAILS(jd_global_array_to_host_local_array(array, &made, "a,b", &out),
               JD_INVALID_ARGUMENT,
               TO_LOCAL "out is U8[3,4], and this process's part of the array "
                        "U8[3,8]");
    UNIT_FAILS(jd_global_array_to_host_local_array(array, &made, "a,b", NULL),
               JD_INVALID_ARGUMENT, TO_LOCAL "out is NULL");
    jd_array_release(array);
    UNIT_FAILS(jd_global_array_to_host_local_array(NULL, &made, "a,b", &out),
               JD_INVALID_ARGUMENT, TO_LOCAL "array is NULL");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("host_local");
    TCase *boxes = unit_case(suite, "boxes");
    tcase_add_test(boxes, neighbours_are_a_box);
    tcase_add_test(boxes, others_are_refused);
    tcase_add_test(boxes, blocks_are_counted_within_the_box);
    tcase_add_test(boxes, many_devices_are_no_trouble);
    TCase *calls = mesh_case(suite, "calls");
    tcase_add_test(calls, one_process_has_the_whole);
    tcase_add_test(calls, the_array_may_be_of_another_mesh);
    TCase *refusals = unit_case(suite, "refusals");
    tcase_add_test(refusals, local_arrays_that_do_not_fit);
    tcase_add_test(refusals, arrays_that_cannot_be_taken_apart);
    return unit_main(suite);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_sharding.c - specs as they are read and refused, and which device has
 * which block: whole, uneven and empty ones.
 */
#include "tests/unit/sharding_mesh.h"

#include <stdio.h>

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

/* ---- blocks ------------------------------------------------------------- */

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

START_TEST(joined_axes_cut_finer)
{
    LAYOUT("data+model", "0:1#0  1:2#0  2:3#0  3:4#0  4:5#0  5:6#0", SHAPE(6));
    LAYOUT("model+data", "0:1#0  2:3#0  4:5#0  1:2#0  3:4#0  5:6#0", SHAPE(6));
    LAYOUT("-,model+data",
           "0:9,0:2#0  0:9,4:6#0  0:9,8:10#0  "
           "0:9,2:4#0  0:9,6:8#0  0:9,10:12#0",
           SHAPE(9, 12));
}
END_TEST

START_TEST(the_last_blocks_are_shorter_or_empty)
{
    LAYOUT("data+model", "0:2#0  2:4#0  4:6#0  6:7#0  7:7#0  7:7#0", SHAPE(7));
    LAYOUT("model", "0:1#0  1:1#0  1:1#0  0:1#1  1:1#1  1:1#1", SHAPE(1));
    LAYOUT("model", "0:0#0  0:0#0  0:0#0  0:0#1  0:0#1  0:0#1", SHAPE(0));
    LAYOUT("data,model",
           "0:3,0:2#0  0:3,2:4#0  0:3,4:4#0  "
           "3:5,0:2#0  3:5,2:4#0  3:5,4:4#0",
           SHAPE(5, 4));
}
END_TEST

START_TEST(what_is_not_cut_has_replicas)
{
    LAYOUT("", "#0  #1  #2  #3  #4  #5", 0, NULL);
    LAYOUT("-", "0:3#0  0:3#1  0:3#2  0:3#3  0:3#4  0:3#5", SHAPE(3));
    LAYOUT("data",
           "0:1,0:2#0  0:1,0:2#1  0:1,0:2#2  "
           "1:2,0:2#0  1:2,0:2#1  1:2,0:2#2",
           SHAPE(2, 2));
}
END_TEST

START_TEST(the_longest_dimension_is_cut)
{
    jd_sharding *sharding = sharding_of("data+model");
    int64_t length = INT64_MAX, size = INT64_MAX / 6 + 1, block;
    for (int i = 0; i < mesh->size; i++) {
        jd_range index;
        UNIT_OK(jd_sharding_index(sharding, 1, &length, mesh->devices[i],
                                  &index, NULL));
        ck_assert_int_eq(index.begin, i * size);
        ck_assert_int_eq(index.end, i < 5 ? (i + 1) * size : INT64_MAX);
    }
    UNIT_OK(jd_sharding_shard_shape(sharding, 1, &length, &block));
    ck_assert_int_eq(block, size);
    jd_sharding_release(sharding);
}
END_TEST

START_TEST(the_longest_block_has_a_shape)
{
    jd_sharding *sharding = sharding_of("data,-,model");
    int64_t shape[3] = { 7, 7, 7 };
    UNIT_OK(jd_sharding_shard_shape(sharding, SHAPE(5, 9, 4), shape));
    ck_assert_int_eq(shape[0], 3);
    ck_assert_int_eq(shape[1], 9);
    ck_assert_int_eq(shape[2], 2);
    jd_sharding_release(sharding);
}
END_TEST

/* ---- specs -------------------------------------------------------------- */

static void shortens(const char *spec, const char *wanted)
{
    jd_sharding *sharding = sharding_of(spec);
    ck_assert_str_eq(jd_sharding_spec(sharding), wanted);
    jd_sharding_release(sharding);
}

START_TEST(specs_have_a_shortest_form)
{
    shortens("", "");
    shortens("-", "");
    shortens("-,-,-,-,-,-,-,-", "");
    shortens("data,-", "data");
    shortens("-,model,-,-", "-,model");
    shortens("model+data", "model+data");
    shortens("model,-,data", "model,-,data");
    ck_assert_ptr_null(jd_sharding_spec(NULL));
}
END_TEST

static void refuses(const char *spec, const char *sentence)
{
    jd_sharding *sharding = (jd_sharding *)&mesh;
    UNIT_FAILS(jd_sharding_create(&sharding, mesh, spec), JD_INVALID_ARGUMENT,
               sentence);
    ck_assert_ptr_eq(sharding, &mesh);
}

START_TEST(unknown_axes_are_named)
{
    refuses("data,-,mode",
            "jd_sharding_create: the mesh has no axis \"mode\", which "
            "\"data,-,mode\" has for dimension 2; its axes are \"data\", "
            "\"model\", and a \"-\" alone stands for a dimension that is "
            "not cut");
    refuses("data+-",
            "jd_sharding_create: the mesh has no axis \"-\", which "
            "\"data+-\" has for dimension 0; its axes are \"data\", "
            "\"model\", and a \"-\" alone stands for a dimension that is "
            "not cut");
    refuses("-data",
            "jd_sharding_create: the mesh has no axis \"-data\", which "
            "\"-data\" has for dimension 0; its axes are \"data\", "
            "\"model\", and a \"-\" alone stands for a dimension that is "
            "not cut");
    refuses("data, model",
            "jd_sharding_create: the mesh has no axis \" model\", which "
            "\"data, model\" has for dimension 1; its axes are \"data\", "
            "\"model\", and a \"-\" alone stands for a dimension that is "
            "not cut");
}
END_TEST

START_TEST(empty_names_are_refused)
{
    static const char *const specs[] = { ",",     "data,", ",data",
                                         "data+", "+data", "+",
                                         "-,",    "-,+",   "data++model" };
    static const int dimensions[] = { 0, 1, 0, 0, 0, 0, 1, 1, 0 };
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        char sentence[256];
        snprintf(sentence, sizeof sentence,
                 "jd_sharding_create: the entry for dimension %d in \"%s\" is "
                 "empty, or a name in it is; name an axis of the mesh "
                 "(\"data\", \"model\"), or write \"-\" where the "
                 "dimension is not cut",
                 dimensions[i], specs[i]);
        refuses(specs[i], sentence);
    }
}
END_TEST

START_TEST(an_axis_cuts_once)
{
    refuses("data,model,data",
            "jd_sharding_create: the axis \"data\" is there twice in "
            "\"data,model,data\", for dimension 0 and for dimension 2; name "
            "each axis once");
    refuses("-,model+data+model",
            "jd_sharding_create: the axis \"model\" is there twice in "
            "\"-,model+data+model\", for dimension 1 and for dimension 1; "
            "name each axis once");
}
END_TEST

START_TEST(entries_are_as_many_as_dimensions)
{
    refuses("-,-,-,-,-,-,-,-,data",
            "jd_sharding_create: \"-,-,-,-,-,-,-,-,data\" has 9 entries; an "
            "array has at most 8 dimensions");
}
END_TEST

START_TEST(nulls_are_named)
{
    jd_sharding *sharding = NULL;
    int64_t length = 1;
    jd_range index;
    UNIT_FAILS(jd_sharding_create(NULL, mesh, "data"), JD_INVALID_ARGUMENT,
               "jd_sharding_create: ret_sharding is NULL");
    UNIT_FAILS(jd_sharding_create(&sharding, NULL, "data"), JD_INVALID_ARGUMENT,
               "jd_sharding_create: mesh is NULL");
    UNIT_FAILS(jd_sharding_create_even(&sharding, mesh, NULL),
               JD_INVALID_ARGUMENT, "jd_sharding_create_even: spec is NULL");
    UNIT_FAILS(
        jd_sharding_index(NULL, 1, &length, mesh->devices[0], &index, NULL),
        JD_INVALID_ARGUMENT, "jd_sharding_index: sharding is NULL");
    UNIT_FAILS(jd_sharding_shard_shape(NULL, 1, &length, &length),
               JD_INVALID_ARGUMENT,
               "jd_sharding_shard_shape: sharding is NULL");
    ck_assert_ptr_null(sharding);
    ck_assert_int_eq(jd_sharding_is_fully_replicated(NULL), 0);
    ck_assert_int_eq(jd_sharding_is_fully_addressable(NULL), 0);
    ck_assert_int_eq(jd_sharding_is_equivalent(NULL, NULL, 0), 0);
    jd_sharding_release(NULL);
}
END_TEST

/* ---- shapes ------------------------------------------------------------- */

#define SHARD_SHAPE "jd_sharding_shard_shape: "

static void refuses_shape(const jd_sharding *sharding, int ndim,
                          const int64_t *shape, const char *sentence)
{
    int64_t block[JD_MAX_NDIM] = { 77 };
    UNIT_FAILS(jd_sharding_shard_shape(sharding, ndim, shape, block),
               JD_INVALID_ARGUMENT, sentence);
    ck_assert_int_eq(block[0], 77);
}

START_TEST(shapes_are_checked)
{
    jd_sharding *sharding = sharding_of("data,-,model");
    int64_t shape[9] = { 1, 1, 1, 1, 1, 1, 1, 1, 1 };
    refuses_shape(sharding, SHAPE(4, 5),
                  SHARD_SHAPE "the spec \"data,-,model\" has 3 entries, and "
                              "the shape [4,5] has 2 dimensions; leave out the "
                              "last entries, or use a sharding of its own for "
                              "such arrays");
    jd_sharding *surplus = sharding_of("data,-,-");
    refuses_shape(surplus, SHAPE(4, 5),
                  SHARD_SHAPE "the spec \"data,-,-\" has 3 entries, and the "
                              "shape [4,5] has 2 dimensions; leave out the "
                              "last entries, or use a sharding of its own for "
                              "such arrays");
    ck_assert_str_eq(jd_sharding_spec(surplus), "data");
    jd_sharding_release(surplus);
    refuses_shape(sharding, 0, NULL,
                  SHARD_SHAPE "the spec \"data,-,model\" has 3 entries, and "
                              "the shape [] has 0 dimensions; leave out the "
                              "last entries, or use a sharding of its own for "
                              "such arrays");
    refuses_shape(sharding, SHAPE(4, -5, 3),
                  SHARD_SHAPE "dimension 1 of the shape [4,-5,3] is negative; "
                              "lengths are 0 or more");
    refuses_shape(sharding, 9, shape,
                  SHARD_SHAPE "ndim is 9; an array has 0 to 8 dimensions");
    refuses_shape(sharding, -1, shape,
                  SHARD_SHAPE "ndim is -1; an array has 0 to 8 dimensions");
    refuses_shape(sharding, 3, NULL, SHARD_SHAPE "shape is NULL");
    refuses_shape(sharding, SHAPE(INT64_MAX / 2, 0, 3),
                  SHARD_SHAPE
                  "the lengths of the shape [4611686018427387903,0,3] that "
                  "are not 0 multiply to more than 9223372036854775807 "
                  "elements; make it smaller");
    UNIT_FAILS(jd_sharding_shard_shape(sharding, 3, shape, NULL),
               JD_INVALID_ARGUMENT, SHARD_SHAPE "ret_shape is NULL");
    jd_sharding_release(sharding);
}
END_TEST

START_TEST(even_ones_refuse_what_does_not_divide)
{
    jd_sharding *sharding;
    UNIT_OK(jd_sharding_create_even(&sharding, mesh, "-,model+data"));
    refuses_shape(sharding, SHAPE(5, 8),
                  SHARD_SHAPE "dimension 1 of the shape [5,8] does not divide "
                              "into the 6 blocks that the spec "
                              "\"-,model+data\" cuts it into (axes "
                              "\"model\" 3 x \"data\" 2); make it a "
                              "multiple of 6, or the sharding with "
                              "jd_sharding_create(), which takes a shorter "
                              "last block");
    int64_t shape[2];
    UNIT_OK(jd_sharding_shard_shape(sharding, SHAPE(5, 12), shape));
    ck_assert_int_eq(shape[1], 2);
    UNIT_OK(jd_sharding_shard_shape(sharding, SHAPE(5, 0), shape));
    ck_assert_int_eq(shape[1], 0);
    jd_sharding_release(sharding);
}
END_TEST

START_TEST(devices_are_the_meshs)
{
    jd_sharding *sharding = sharding_of("data");
    int64_t length = 4;
    jd_range index = { 7, 7 };
    int replica = 7;
    UNIT_FAILS(jd_sharding_index(sharding, 1, &length, NULL, &index, &replica),
               JD_INVALID_ARGUMENT,
               "jd_sharding_index: device is NULL; give one of the 6 that the "
               "sharding's mesh was made of");
    UNIT_FAILS(jd_sharding_index(sharding, 1, &length,
                                 (const jd_device *)(const void *)&length,
                                 &index, &replica),
               JD_INVALID_ARGUMENT,
               "jd_sharding_index: device is none of the mesh's; give one of "
               "the 6 that the sharding's mesh was made of");
    ck_assert_int_eq(index.begin, 7);
    ck_assert_int_eq(replica, 7);
    UNIT_OK(
        jd_sharding_index(sharding, 1, &length, mesh->devices[1], NULL, NULL));
    jd_sharding_release(sharding);
}
END_TEST

/* ---- its mesh ----------------------------------------------------------- */

/* Backwards, so that it is no mesh of all devices as they come. */
static jd_mesh *make_backwards(void)
{
    const jd_device *devices[6];
    jd_mesh *made;
    for (int i = 0; i < 6; i++)
        devices[i] = mesh->devices[5 - i];
    UNIT_OK(jd_mesh_create(&made, 2, (int[]){ 3, 2 },
                           (const char *[]){ "x", "y" }, devices));
    return made;
}

START_TEST(its_mesh_comes_back)
{
    jd_mesh *made = make_backwards(), *again;
    jd_sharding *sharding;
    UNIT_OK(jd_sharding_create(&sharding, made, "y"));
    jd_mesh_destroy(made);
    UNIT_OK(jd_sharding_mesh(&again, sharding));
    jd_sharding_release(sharding);
    ck_assert_int_eq(jd_mesh_ndim(again), 2);
    ck_assert_str_eq(jd_mesh_axis_names(again)[0], "x");
    ck_assert_str_eq(jd_mesh_axis_names(again)[1], "y");
    ck_assert_int_eq(jd_mesh_axis_sizes(again)[0], 3);
    ck_assert_int_eq(jd_mesh_axis_sizes(again)[1], 2);
    for (int i = 0; i < 6; i++)
        ck_assert_ptr_eq(jd_mesh_devices(again, NULL)[i], mesh->devices[5 - i]);
    jd_mesh_destroy(again);
}
END_TEST

START_TEST(its_mesh_is_no_more)
{
    jd_mesh *again = NULL;
    jd_sharding *sharding = sharding_of("data");
    UNIT_FAILS(jd_sharding_mesh(NULL, sharding), JD_INVALID_ARGUMENT,
               "jd_sharding_mesh: ret_mesh is NULL");
    UNIT_FAILS(jd_sharding_mesh(&again, NULL), JD_INVALID_ARGUMENT,
               "jd_sharding_mesh: sharding is NULL");
    sharding->world++;
    UNIT_FAILS(jd_sharding_mesh(&again, sharding), JD_FAILED_PRECONDITION,
               "jd_sharding_mesh: the sharding was made before jd_shutdown() "
               "ended its world; make it again");
    ck_assert_ptr_null(again);
    jd_sharding_release(sharding);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sharding");
    TCase *blocks = mesh_case(suite, "blocks");
    tcase_add_test(blocks, each_axis_cuts_its_dimension);
    tcase_add_test(blocks, joined_axes_cut_finer);
    tcase_add_test(blocks, the_last_blocks_are_shorter_or_empty);
    tcase_add_test(blocks, what_is_not_cut_has_replicas);
    tcase_add_test(blocks, the_longest_dimension_is_cut);
    tcase_add_test(blocks, the_longest_block_has_a_shape);
    TCase *specs = mesh_case(suite, "specs");
    tcase_add_test(specs, specs_have_a_shortest_form);
    tcase_add_test(specs, unknown_axes_are_named);
    tcase_add_test(specs, empty_names_are_refused);
    tcase_add_test(specs, an_axis_cuts_once);
    tcase_add_test(specs, entries_are_as_many_as_dimensions);
    tcase_add_test(specs, nulls_are_named);
    TCase *shapes = mesh_case(suite, "shapes");
    tcase_add_test(shapes, shapes_are_checked);
    tcase_add_test(shapes, even_ones_refuse_what_does_not_divide);
    tcase_add_test(shapes, devices_are_the_meshs);
    TCase *its_mesh = mesh_case(suite, "its_mesh");
    tcase_add_test(its_mesh, its_mesh_comes_back);
    tcase_add_test(its_mesh, its_mesh_is_no_more);
    return unit_main(suite);
}

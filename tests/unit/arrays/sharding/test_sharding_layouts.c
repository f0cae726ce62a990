/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_sharding_layouts.c - which shardings are the same, what they outlive,
 * and meshes of any shape and of thousands of devices, against the definition.
 */
#include "jd_process.h"
#include "tests/unit/made_mesh.h"
#include "tests/unit/sharding_mesh.h"

/* ---- the same ones ------------------------------------------------------ */

/* Both ways round. */
static bool same(const jd_sharding *a, const jd_sharding *b, int ndim)
{
    int forth = jd_sharding_is_equivalent(a, b, ndim);
    ck_assert_int_eq(forth, jd_sharding_is_equivalent(b, a, ndim));
    return forth;
}

static bool same_specs(const char *one, const char *other, int ndim)
{
    jd_sharding *a = sharding_of(one), *b = sharding_of(other);
    bool result = same(a, b, ndim);
    jd_sharding_release(a);
    jd_sharding_release(b);
    return result;
}

START_TEST(layouts_are_compared)
{
    ck_assert(same_specs("data,-", "data", 2));
    ck_assert(same_specs("", "-,-", 2));
    ck_assert(same_specs("", "", 0));
    ck_assert(same_specs("data,model", "data,model", 2));
    ck_assert(!same_specs("data,model", "model,data", 2));
    ck_assert(!same_specs("data", "-,data", 2));
    ck_assert(!same_specs("data", "", 1));
    ck_assert(!same_specs("data+model", "model+data", 1));
    ck_assert(!same_specs("data", "model", 1));
}
END_TEST

START_TEST(arrays_of_fewer_dimensions_lie_no_way)
{
    jd_sharding *sharding = sharding_of("data,model");
    ck_assert(same(sharding, sharding, 2));
    ck_assert(!same(sharding, sharding, 1));
    ck_assert(!same_specs("-,data", "-,data", 1));
    jd_sharding_release(sharding);
}
END_TEST

/* A mesh of the same devices, in any order, under other names. */
static jd_sharding *other_sharding(int ndim, const int *shape, const int *order,
                                   const char *spec)
{
    const jd_device *devices[6];
    jd_sharding *sharding;
    jd_mesh *other;
    int count = 1;
    for (int i = 0; i < ndim; i++)
        count *= shape[i];
    for (int i = 0; i < count; i++)
        devices[i] = mesh->devices[order[i]];
    UNIT_OK(jd_mesh_create(&other, ndim, shape,
                           (const char *[]){ "a", "b", "c" }, devices));
    UNIT_OK(jd_sharding_create(&sharding, other, spec));
    jd_mesh_destroy(other);
    return sharding;
}

START_TEST(meshes_may_differ)
{
    static const int in_order[] = { 0, 1, 2, 3, 4, 5 };
    static const int transposed[] = { 0, 3, 1, 4, 2, 5 };
    jd_sharding *flat = other_sharding(1, (int[]){ 6 }, in_order, "a");
    jd_sharding *turned = other_sharding(2, (int[]){ 3, 2 }, transposed, "b,a");
    jd_sharding *first = other_sharding(1, (int[]){ 3 }, in_order, "a");
    jd_sharding *last = other_sharding(1, (int[]){ 3 }, in_order + 3, "a");
    jd_sharding *fewer = other_sharding(1, (int[]){ 5 }, in_order, "");
    jd_sharding *rows = sharding_of("data+model"), *all = sharding_of("");
    jd_sharding *both = sharding_of("data,model");
    ck_assert(same(flat, rows, 1));
    ck_assert(same(turned, both, 2));
    ck_assert(!same(turned, rows, 2));
    ck_assert(!same(fewer, all, 2));
    ck_assert(!same(first, last, 1));
    jd_sharding_release(first);
    jd_sharding_release(last);
    jd_sharding_release(flat);
    jd_sharding_release(turned);
    jd_sharding_release(fewer);
    jd_sharding_release(rows);
    jd_sharding_release(all);
    jd_sharding_release(both);
}
END_TEST

START_TEST(axes_of_one_cut_nothing)
{
    static const int in_order[] = { 0, 1, 2, 3, 4, 5 };
    jd_sharding *one = other_sharding(3, (int[]){ 1, 6, 1 }, in_order, "b,a");
    jd_sharding *rows = sharding_of("data+model");
    ck_assert(same(one, rows, 2));
    ck_assert(!same(one, rows, 1)); /* it has two entries */
    jd_sharding_release(one);
    one = other_sharding(3, (int[]){ 1, 6, 1 }, in_order, "a+c");
    ck_assert_int_eq(jd_sharding_is_fully_replicated(one), 1);
    jd_sharding_release(one);
    jd_sharding_release(rows);
}
END_TEST

/* ---- what they are ------------------------------------------------------ */

START_TEST(replication_is_known)
{
    static const char *const specs[] = { "", "-,-", "data", "model+data" };
    static const int wanted[] = { 1, 1, 0, 0 };
    for (int i = 0; i < 4; i++) {
        jd_sharding *sharding = sharding_of(specs[i]);
        ck_assert_int_eq(jd_sharding_is_fully_replicated(sharding), wanted[i]);
        ck_assert_int_eq(jd_sharding_is_fully_addressable(sharding), 1);
        jd_sharding_release(sharding);
    }
}
END_TEST

START_TEST(references_are_counted)
{
    jd_sharding *sharding = sharding_of("data");
    ck_assert_ptr_eq(jd__sharding_retain(sharding), sharding);
    jd_sharding_release(sharding);
    ck_assert_str_eq(jd_sharding_spec(sharding), "data");
    jd_sharding_release(sharding);
}
END_TEST

START_TEST(a_sharding_outlives_its_mesh)
{
    const jd_device *last = mesh->devices[5];
    jd_sharding *sharding = sharding_of("data,model");
    int64_t shape[2] = { 4, 5 };
    jd_range index[2];
    jd_mesh_destroy(mesh);
    mesh = NULL;
    UNIT_OK(jd_sharding_index(sharding, 2, shape, last, index, NULL));
    ck_assert_int_eq(index[0].begin, 2);
    ck_assert_int_eq(index[1].begin, 4);
    ck_assert_int_eq(index[1].end, 5);
    ck_assert_str_eq(sharding->axis_names[1], "model");
    jd_sharding_release(sharding);
}
END_TEST

START_TEST(a_world_that_ended_is_said)
{
    jd_sharding *sharding = sharding_of("data"), *more = NULL;
    int64_t length = 4;
    UNIT_OK(jd_shutdown());
    UNIT_FAILS(jd_sharding_shard_shape(sharding, 1, &length, &length),
               JD_FAILED_PRECONDITION,
               "jd_sharding_shard_shape: the sharding was made before "
               "jd_shutdown() ended "
               "its world; make it again");
    UNIT_FAILS(jd_sharding_create(&more, mesh, "data"), JD_FAILED_PRECONDITION,
               "jd_sharding_create: the mesh was made before jd_shutdown() "
               "ended its world; make it again");
    jd_sharding_release(sharding);
}
END_TEST

/* ---- many devices ------------------------------------------------------- */

/* What a place has, by the definition. */
static jd_range slow_range(const struct jd_mesh *made,
                           const struct jd_axes *axes, int place,
                           int64_t length)
{
    int64_t ways = jd__axes_size(made, axes), size = (length + ways - 1) / ways;
    int64_t begin = jd__axes_index(made, axes, place) * size;
    int64_t end = begin + size;
    return (jd_range){ begin < length ? begin : length,
                       end < length ? end : length };
}

static void compare_with_slow(const struct jd_mesh *made, int ndim,
                              const struct jd_axes *cuts,
                              const jd_sharding *sharding)
{
    int *replicas = calloc((size_t)sharding->ways, sizeof *replicas);
    int64_t shape[JD_MAX_NDIM];
    int local = 0;
    for (int d = 0; d < ndim; d++)
        shape[d] = rand() % 20;
    for (int place = 0; place < made->size; place++) {
        jd_range index[JD_MAX_NDIM];
        int replica, block = 0;
        UNIT_OK(jd_sharding_index(sharding, ndim, shape, made->devices[place],
                                  index, &replica));
        for (int d = 0; d < ndim; d++) {
            jd_range wanted = slow_range(made, &cuts[d], place, shape[d]);
            ck_assert_int_eq(index[d].begin, wanted.begin);
            ck_assert_int_eq(index[d].end, wanted.end);
            block = block * jd__axes_size(made, &cuts[d]) +
                    jd__axes_index(made, &cuts[d], place);
        }
        ck_assert_int_eq(sharding->blocks[place], block);
        ck_assert_int_eq(replica, replicas[block]++);
        ck_assert_int_eq(jd__sharding_place(sharding, made->devices[place]),
                         place);
        if (made->devices[place]->process_index == 0)
            ck_assert_int_eq(sharding->local[local++], place);
    }
    ck_assert_int_eq(sharding->num_local, local);
    ck_assert_int_eq(jd_sharding_is_fully_addressable(sharding),
                     local == made->size);
    free(replicas);
}

START_TEST(any_mesh_is_cut_as_defined)
{
    srand(draw_seed());
    for (int turn = 0; turn < 400; turn++) {
        struct jd_axes cuts[JD_MAX_NDIM];
        struct jd_mesh made;
        jd_sharding *sharding;
        char text[64];
        int ndim = rand() % (JD_MAX_NDIM + 1);
        int sizes[JD_MAX_AXES];
        int axes = draw_sizes(turn ? 64 : MADE_MESH_MOST, sizes);
        make_mesh(&made, axes, sizes, 8);
        shuffle_mesh(&made);
        draw_spec(&made, ndim, cuts, text);
        UNIT_OK(jd_sharding_create(&sharding, &made, text));
        compare_with_slow(&made, ndim, cuts, sharding);
        jd_sharding_release(sharding);
    }
}
END_TEST

START_TEST(four_thousand_devices_are_cut)
{
    struct jd_mesh made;
    struct jd_axes cuts[2] = { { .count = 2, .axis = { 2, 0 } },
                               { .count = 1, .axis = { 1 } } };
    jd_sharding *sharding;
    make_mesh(&made, 3, (int[]){ 16, 16, 16 }, 8);
    shuffle_mesh(&made);
    UNIT_OK(jd_sharding_create(&sharding, &made, "c+a,b"));
    ck_assert_int_eq(sharding->ways, MADE_MESH_MOST);
    compare_with_slow(&made, 2, cuts, sharding);
    jd_sharding_release(sharding);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sharding_layouts");
    TCase *equal = mesh_case(suite, "equal");
    tcase_add_test(equal, layouts_are_compared);
    tcase_add_test(equal, arrays_of_fewer_dimensions_lie_no_way);
    tcase_add_test(equal, meshes_may_differ);
    tcase_add_test(equal, axes_of_one_cut_nothing);
    TCase *life = mesh_case(suite, "life");
    tcase_add_test(life, replication_is_known);
    tcase_add_test(life, references_are_counted);
    tcase_add_test(life, a_sharding_outlives_its_mesh);
    tcase_add_test(life, a_world_that_ended_is_said);
    TCase *random = mesh_case(suite, "many");
    tcase_add_test(random, any_mesh_is_cut_as_defined);
    tcase_add_test(random, four_thousand_devices_are_cut);
    return unit_main(suite);
}

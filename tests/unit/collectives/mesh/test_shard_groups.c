/* SPDX-License-Identifier: BSD-3-Clause */
/* test_shard_groups.c - shards whose collectives stay within a group; a shard's
 * place; and that calls with the same axes do not allocate. A mesh of eight
 * devices, 2 x 4; the caller is device 6: data 1, model 2. */
#include "jd_collectives.h"
#include "jd_process.h"
#include "tests/unit/fake_platform.h"

#include <malloc.h>

static const char *const names[] = { "data", "model" };
static jd_mesh *mesh;
static jd_shard *me, *derived;
static float in[64], out[64];

static void start(void)
{
    fake_start("8");
    mesh = fake_mesh(2, (int[]){ 2, 4 }, names);
    me = &mesh->shards[6];
}

static void finish(void)
{
    jd_mesh_destroy(mesh);
}

static jd_status groups(const char *axes, int num_groups, const int *sizes,
                        const int *indices)
{
    return jd_shard_groups(&derived, me, axes, num_groups, sizes, indices);
}

START_TEST(collectives_stay_in_the_group)
{
    UNIT_OK(groups("model", 2, (int[]){ 2, 2 }, (int[]){ 0, 1, 3, 2 }));
    ck_assert_int_eq(jd_axis_index(derived, "model"), 1);
    ck_assert_int_eq(jd_axis_size(derived, "model"), 2);
    UNIT_OK(jd_pmean(derived, "model", in, out, 1, JD_F32));
    ck_assert_int_eq(fake.last.comm->size, 2);
    ck_assert_int_eq(fake.last.comm->index, 1);
    ck_assert_int_eq(fake.last.comm->members[0], 7);
    ck_assert_int_eq(fake.last.comm->members[1], 6);
    ck_assert_str_eq(fake.last.call.detail,
                     " over axis \"model\", group 1 of 2");
    ck_assert_str_eq(fake.last.comm->axes, "\"model\" in groups");
    UNIT_OK(jd_all_gather(derived, "model", out + 1, out, 1, JD_F32));
    ck_assert_int_eq(jd_axis_index(me, "model"), 2);
    ck_assert_int_eq(jd_axis_size(me, "model"), 4);
    int at[2];
    UNIT_OK(jd_shard_coordinates(derived, 2, at));
    ck_assert_int_eq(at[0], 1);
    ck_assert_int_eq(at[1], 2);
    ck_assert_ptr_eq(jd_shard_device(derived), jd_shard_device(me));
}
END_TEST

START_TEST(groups_may_be_uneven_and_along_several_axes)
{
    UNIT_OK(groups("model", 2, (int[]){ 3, 1 }, (int[]){ 3, 2, 0, 1 }));
    ck_assert_int_eq(jd_axis_size(derived, "model"), 3);
    ck_assert_int_eq(jd_axis_index(derived, "model"), 1);
    /* "model,data": this one's index is 2 * 2 + 1. */
    UNIT_OK(groups("model,data", 4, (int[]){ 2, 2, 2, 2 },
                   (int[]){ 0, 1, 2, 5, 3, 4, 6, 7 }));
    UNIT_OK(jd_barrier(derived, "model,data"));
    ck_assert_int_eq(fake.last.comm->size, 2);
    ck_assert_int_eq(fake.last.comm->members[0], 1); /* data 0, model 1 */
    ck_assert_int_eq(fake.last.comm->members[1], 6);
}
END_TEST

START_TEST(same_groups_are_the_same_shard)
{
    const int sizes[] = { 2, 2 }, first[] = { 0, 1, 3, 2 };
    const int second[] = { 0, 1, 2, 3 };
    UNIT_OK(groups("model", 2, sizes, first));
    jd_shard *one = derived;
    UNIT_OK(groups("model", 2, sizes, second));
    ck_assert_ptr_ne(derived, one);
    UNIT_OK(groups("model", 2, sizes, first));
    ck_assert_ptr_eq(derived, one);
    UNIT_OK(groups("model", 1, (int[]){ 4 }, first));
    ck_assert_ptr_ne(derived, one);
}
END_TEST

#define GROUPS_REFUSED(call, sentence)                                         \
    do {                                                                       \
        derived = me;                                                          \
        UNIT_FAILS(call, JD_INVALID_ARGUMENT, "jd_shard_groups: " sentence);   \
        ck_assert_ptr_eq(derived, me);                                         \
    } while (0)

START_TEST(groups_are_checked)
{
    const int sizes[] = { 2, 2 };
    GROUPS_REFUSED(groups("model", 2, sizes, (int[]){ 0, 1, 2, 1 }),
                   "indices[1] and indices[3] are both 1; each index is in one "
                   "group, once");
    GROUPS_REFUSED(groups("model", 2, sizes, (int[]){ 0, 1, 2, 4 }),
                   "indices[3] is 4; the axes' indices are 0 to 3");
    GROUPS_REFUSED(groups("model", 2, (int[]){ 2, 1 }, (int[]){ 0, 1, 2 }),
                   "the groups have 3 members, and the axes 4; each index from "
                   "0 to 3 is in one group");
    GROUPS_REFUSED(groups("model", 2, (int[]){ 4, 0 }, (int[]){ 0, 1, 2, 3 }),
                   "group_sizes[1] is 0; a group has at least one member");
    GROUPS_REFUSED(groups("model", 0, sizes, (int[]){ 0 }),
                   "num_groups is 0; there is at least one");
    GROUPS_REFUSED(groups("model", 2, NULL, (int[]){ 0 }),
                   "group_sizes is NULL");
    GROUPS_REFUSED(groups("model", 2, sizes, NULL), "indices is NULL");
    GROUPS_REFUSED(jd_shard_groups(NULL, me, "model", 2, sizes, sizes),
                   "ret_shard is NULL");
    GROUPS_REFUSED(groups("mode", 2, sizes, sizes),
                   "the mesh has no axis \"mode\" (of \"mode\"); its axes are "
                   "\"data\", \"model\", and NULL stands for all of them");
    ck_assert_int_eq(jd_shard_groups(&derived, NULL, NULL, 2, sizes, sizes),
                     JD_INVALID_ARGUMENT);
}
END_TEST

START_TEST(derived_shard_knows_its_axes_alone)
{
    jd_shard *again;
    const int sizes[] = { 2, 2 }, indices[] = { 0, 1, 2, 3 };
    UNIT_OK(groups("model", 2, sizes, indices));
    UNIT_FAILS(jd_barrier(derived, "data"), JD_INVALID_ARGUMENT,
               "jd_barrier: the axes are \"data\", and the shard is one of "
               "groups along \"model\"; name these, in this order, or none "
               "(NULL), or take the shard that the groups were made from");
    UNIT_OK(jd_barrier(derived, NULL)); /* along its own */
    ck_assert_int_eq(fake.last.comm->size, 2);
    ck_assert_int_eq(jd_axis_size(derived, NULL), 2);
    ck_assert_int_eq(jd_axis_index(derived, NULL),
                     jd_axis_index(derived, "model"));
    ck_assert_int_eq(jd_axis_index(derived, "data"), -1);
    UNIT_FAILS(jd_shard_groups(&again, derived, "model", 2, sizes, indices),
               JD_INVALID_ARGUMENT,
               "jd_shard_groups: the shard is itself one of groups; make "
               "groups from the mesh's shard");
    ck_assert_int_eq(fake.calls, 1);
}
END_TEST

/* ---- a shard's place ---------------------------------------------------- */

START_TEST(coordinates_are_checked)
{
    int at[3] = { 7, 7, 7 };
    UNIT_FAILS(jd_shard_coordinates(me, 3, at), JD_INVALID_ARGUMENT,
               "jd_shard_coordinates: ndim is 3, and the mesh has 2 axes "
               "(\"data\", \"model\")");
    UNIT_FAILS(jd_shard_coordinates(me, 2, NULL), JD_INVALID_ARGUMENT,
               "jd_shard_coordinates: ret_coordinates is NULL");
    ck_assert_int_eq(jd_shard_coordinates(NULL, 2, at), JD_INVALID_ARGUMENT);
    ck_assert_int_eq(at[0], 7);
    ck_assert_ptr_null(jd_shard_device(NULL));
    UNIT_OK(jd_shutdown());
    ck_assert_ptr_null(jd_shard_device(me));
    ck_assert_str_eq(jd_error_message(),
                     "jd_shard_device: the mesh was made before jd_shutdown() "
                     "ended its world; make it again");
}
END_TEST

/* ---- no allocation ------------------------------------------------------ */

/* Bytes in use, of this thread's heap and all others. */
static size_t in_use(void)
{
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

static void call_all(void)
{
    const jd_route routes[] = { { 0, 1 }, { 1, 2 }, { 2, 3 }, { 3, 0 } };
    UNIT_OK(jd_psum(me, "model", in, out, 1, JD_F32));
    UNIT_OK(jd_all_gather(me, "data", in, out, 1, JD_F32));
    UNIT_OK(jd_all_to_all(me, NULL, in, out, 1, JD_F32));
    UNIT_OK(jd_ppermute(me, "model", in, out, 1, JD_F32, routes, 4));
    UNIT_OK(
        jd_pshuffle(me, "model", in, out, 1, JD_F32, (int[]){ 1, 0, 3, 2 }));
    UNIT_OK(jd_group_begin(me));
    UNIT_OK(jd_send(me, "data", 0, in, 1, JD_F32));
    UNIT_OK(jd_recv(me, "data", 0, out, 1, JD_F32));
    UNIT_OK(jd_group_end(me));
    UNIT_OK(groups("model", 2, (int[]){ 2, 2 }, (int[]){ 0, 1, 2, 3 }));
    UNIT_OK(jd_psum(derived, "model", in, out, 1, JD_F32));
}

/* The text of axes is compared and not its address. */
START_TEST(axes_are_told_by_their_text)
{
    char text[8] = "model";
    UNIT_OK(jd_barrier(me, text));
    ck_assert_int_eq(fake.last.comm->size, 4);
    strcpy(text, "data");
    UNIT_OK(jd_barrier(me, text));
    ck_assert_int_eq(fake.last.comm->size, 2);
    UNIT_OK(jd_barrier(me, NULL));
    ck_assert_int_eq(fake.last.comm->size, 8);
    UNIT_OK(jd_barrier(me, (char[]){ "model" }));
    ck_assert_int_eq(fake.last.comm->size, 4);
    ck_assert_int_eq(fake.made, 3);
}
END_TEST

START_TEST(calls_again_leave_nothing)
{
    for (int i = 0; i < 20; i++) /* until malloc keeps nothing more either */
        call_all();
    size_t before = in_use();
    for (int i = 0; i < 1000; i++)
        call_all();
    ck_assert_uint_eq(in_use(), before);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("shard_groups");
    TCase *grouping = unit_case(suite, "groups");
    tcase_add_checked_fixture(grouping, start, finish);
    tcase_add_test(grouping, collectives_stay_in_the_group);
    tcase_add_test(grouping, groups_may_be_uneven_and_along_several_axes);
    tcase_add_test(grouping, same_groups_are_the_same_shard);
    tcase_add_test(grouping, groups_are_checked);
    tcase_add_test(grouping, derived_shard_knows_its_axes_alone);
    TCase *place = unit_case(suite, "place");
    tcase_add_checked_fixture(place, start, finish);
    tcase_add_test(place, coordinates_are_checked);
    tcase_add_test(place, axes_are_told_by_their_text);
    tcase_add_test(place, calls_again_leave_nothing);
    return unit_main(suite);
}

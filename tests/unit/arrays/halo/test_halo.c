/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_halo.c - what jd_halo_exchange() hands to a platform, and what it
 * refuses, each with its sentence. A mesh of eight devices, 2 x 4; the caller
 * is device 6: data 1, model 2.
 */
#include "jd_halo.h"
#include "tests/unit/fake_platform.h"

static const char *const names[] = { "data", "model" };
static jd_mesh *mesh;
static jd_shard *me;
static float block[6][8];

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

#define REFUSED(call, sentence)                                                \
    do {                                                                       \
        int calls_ = fake.calls, made_ = fake.made;                            \
        UNIT_FAILS(call, JD_INVALID_ARGUMENT, sentence);                       \
        ck_assert_int_eq(fake.calls, calls_);                                  \
        ck_assert_int_eq(fake.made, made_);                                    \
    } while (0)

static jd_status exchange(jd_halo_dim rows, jd_halo_dim columns, int corners)
{
    return jd_halo_exchange(me, block, JD_F32, 2,
                            (jd_halo_dim[]){ rows, columns }, corners);
}

static void expect_transfer(int i, bool sends, int member, size_t count)
{
    ck_assert_int_lt(i, fake.last.count);
    ck_assert_int_eq(fake.last.transfers[i].sends, sends);
    ck_assert_int_eq(fake.last.transfers[i].member, member);
    ck_assert_uint_eq(fake.last.transfers[i].call.count, count);
}

/* Member 6 of all is at the end of data, where a wall is, and in the middle of
 * model. */
START_TEST(faces_go_to_neighbours)
{
    UNIT_OK(exchange((jd_halo_dim){ 6, 1, 2, "data", 0 },
                     (jd_halo_dim){ 8, 1, 1, "model", 1 }, 0));
    ck_assert_str_eq(fake.last.function, "transfer");
    ck_assert_str_eq(jd__signature_activity_name(fake.last.transfers[0].whole),
                     "jd_halo_exchange");
    ck_assert_int_eq(fake.last.count, 6);
    expect_transfer(0, true, 2, 2 * 6);  /* up: what those have behind */
    expect_transfer(1, false, 2, 1 * 6); /* down: from above */
    expect_transfer(2, true, 5, 3);
    expect_transfer(3, false, 7, 3);
    expect_transfer(4, true, 7, 3);
    expect_transfer(5, false, 5, 3);
    for (int i = 1; i < 6; i++)
        ck_assert_int_le(fake.last.transfers[i - 1].tag,
                         fake.last.transfers[i].tag);
}
END_TEST

START_TEST(rows_that_lie_in_one_piece_are_not_packed)
{
    UNIT_OK(exchange((jd_halo_dim){ 6, 1, 1, "data", 1 },
                     (jd_halo_dim){ 8, 0, 0, NULL, 0 }, 0));
    ck_assert_int_eq(fake.last.count, 4);
    ck_assert_ptr_eq(fake.last.transfers[0].call.in, block[1]);
    ck_assert_ptr_eq(fake.last.transfers[1].call.out, block[5]);
    ck_assert_ptr_eq(fake.last.transfers[2].call.in, block[4]);
    ck_assert_ptr_eq(fake.last.transfers[3].call.out, block[0]);
    ck_assert_ptr_null(me->halo_memory);
}
END_TEST

START_TEST(corners_come_along)
{
    UNIT_OK(exchange((jd_halo_dim){ 6, 1, 1, "data", 1 },
                     (jd_halo_dim){ 8, 1, 1, "model", 1 }, 1));
    ck_assert_int_eq(fake.last.count, 16);
}
END_TEST

START_TEST(wrong_blocks_are_refused)
{
    const jd_halo_dim good = { 8, 1, 1, "model", 1 };
    jd_halo_dim none = { 8, 1, 1, NULL, 1 };
    REFUSED(jd_halo_exchange(me, NULL, JD_F32, 1, &good, 0),
            "jd_halo_exchange: out is NULL and count is 8; only a count of 0 "
            "needs no buffer");
    REFUSED(jd_halo_exchange(me, block, JD_F32, 0, &good, 0),
            "jd_halo_exchange: ndim is 0; it is 1 to 8");
    REFUSED(jd_halo_exchange(me, block, JD_F32, 1, NULL, 0),
            "jd_halo_exchange: dims is NULL and ndim is 1");
    REFUSED(jd_halo_exchange(me, block, (jd_dtype)14, 1, &good, 0),
            "jd_halo_exchange: dtype is 14, which is no jd_dtype");
    REFUSED(jd_halo_exchange(me, block, JD_F32, 1, &none, 0),
            "jd_halo_exchange: none of the dimensions has an axis; a halo "
            "comes from the neighbours along one");
    ck_assert_int_eq(jd_halo_exchange(NULL, block, JD_F32, 1, &good, 0),
                     JD_INVALID_ARGUMENT);
}
END_TEST

START_TEST(wrong_dimensions_are_refused)
{
    const jd_halo_dim good = { 8, 1, 1, "model", 1 };
    REFUSED(
        exchange(good, (jd_halo_dim){ 6, 3, 1, "data", 0 }, 0),
        "jd_halo_exchange: dims[1] (axis \"data\") has size 6, before 3 "
        "and after 1, which leaves 2 of its own; a halo comes from the next "
        "member alone and is at most as wide as what that owns: give "
        "larger blocks to fewer members");
    REFUSED(exchange(good, (jd_halo_dim){ 6, -1, 1, "data", 0 }, 0),
            "jd_halo_exchange: dims[1] (axis \"data\") has size 6, before -1 "
            "and after 1; none is negative, and size counts both halos");
    REFUSED(exchange(good, (jd_halo_dim){ 6, 4, 3, "data", 0 }, 0),
            "jd_halo_exchange: dims[1] (axis \"data\") has size 6, before 4 "
            "and after 3; none is negative, and size counts both halos");
    REFUSED(exchange(good, (jd_halo_dim){ 6, 1, 1, "datum", 0 }, 0),
            "jd_halo_exchange: the mesh has no axis \"datum\" (of \"datum\"); "
            "its axes are \"data\", \"model\", and NULL stands for all of "
            "them");
    REFUSED(exchange(good, good, 0),
            "jd_halo_exchange: the axis \"model\" is there twice in "
            "\"model,model\"; name each axis once");
    REFUSED(exchange((jd_halo_dim){ INT64_MAX, 0, 0, "data", 0 }, good, 0),
            "jd_halo_exchange: count is 18446744073709551615; 8 members' F32 "
            "of that number do not fit into an address space (was it "
            "negative?)");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("halo");
    TCase *calls = unit_case(suite, "halo");
    tcase_add_checked_fixture(calls, start, finish);
    tcase_add_test(calls, faces_go_to_neighbours);
    tcase_add_test(calls, rows_that_lie_in_one_piece_are_not_packed);
    tcase_add_test(calls, corners_come_along);
    tcase_add_test(calls, wrong_blocks_are_refused);
    tcase_add_test(calls, wrong_dimensions_are_refused);
    return unit_main(suite);
}

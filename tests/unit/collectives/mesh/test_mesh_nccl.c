/* SPDX-License-Identifier: BSD-3-Clause */
/* test_mesh_nccl.c - the options of NCCL that a mesh takes and refuses, and
 * which communicators they make. */
#include "jd_collectives.h"
#include "jd_overlap.h"
#include "jd_process.h"
#include "tests/unit/fake_platform.h"

static const char *const names[] = { "data" };

static void start(void)
{
    fake_start("4");
}

/* As that of GPUs. */
static struct jd_platform with_nccl;

static jd_mesh *nccl_mesh(void)
{
    jd_mesh *mesh = fake_mesh(1, (int[]){ 4 }, names);
    with_nccl = fake_platform;
    with_nccl.has_nccl = true;
    mesh->platform = &with_nccl;
    return mesh;
}

static jd_mesh *cpu_mesh(void)
{
    jd_mesh *mesh;
    UNIT_OK(jd_mesh_create(&mesh, 1, (int[]){ 4 }, names, NULL));
    return mesh;
}

static void sum(jd_mesh *mesh)
{
    float x = 0;
    UNIT_OK(jd_psum(&mesh->shards[1], "data", &x, &x, 1, JD_F32));
}

static void refuses(jd_mesh *mesh, const char *name, int value,
                    jd_status status, const char *text)
{
    struct jd_nccl_options before = { 0 };
    if (mesh)
        before = mesh->nccl;
    UNIT_FAILS(jd_mesh_set_nccl(mesh, name, value), status, text);
    if (mesh)
        ck_assert_mem_eq(&mesh->nccl, &before, sizeof before);
}

/* ---- what is refused ---------------------------------------------------- */

START_TEST(arguments_are_checked)
{
    jd_mesh *mesh = cpu_mesh();
    refuses(NULL, "maxCTAs", 8, JD_INVALID_ARGUMENT,
            "jd_mesh_set_nccl: mesh is NULL");
    refuses(mesh, NULL, 8, JD_INVALID_ARGUMENT,
            "jd_mesh_set_nccl: name is NULL");
    refuses(mesh, "maxctas", 8, JD_INVALID_ARGUMENT,
            "jd_mesh_set_nccl: the name is \"maxctas\", which is none that a "
            "mesh can set; set minCTAs, maxCTAs, CTAPolicy or trafficClass, "
            "with the letters as they are here");
    refuses(mesh, "minCTAs", 0, JD_INVALID_ARGUMENT,
            "jd_mesh_set_nccl: minCTAs is 0; it is at least 1");
    refuses(mesh, "maxCTAs", -2147483647 - 1, JD_INVALID_ARGUMENT,
            "jd_mesh_set_nccl: maxCTAs is -2147483648; it is at least 1");
    refuses(mesh, "CTAPolicy", 3, JD_INVALID_ARGUMENT,
            "jd_mesh_set_nccl: CTAPolicy is 3; it is 0 (default), 1 "
            "(efficiency) or 2 (zero)");
    refuses(mesh, "trafficClass", -1, JD_INVALID_ARGUMENT,
            "jd_mesh_set_nccl: trafficClass is -1; it is at least 0");
    jd_mesh_destroy(mesh);
}
END_TEST

START_TEST(the_least_is_at_most_the_most)
{
    jd_mesh *mesh = cpu_mesh();
    UNIT_OK(jd_mesh_set_nccl(mesh, "minCTAs", 8));
    refuses(mesh, "maxCTAs", 4, JD_INVALID_ARGUMENT,
            "jd_mesh_set_nccl: minCTAs would be 8 and maxCTAs 4; minCTAs is "
            "at most maxCTAs");
    UNIT_OK(jd_mesh_set_nccl(mesh, "maxCTAs", 8));
    refuses(mesh, "minCTAs", 9, JD_INVALID_ARGUMENT,
            "jd_mesh_set_nccl: minCTAs would be 9 and maxCTAs 8; minCTAs is "
            "at most maxCTAs");
    UNIT_OK(jd_mesh_set_nccl(mesh, "minCTAs", 1));
    UNIT_OK(jd_mesh_set_nccl(mesh, "maxCTAs", 4));
    jd_mesh_destroy(mesh);
}
END_TEST

#define LATE                                                                   \
    "jd_mesh_set_nccl: maxCTAs is set after a collective of the mesh was "     \
    "called, and its communicators stay as they are; set it right after "      \
    "jd_mesh_create()"

START_TEST(it_is_too_late_after_a_collective)
{
    jd_mesh *mesh = cpu_mesh();
    ck_assert_int_eq(jd_axis_size(&mesh->shards[1], "data"), 4);
    UNIT_OK(jd_mesh_set_nccl(mesh, "maxCTAs", 8));
    jd_mesh_destroy(mesh);
    mesh = nccl_mesh();
    sum(mesh);
    refuses(mesh, "maxCTAs", 8, JD_FAILED_PRECONDITION, LATE);
    jd_mesh_destroy(mesh);
}
END_TEST

START_TEST(those_of_a_group_and_those_started_count)
{
    float x = 0;
    jd_shard *group;
    jd_request *request;
    jd_mesh *mesh = nccl_mesh();
    UNIT_OK(jd_shard_groups(&group, &mesh->shards[2], "data", 2,
                            (int[]){ 2, 2 }, (int[]){ 0, 1, 2, 3 }));
    UNIT_OK(jd_mesh_set_nccl(mesh, "maxCTAs", 8));
    UNIT_OK(jd_psum(group, "data", &x, &x, 1, JD_F32));
    refuses(mesh, "maxCTAs", 8, JD_FAILED_PRECONDITION, LATE);
    jd_mesh_destroy(mesh);
    mesh = nccl_mesh();
    UNIT_OK(
        jd_psum_start(&mesh->shards[1], "data", &x, &x, 1, JD_F32, &request));
    UNIT_OK(jd_wait(&request));
    refuses(mesh, "maxCTAs", 8, JD_FAILED_PRECONDITION, LATE);
    jd_mesh_destroy(mesh);
}
END_TEST

START_TEST(a_mesh_of_an_earlier_world_takes_none)
{
    jd_mesh *mesh = cpu_mesh();
    UNIT_OK(jd_shutdown());
    refuses(mesh, "maxCTAs", 8, JD_FAILED_PRECONDITION,
            "jd_mesh_set_nccl: the mesh was made before jd_shutdown() ended "
            "its world; make it again");
    jd_mesh_destroy(mesh);
}
END_TEST

/* ---- what they make ----------------------------------------------------- */

START_TEST(members_get_them)
{
    jd_mesh *mesh = nccl_mesh();
    UNIT_OK(jd_mesh_set_nccl(mesh, "CTAPolicy", 0));
    UNIT_OK(jd_mesh_set_nccl(mesh, "minCTAs", 2));
    UNIT_OK(jd_mesh_set_nccl(mesh, "maxCTAs", 16));
    UNIT_OK(jd_mesh_set_nccl(mesh, "maxCTAs", 8));
    sum(mesh);
    ck_assert_int_eq(fake.last.comm->nccl.is_set, 1U << JD_NCCL_MIN_CTAS |
                                                      1U << JD_NCCL_MAX_CTAS |
                                                      1U << JD_NCCL_CTA_POLICY);
    ck_assert_int_eq(fake.last.comm->nccl.values[JD_NCCL_MAX_CTAS], 8);
    ck_assert_int_eq(fake.last.comm->nccl.values[JD_NCCL_MIN_CTAS], 2);
    ck_assert_str_eq(fake.last.call.detail,
                     " over axis \"data\" (minCTAs 2, maxCTAs 8, CTAPolicy 0)");
    ck_assert_str_eq(fake.last.comm->axes, "\"data\"");
    jd_mesh_destroy(mesh);
}
END_TEST

START_TEST(others_are_another_comm)
{
    jd_mesh *plain = nccl_mesh(), *narrow = nccl_mesh(), *like = nccl_mesh();
    jd_mesh *zero = nccl_mesh();
    UNIT_OK(jd_mesh_set_nccl(narrow, "maxCTAs", 8));
    UNIT_OK(jd_mesh_set_nccl(like, "maxCTAs", 8));
    UNIT_OK(jd_mesh_set_nccl(zero, "trafficClass", 0));
    sum(plain);
    const struct jd_comm *first = fake.last.comm;
    sum(narrow);
    const struct jd_comm *second = fake.last.comm;
    ck_assert_ptr_ne(first, second);
    sum(like);
    ck_assert_ptr_eq(fake.last.comm, second);
    sum(zero);
    ck_assert_int_eq(fake.made, 3);
    jd_mesh_destroy(plain);
    jd_mesh_destroy(narrow);
    ck_assert_int_eq(fake.freed, 1);
    jd_mesh_destroy(like);
    jd_mesh_destroy(zero);
    ck_assert_int_eq(fake.freed, 3);
}
END_TEST

START_TEST(without_nccl_they_have_no_effect)
{
    jd_mesh *plain = fake_mesh(1, (int[]){ 4 }, names);
    jd_mesh *narrow = fake_mesh(1, (int[]){ 4 }, names);
    UNIT_OK(jd_mesh_set_nccl(narrow, "maxCTAs", 8));
    sum(plain);
    sum(narrow);
    ck_assert_int_eq(fake.made, 1);
    ck_assert_int_eq(fake.last.comm->nccl.is_set, 0);
    ck_assert_str_eq(fake.last.call.detail, " over axis \"data\"");
    jd_mesh_destroy(plain);
    jd_mesh_destroy(narrow);
}
END_TEST

/* ---- as text ------------------------------------------------------------ */

START_TEST(the_text_has_room_for_all)
{
    struct jd_nccl_options all = { 0 };
    char text[JD_NCCL_OPTIONS_BYTES], small[12];
    for (int i = 0; i < JD_NUM_NCCL_OPTIONS; i++)
        jd__nccl_options_set(&all, i, INT32_MAX);
    jd__nccl_options_print(&all, text, sizeof text);
    ck_assert_str_eq(text, " (minCTAs 2147483647, maxCTAs 2147483647, "
                           "CTAPolicy 2147483647, trafficClass 2147483647)");
    jd__nccl_options_print(&all, small, sizeof small);
    ck_assert_str_eq(small, " (minCTAs 2");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mesh_nccl");
    TCase *refused = unit_case(suite, "refused");
    tcase_add_checked_fixture(refused, start, NULL);
    tcase_add_test(refused, arguments_are_checked);
    tcase_add_test(refused, the_least_is_at_most_the_most);
    tcase_add_test(refused, it_is_too_late_after_a_collective);
    tcase_add_test(refused, those_of_a_group_and_those_started_count);
    tcase_add_test(refused, a_mesh_of_an_earlier_world_takes_none);
    TCase *made = unit_case(suite, "made");
    tcase_add_checked_fixture(made, start, NULL);
    tcase_add_test(made, members_get_them);
    tcase_add_test(made, others_are_another_comm);
    tcase_add_test(made, without_nccl_they_have_no_effect);
    tcase_add_test(made, the_text_has_room_for_all);
    return unit_main(suite);
}

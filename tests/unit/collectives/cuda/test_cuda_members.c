/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_cuda_members.c - what the members of a communicator of GPUs find out
 * from each other's records, and every sentence of it.
 */
#include "collectives/cuda/members.h"
#include "tests/unit/unit.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { SIZE = 4 };

static jd_device devices[SIZE];
static const jd_device *pointers[SIZE];
static struct jd_runtime runtime;
static struct jd_comm_spec spec;
static struct jd_cuda_member members[SIZE];

/* Processes 0, 10, 20, 30 with a GPU each, as all of them see each other from
 * the place of the first. */
static void set_up(void)
{
    static const char *const uuids[SIZE] = { "GPU-00", "GPU-11", "GPU-22",
                                             "GPU-33" };
    struct jd_env *env = unit_env("");
    UNIT_OK(jd__options_resolve(env, NULL, 0, &runtime.settings));
    jd__env_destroy(env);
    for (int i = 0; i < SIZE; i++) {
        devices[i] = (jd_device){
            .process_index = 10 * i,
            .local_ordinal = i % 2,
            .platform = "cuda",
            .kind = "NVIDIA H100",
            .host = i < 2 ? "node-a" : "node-b",
            .pci_bus_id = "0000:3b:00.0",
            .uuid = uuids[i],
        };
        pointers[i] = &devices[i];
    }
    spec = (struct jd_comm_spec){
        .runtime = &runtime,
        .members = pointers,
        .size = SIZE,
        .axes = "\"data\"",
        .detail = " over axis \"data\"",
        .operation = "jd_psum",
    };
    for (spec.index = 0; spec.index < SIZE; spec.index++) {
        jd__cuda_member_describe(&spec, &members[spec.index]);
        members[spec.index].nccl_version = 22809;
    }
    spec.index = 0;
}

static void tear_down(void)
{
    jd__options_destroy(runtime.settings);
}

START_TEST(a_member_describes_its_device)
{
    struct jd_cuda_member wanted = {
        .process = 30, .ordinal = 1, .nccl_version = 22809, .uuid = "GPU-33"
    };
    ck_assert_mem_eq(&members[3], &wanted, sizeof wanted);
}
END_TEST

START_TEST(it_says_that_it_may_share)
{
    struct jd_env *env = unit_env("JD_OVERSUBSCRIBE=1\n");
    jd__options_destroy(runtime.settings);
    UNIT_OK(jd__options_resolve(env, NULL, 0, &runtime.settings));
    jd__env_destroy(env);
    jd__cuda_member_describe(&spec, &members[0]);
    ck_assert_int_eq(members[0].shares, 1);
}
END_TEST

START_TEST(a_long_uuid_is_cut)
{
    devices[0].uuid = "MIG-0123456789012345678901234567890123456789012345678"
                      "90123456789";
    jd__cuda_member_describe(&spec, &members[0]);
    ck_assert_str_eq(members[0].uuid,
                     "MIG-0123456789012345678901234567890123456789012");
}
END_TEST

START_TEST(all_is_well)
{
    UNIT_OK(jd__cuda_members_check(&spec, members));
}
END_TEST

START_TEST(an_unknown_uuid_is_nobodys)
{
    memset(members[1].uuid, 0, sizeof members[1].uuid);
    memset(members[2].uuid, 0, sizeof members[2].uuid);
    UNIT_OK(jd__cuda_members_check(&spec, members));
}
END_TEST

/* ---- a member that cannot take part ------------------------------------- */

static void fail_member(int index)
{
    jd_fail(JD_INTERNAL, "jd_psum: ncclGetUniqueId failed: no network");
    jd__cuda_member_fail(&members[index], JD_INTERNAL);
}

START_TEST(the_others_name_it)
{
    fail_member(3);
    UNIT_FAILS(jd__cuda_members_check(&spec, members), JD_INTERNAL,
               "jd_psum over axis \"data\": process 30 (its device 1, on "
               "node-b) cannot take part in NCCL's communicator: jd_psum: "
               "ncclGetUniqueId failed: no network");
}
END_TEST

START_TEST(it_has_its_own_sentence)
{
    fail_member(3);
    spec.index = 3;
    jd_fail(JD_UNKNOWN, "something else");
    UNIT_FAILS(jd__cuda_members_check(&spec, members), JD_INTERNAL,
               "jd_psum: ncclGetUniqueId failed: no network");
}
END_TEST

START_TEST(it_comes_before_other_faults)
{
    fail_member(3);
    members[1].nccl_version = 22703;
    ck_assert_int_eq(jd__cuda_members_check(&spec, members), JD_INTERNAL);
}
END_TEST

START_TEST(a_long_sentence_is_cut)
{
    char text[2048];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    jd_fail(JD_INTERNAL, "%s", text);
    jd__cuda_member_fail(&members[0], JD_INTERNAL);
    ck_assert_int_eq(strlen(members[0].text), sizeof members[0].text - 1);
}
END_TEST

/* ---- versions ----------------------------------------------------------- */

START_TEST(different_versions_are_named)
{
    members[2].nccl_version = 22703;
    UNIT_FAILS(jd__cuda_members_check(&spec, members), JD_FAILED_PRECONDITION,
               "jd_psum over axis \"data\": process 0 (its device 0, on "
               "node-a) has NCCL 2.28.9 and process 20 (its device 0, on "
               "node-b) has NCCL 2.27.3; the members of a communicator need "
               "the same: let the loader find one libnccl.so.2 on all hosts "
               "(LD_LIBRARY_PATH)");
}
END_TEST

/* ---- options of NCCL ---------------------------------------------------- */

START_TEST(a_member_has_the_options_of_its_mesh)
{
    jd__nccl_options_set(&spec.nccl, JD_NCCL_TRAFFIC_CLASS, 3);
    jd__cuda_member_describe(&spec, &members[0]);
    ck_assert_mem_eq(&members[0].nccl, &spec.nccl, sizeof spec.nccl);
    members[0].nccl_version = members[1].nccl_version;
    for (int i = 1; i < SIZE; i++)
        members[i].nccl = members[0].nccl;
    UNIT_OK(jd__cuda_members_check(&spec, members));
}
END_TEST

START_TEST(different_options_are_named)
{
    for (int i = 0; i < SIZE; i++)
        jd__nccl_options_set(&members[i].nccl, JD_NCCL_MAX_CTAS, 8);
    jd__nccl_options_set(&members[3].nccl, JD_NCCL_MAX_CTAS, 16);
    UNIT_FAILS(jd__cuda_members_check(&spec, members), JD_INVALID_ARGUMENT,
               "jd_psum over axis \"data\": process 0 (its device 0, on "
               "node-a) has maxCTAs 8 and process 30 (its device 1, on "
               "node-b) has 16; let all processes of the mesh set the same "
               "with jd_mesh_set_nccl()");
    jd__nccl_options_set(&members[1].nccl, JD_NCCL_CTA_POLICY, 0);
    UNIT_FAILS(jd__cuda_members_check(&spec, members), JD_INVALID_ARGUMENT,
               "jd_psum over axis \"data\": process 0 (its device 0, on "
               "node-a) has CTAPolicy none and process 10 (its device 1, on "
               "node-a) has 0; let all processes of the mesh set the same "
               "with jd_mesh_set_nccl()");
}
END_TEST

/* ---- a GPU that is there twice ------------------------------------------ */

static void share(int a, int b)
{
    memcpy(members[b].uuid, members[a].uuid, sizeof members[b].uuid);
}

#define TWICE                                                                  \
    "jd_psum over axis \"data\": process 10 (its device 1, on node-a) and "    \
    "process 30 (its device 1, on node-b) are both on GPU GPU-11 (NVIDIA "     \
    "H100, PCI bus id 0000:3b:00.0), and NCCL takes a GPU once; give each "    \
    "process GPUs of its own (local_device_ids of jd_initialize, "             \
    "JD_LOCAL_DEVICE_IDS, srun --gpus-per-task); to have them share it set "

START_TEST(both_processes_are_named)
{
    share(1, 3);
    for (spec.index = 0; spec.index < SIZE; spec.index++)
        UNIT_FAILS(jd__cuda_members_check(&spec, members), JD_INVALID_ARGUMENT,
                   TWICE "JD_OVERSUBSCRIBE=1 and another NCCL_HOSTID in each "
                         "process (slow: they talk over sockets), or with "
                         "NCCL 2.30 or newer NCCL_MULTI_RANK_GPU_ENABLE=1");
}
END_TEST

START_TEST(a_newer_nccl_has_another_remedy)
{
    share(1, 3);
    for (int i = 0; i < SIZE; i++)
        members[i].nccl_version = 23003;
    UNIT_FAILS(jd__cuda_members_check(&spec, members), JD_INVALID_ARGUMENT,
               TWICE "JD_OVERSUBSCRIBE=1 and NCCL_MULTI_RANK_GPU_ENABLE=1");
}
END_TEST

START_TEST(nccl_may_try_where_both_share)
{
    share(1, 3);
    members[1].shares = 1;
    ck_assert_int_eq(jd__cuda_members_check(&spec, members),
                     JD_INVALID_ARGUMENT);
    members[3].shares = 1;
    UNIT_OK(jd__cuda_members_check(&spec, members));
}
END_TEST

START_TEST(the_first_pair_counts)
{
    share(2, 3);
    share(1, 2);
    ck_assert_int_eq(jd__cuda_members_check(&spec, members),
                     JD_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(jd_error_message(), "process 10 "));
    ck_assert_ptr_nonnull(strstr(jd_error_message(), "process 20 "));
}
END_TEST

/* Each member of one of two GPUs or of an unknown one, and to share it or not.
 */
static void set_members(int turn)
{
    static const char *const uuids[] = { "", "GPU-b", "GPU-a" };
    for (int i = 0; i < SIZE; i++) {
        members[i].shares = turn % 2;
        turn /= 2;
        memset(members[i].uuid, 0, sizeof members[i].uuid);
        strcpy(members[i].uuid, uuids[turn % 3]);
        turn /= 3;
    }
}

/* The earliest second and its earliest first; false where nothing is wrong. */
static bool find_pair(int *ret_first, int *ret_second)
{
    for (int b = 1; b < SIZE; b++)
        for (int a = 0; a < b; a++)
            if (members[a].uuid[0] &&
                strcmp(members[a].uuid, members[b].uuid) == 0 &&
                !(members[a].shares && members[b].shares)) {
                *ret_first = a;
                *ret_second = b;
                return true;
            }
    return false;
}

START_TEST(whoever_has_which_gpu_the_same_pair_is_named)
{
    for (int turn = 0; turn < 6 * 6 * 6 * 6; turn++) {
        char pair[128];
        int a, b;
        set_members(turn);
        if (!find_pair(&a, &b)) {
            UNIT_OK(jd__cuda_members_check(&spec, members));
            continue;
        }
        ck_assert_int_eq(jd__cuda_members_check(&spec, members),
                         JD_INVALID_ARGUMENT);
        snprintf(pair, sizeof pair,
                 "process %d (its device %d, on %s) and process %d (", 10 * a,
                 a % 2, pointers[a]->host, 10 * b);
        ck_assert_msg(strstr(jd_error_message(), pair), "%s: %s", pair,
                      jd_error_message());
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cuda_members");
    TCase *all = unit_case(suite, "records");
    tcase_add_checked_fixture(all, set_up, tear_down);
    tcase_add_test(all, a_member_describes_its_device);
    tcase_add_test(all, it_says_that_it_may_share);
    tcase_add_test(all, a_long_uuid_is_cut);
    tcase_add_test(all, all_is_well);
    tcase_add_test(all, an_unknown_uuid_is_nobodys);
    tcase_add_test(all, the_others_name_it);
    tcase_add_test(all, it_has_its_own_sentence);
    tcase_add_test(all, it_comes_before_other_faults);
    tcase_add_test(all, a_long_sentence_is_cut);
    tcase_add_test(all, different_versions_are_named);
    tcase_add_test(all, a_member_has_the_options_of_its_mesh);
    tcase_add_test(all, different_options_are_named);
    tcase_add_test(all, both_processes_are_named);
    tcase_add_test(all, a_newer_nccl_has_another_remedy);
    tcase_add_test(all, nccl_may_try_where_both_share);
    tcase_add_test(all, the_first_pair_counts);
    tcase_add_test(all, whoever_has_which_gpu_the_same_pair_is_named);
    return unit_main(suite);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* test_comm_cache.c - which meshes and axes share a communicator, how long it
 * lives, and that several threads make theirs at the same time. */
#include "collectives/mesh/comm_cache.h"
#include "collectives/mesh/shard.h"
#include "jd_collectives.h"
#include "jd_process.h"
#include "tests/unit/fake_platform.h"

static const char *const names[] = { "data", "model" };

static void start(void)
{
    fake_start("8");
}

static void sum(jd_shard *shard, const char *axes)
{
    float x = 0;
    UNIT_OK(jd_psum(shard, axes, &x, &x, 1, JD_F32));
}

START_TEST(comm_is_of_the_members_along_the_axes)
{
    jd_mesh *mesh = fake_mesh(2, (int[]){ 2, 4 }, names);
    sum(&mesh->shards[6], "data");
    ck_assert_int_eq(fake.last.comm->size, 2);
    ck_assert_int_eq(fake.last.comm->index, 1);
    ck_assert_int_eq(fake.last.comm->members[0], 2);
    ck_assert_int_eq(fake.last.comm->members[1], 6);
    ck_assert_str_eq(fake.last.comm->axes, "\"data\"");
    ck_assert_str_eq(fake.last.call.detail, " over axis \"data\"");
    sum(&mesh->shards[6], "model,data");
    ck_assert_int_eq(fake.last.comm->size, 8);
    ck_assert_int_eq(fake.last.comm->index, 5);
    for (int i = 0; i < 8; i++)
        ck_assert_int_eq(fake.last.comm->members[i], i % 2 * 4 + i / 2);
    ck_assert_str_eq(fake.last.call.detail, " over axes \"model\", \"data\"");
    ck_assert_int_eq(fake.made, 2);
    jd_mesh_destroy(mesh);
    ck_assert_int_eq(fake.freed, 2);
    ck_assert_int_eq(jd__comm_cache_count(), 0);
}
END_TEST

START_TEST(same_devices_share_a_comm)
{
    jd_mesh *mesh = fake_mesh(2, (int[]){ 2, 4 }, names);
    jd_mesh *line = fake_mesh(1, (int[]){ 8 }, names);
    jd_shard *shard = &mesh->shards[3];
    sum(shard, NULL);
    const struct jd_comm *comm = fake.last.comm;
    sum(shard, "data,model");
    ck_assert_ptr_eq(fake.last.comm, comm);
    sum(&line->shards[3], "data");
    ck_assert_ptr_eq(fake.last.comm, comm);
    ck_assert_str_eq(fake.last.call.detail, " over axis \"data\"");
    ck_assert_int_eq(fake.made, 1);
    sum(&line->shards[4], "data"); /* another device's end */
    ck_assert_ptr_ne(fake.last.comm, comm);
    jd_mesh_destroy(mesh);
    ck_assert_int_eq(fake.freed, 0);
    sum(&line->shards[3], "data");
    ck_assert_int_eq(fake.made, 2);
    jd_mesh_destroy(line);
    ck_assert_int_eq(fake.freed, 2);
    ck_assert_int_eq(jd__comm_cache_count(), 0);
}
END_TEST

START_TEST(another_order_is_another_comm)
{
    jd_mesh *forth = fake_mesh(1, (int[]){ 8 }, names), *back;
    const jd_device *order[8];
    for (int i = 0; i < 8; i++)
        order[i] = forth->devices[7 - i];
    UNIT_OK(jd_mesh_create(&back, 1, (int[]){ 8 }, names, order));
    back->platform = &fake_platform;
    sum(&forth->shards[2], NULL);
    sum(&back->shards[5], NULL);
    ck_assert_ptr_eq(jd_shard_device(&forth->shards[2]),
                     jd_shard_device(&back->shards[5]));
    ck_assert_int_eq(fake.made, 2);
    jd_mesh_destroy(forth);
    jd_mesh_destroy(back);
}
END_TEST

START_TEST(worlds_do_not_share)
{
    jd_mesh *old = fake_mesh(1, (int[]){ 8 }, names);
    sum(&old->shards[2], NULL);
    UNIT_OK(jd_shutdown());
    jd_mesh *mesh = fake_mesh(1, (int[]){ 8 }, names);
    sum(&mesh->shards[2], NULL);
    ck_assert_int_eq(fake.made, 2);
    jd_mesh_destroy(old);
    sum(&mesh->shards[2], NULL);
    jd_mesh_destroy(mesh);
    ck_assert_int_eq(fake.freed, 2);
}
END_TEST

START_TEST(thousands_of_meshes_leave_nothing)
{
    for (int i = 0; i < 3000; i++) {
        jd_mesh *mesh = fake_mesh(2, (int[]){ 4, 2 }, names);
        sum(&mesh->shards[i % 8], "data");
        sum(&mesh->shards[i % 8], "model");
        jd_mesh_destroy(mesh);
    }
    ck_assert_int_eq(fake.made, 6000);
    ck_assert_int_eq(fake.freed, 6000);
    ck_assert_int_eq(jd__comm_cache_count(), 0);
}
END_TEST

/* ---- failures ----------------------------------------------------------- */

static jd_status try_sum(jd_shard *shard)
{
    float x = 0;
    return jd_psum(shard, "data", &x, &x, 1, JD_F32);
}

START_TEST(failure_is_remembered_by_all_who_share)
{
    jd_mesh *one = fake_mesh(1, (int[]){ 8 }, names);
    jd_mesh *two = fake_mesh(1, (int[]){ 8 }, names);
    UNIT_OK(try_sum(&one->shards[0]));
    fake.fails = JD_DEADLINE_EXCEEDED;
    UNIT_FAILS(try_sum(&one->shards[0]), JD_DEADLINE_EXCEEDED,
               "the fake fails");
    fake.fails = JD_OK;
    int calls = fake.calls;
    UNIT_FAILS(try_sum(&two->shards[0]), JD_ABORTED,
               "jd_psum over axis \"data\": not begun, because an earlier call "
               "among the same members failed and left them out of step; the "
               "job should end. It was: the fake fails");
    ck_assert_int_eq(fake.calls, calls);
    UNIT_OK(try_sum(&two->shards[1]));
    jd_mesh_destroy(one);
    jd_mesh_destroy(two);
    one = fake_mesh(1, (int[]){ 8 }, names);
    UNIT_OK(try_sum(&one->shards[0]));
    jd_mesh_destroy(one);
}
END_TEST

START_TEST(comm_that_members_disagree_about_can_be_made_again)
{
    jd_mesh *mesh = fake_mesh(1, (int[]){ 8 }, names);
    fake.fails = JD_INVALID_ARGUMENT;
    UNIT_FAILS(try_sum(&mesh->shards[0]), JD_INVALID_ARGUMENT,
               "the fake makes no communicator");
    fake.fails = JD_OK;
    UNIT_OK(try_sum(&mesh->shards[0]));
    fake.fails = JD_INVALID_ARGUMENT;
    UNIT_FAILS(try_sum(&mesh->shards[0]), JD_INVALID_ARGUMENT,
               "the fake fails");
    fake.fails = JD_OK;
    UNIT_OK(try_sum(&mesh->shards[0]));
    jd_mesh_destroy(mesh);
}
END_TEST

START_TEST(comm_that_failed_to_be_made_stays_so)
{
    jd_mesh *mesh = fake_mesh(1, (int[]){ 8 }, names);
    fake.fails = JD_INTERNAL;
    UNIT_FAILS(try_sum(&mesh->shards[0]), JD_INTERNAL,
               "the fake makes no communicator");
    fake.fails = JD_OK;
    ck_assert_int_eq(try_sum(&mesh->shards[0]), JD_ABORTED);
    ck_assert_int_eq(fake.made, 1);
    jd_mesh_destroy(mesh);
    ck_assert_int_eq(fake.freed, 0);
}
END_TEST

/* ---- threads ------------------------------------------------------------ */

static void *wait_in_barrier(void *shard)
{
    return (void *)(intptr_t)jd_barrier(shard, "data");
}

START_TEST(second_thread_of_a_device_is_refused)
{
    jd_mesh *mesh = fake_mesh(1, (int[]){ 8 }, names);
    jd_mesh *other = fake_mesh(1, (int[]){ 8 }, names);
    pthread_t thread;
    void *result;
    fake.waits = true;
    pthread_create(&thread, NULL, wait_in_barrier, &mesh->shards[0]);
    pthread_mutex_lock(&fake.lock);
    while (fake.waiting == 0)
        pthread_cond_wait(&fake.changed, &fake.lock);
    pthread_mutex_unlock(&fake.lock);
    UNIT_FAILS(try_sum(&other->shards[0]), JD_FAILED_PRECONDITION,
               "jd_psum over axis \"data\": another thread is in a collective "
               "of device 0 over the same devices; a device has one thread at "
               "a time, whichever of its meshes that uses");
    UNIT_OK(try_sum(&other->shards[1]));
    jd__shard_abort(&mesh->shards[0]);
    pthread_join(thread, &result);
    ck_assert_int_eq((int)(intptr_t)result, JD_ABORTED);
    jd_mesh_destroy(mesh);
    jd_mesh_destroy(other);
}
END_TEST

enum { ROUNDS = 200 };

/* Each makes and gives back communicators that the others have ends of too. */
static void *make_and_free(void *arg)
{
    int number = *(int *)arg;
    for (int i = 0; i < ROUNDS; i++) {
        jd_mesh *mesh = fake_mesh(2, (int[]){ 2, 4 }, names);
        sum(&mesh->shards[number], i % 2 ? "data" : "model");
        sum(&mesh->shards[number], i % 3 ? "model" : NULL);
        jd_mesh_destroy(mesh);
    }
    return NULL;
}

START_TEST(many_threads_make_and_free_comms)
{
    pthread_t threads[8];
    int numbers[8];
    for (int i = 0; i < 8; i++) {
        numbers[i] = i;
        pthread_create(&threads[i], NULL, make_and_free, &numbers[i]);
    }
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
    ck_assert_int_gt(fake.made, 0);
    ck_assert_int_eq(fake.made, fake.freed);
    ck_assert_int_eq(jd__comm_cache_count(), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("comm_cache");
    TCase *sharing = unit_case(suite, "sharing");
    tcase_set_timeout(sharing, 60);
    tcase_add_checked_fixture(sharing, start, NULL);
    tcase_add_test(sharing, comm_is_of_the_members_along_the_axes);
    tcase_add_test(sharing, same_devices_share_a_comm);
    tcase_add_test(sharing, another_order_is_another_comm);
    tcase_add_test(sharing, worlds_do_not_share);
    tcase_add_test(sharing, thousands_of_meshes_leave_nothing);
    TCase *failures = unit_case(suite, "failures");
    tcase_add_checked_fixture(failures, start, NULL);
    tcase_add_test(failures, failure_is_remembered_by_all_who_share);
    tcase_add_test(failures,
                   comm_that_members_disagree_about_can_be_made_again);
    tcase_add_test(failures, comm_that_failed_to_be_made_stays_so);
    TCase *threads = unit_case(suite, "threads");
    tcase_add_checked_fixture(threads, start, NULL);
    tcase_set_timeout(threads, 60);
    tcase_add_test(threads, second_thread_of_a_device_is_refused);
    tcase_add_test(threads, many_threads_make_and_free_comms);
    return unit_main(suite);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* test_shard_map.c - a body for each local device: each runs once, at the same
 * time as the others, and one that fails ends them, wherever they wait. */
#include "base/progress.h"
#include "base/standing.h"
#include "jd_coordination.h"
#include "tests/unit/fake_platform.h"

static const char *const names[] = { "data", "model" };

static void start_eight(void)
{
    fake_start("8");
}

static void start_one(void)
{
    fake_start("1");
}

/* ---- bodies that succeed ------------------------------------------------ */

struct tally {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int come;
    int by_position[8];
    pthread_t threads[8];
};

static jd_status come_together(jd_shard *shard, void *arg)
{
    struct tally *tally = arg;
    int at[2];
    UNIT_OK(jd_shard_coordinates(shard, 2, at));
    ck_assert_int_eq(at[0], jd_axis_index(shard, "data"));
    ck_assert_int_eq(at[1], jd_axis_index(shard, "model"));
    ck_assert_int_eq(jd_shard_device(shard)->local_ordinal,
                     jd_axis_index(shard, NULL));
    pthread_mutex_lock(&tally->lock);
    tally->by_position[jd_axis_index(shard, NULL)]++;
    tally->threads[jd_axis_index(shard, NULL)] = pthread_self();
    tally->come++;
    pthread_cond_broadcast(&tally->changed);
    while (tally->come < 8)
        pthread_cond_wait(&tally->changed, &tally->lock);
    pthread_mutex_unlock(&tally->lock);
    return JD_OK;
}

START_TEST(each_device_has_a_thread)
{
    jd_mesh *mesh = fake_mesh(2, (int[]){ 2, 4 }, names);
    struct tally tally = { .lock = PTHREAD_MUTEX_INITIALIZER,
                           .changed = PTHREAD_COND_INITIALIZER };
    UNIT_OK(jd_shard_map(mesh, come_together, &tally));
    for (int i = 0; i < 8; i++)
        ck_assert_int_eq(tally.by_position[i], 1);
    ck_assert_int_eq(fake.aborts, 0);
    tally.come = 0;
    UNIT_OK(jd_shard_map(mesh, come_together, &tally));
    jd_mesh_destroy(mesh);
}
END_TEST

static jd_status note_thread(jd_shard *shard, void *arg)
{
    ck_assert_ptr_nonnull(shard);
    *(pthread_t *)arg = pthread_self();
    return JD_OK;
}

static jd_status enter_once(jd_shard *shard, void *unused)
{
    (void)shard;
    (void)unused;
    jd__progress_enter("jd_psum");
    jd__progress_leave();
    return JD_OK;
}

static void *map_once(void *mesh)
{
    UNIT_OK(jd_shard_map(mesh, enter_once, NULL));
    return NULL;
}

/* Of one device the caller's thread is the body's, and the program's: another
 * may follow when it has ended. */
START_TEST(a_thread_of_the_programs_stays_one)
{
    pthread_t thread;
    jd_mesh *mesh = fake_mesh(2, (int[]){ 1, -1 }, names);
    pthread_create(&thread, NULL, map_once, mesh);
    pthread_join(thread, NULL);
    ck_assert(!jd__standing_is_only_thread());
    jd_mesh_destroy(mesh);
}
END_TEST

START_TEST(threads_for_devices_end)
{
    jd_mesh *mesh = fake_mesh(2, (int[]){ 1, -1 }, names);
    map_once(mesh);
    ck_assert(jd__standing_is_only_thread());
    jd_mesh_destroy(mesh);
}
END_TEST

START_TEST(one_device_has_the_calling_thread)
{
    jd_mesh *mesh = fake_mesh(1, (int[]){ 1 }, names);
    pthread_t thread;
    memset(&thread, 0, sizeof thread);
    UNIT_OK(jd_shard_map(mesh, note_thread, &thread));
    ck_assert(pthread_equal(thread, pthread_self()));
    jd_mesh_destroy(mesh);
}
END_TEST

static jd_status shut_down(jd_shard *shard, void *arg)
{
    (void)arg;
    UNIT_FAILS(jd_shutdown(), JD_FAILED_PRECONDITION,
               "jd_shutdown: it was called in a body of jd_shard_map(), while "
               "other bodies may be at work; return from the body, and call it "
               "after jd_shard_map()");
    ck_assert_ptr_nonnull(jd_shard_device(shard)); /* nothing is ended */
    return JD_OK;
}

START_TEST(a_body_does_not_end_the_world)
{
    jd_mesh *mesh = fake_mesh(2, (int[]){ 2, 4 }, names);
    UNIT_OK(jd_shard_map(mesh, shut_down, NULL));
    UNIT_OK(jd_shutdown());
    ck_assert_ptr_null(jd_shard_device(&mesh->shards[0]));
    ck_assert_str_eq(jd_error_message(),
                     "jd_shard_device: the mesh was made before jd_shutdown() "
                     "ended its world; make it again");
    jd_mesh_destroy(mesh);
}
END_TEST

/* A mesh of some of this process's devices has a body for each of these. */
static jd_status count_up(jd_shard *shard, void *arg)
{
    ck_assert_int_eq(jd_shard_device(shard)->local_ordinal % 2, 1);
    atomic_fetch_add((atomic_int *)arg, 1);
    return JD_OK;
}

START_TEST(devices_that_are_not_in_the_mesh_have_none)
{
    const jd_device *const *all = jd_devices(NULL);
    atomic_int count = 0;
    jd_mesh *mesh;
    UNIT_OK(jd_mesh_create(&mesh, 1, (int[]){ 3 }, names,
                           (const jd_device *[]){ all[7], all[1], all[3] }));
    mesh->platform = &fake_platform;
    UNIT_OK(jd_shard_map(mesh, count_up, &count));
    ck_assert_int_eq(atomic_load(&count), 3);
    mesh->num_shards = 0; /* as in a process whose devices are elsewhere */
    UNIT_OK(jd_shard_map(mesh, count_up, &count));
    ck_assert_int_eq(atomic_load(&count), 3);
    mesh->num_shards = 3;
    jd_mesh_destroy(mesh);
}
END_TEST

/* ---- bodies that fail --------------------------------------------------- */

static void await_waiting(int count)
{
    pthread_mutex_lock(&fake.lock);
    while (fake.waiting < count)
        pthread_cond_wait(&fake.changed, &fake.lock);
    pthread_mutex_unlock(&fake.lock);
}

#define FAILED                                                                 \
    "jd_shard_map: device 5 (process 0, number 5): DATA_LOSS: page 3 is torn"

/* Device 5 fails when all others wait; they say why they were ended. */
static jd_status fail_among_waiting(jd_shard *shard, void *arg)
{
    const char *wanted = arg;
    if (jd_axis_index(shard, NULL) == 5) {
        await_waiting(7);
        return jd_fail(JD_DATA_LOSS, "page 3 is torn");
    }
    jd_status status = jd_barrier(shard, NULL);
    ck_assert_int_eq(status, JD_ABORTED);
    ck_assert_str_eq(jd_error_message(), wanted);
    return status;
}

START_TEST(failure_ends_waits_on_comms)
{
    jd_mesh *mesh = fake_mesh(2, (int[]){ 2, 4 }, names);
    fake.waits = true;
    UNIT_FAILS(jd_shard_map(mesh, fail_among_waiting,
                            (char[]){ "jd_barrier over axes \"data\", "
                                      "\"model\": ended, because another body "
                                      "of the mesh has failed: " FAILED }),
               JD_DATA_LOSS, FAILED);
    ck_assert_int_ge(fake.aborts, 7);
    jd_mesh_destroy(mesh);
    ck_assert_int_eq(fake.made, fake.freed);
}
END_TEST

START_TEST(failure_ends_waits_for_comms)
{
    jd_mesh *mesh = fake_mesh(2, (int[]){ 2, 4 }, names);
    fake.create_waits = true;
    UNIT_FAILS(jd_shard_map(mesh, fail_among_waiting,
                            (char[]){ "jd_barrier over axes \"data\", "
                                      "\"model\": ended, because another body "
                                      "of the mesh has failed: " FAILED }),
               JD_DATA_LOSS, FAILED);
    jd_mesh_destroy(mesh);
}
END_TEST

static jd_status fail_in_silence(jd_shard *shard, void *arg)
{
    (void)shard;
    (void)arg;
    return JD_DATA_LOSS;
}

static jd_status fail_nothing(jd_shard *shard, void *arg)
{
    (void)shard;
    (void)arg;
    return JD_OK;
}

/* On the calling thread, where another call has failed before. */
START_TEST(a_body_does_not_fail_with_anothers_sentence)
{
    jd_mesh *mesh = fake_mesh(1, (int[]){ 1 }, names);
    jd_fail_with(JD_NOT_FOUND, "page %d is gone", 7);
    UNIT_OK(jd_shard_map(mesh, fail_nothing, NULL));
    ck_assert_str_eq(jd_error_message(), "page 7 is gone");
    UNIT_FAILS(jd_shard_map(mesh, fail_in_silence, NULL), JD_DATA_LOSS,
               "jd_shard_map: device 0 (process 0, number 0): DATA_LOSS: the "
               "body gave no sentence; jd_fail_with() gives one");
    jd_mesh_destroy(mesh);
}
END_TEST

/* In derived shards' communicators too. */
static jd_status fail_among_groups(jd_shard *shard, void *arg)
{
    jd_shard *half;
    (void)arg;
    if (jd_axis_index(shard, NULL) == 5) {
        await_waiting(7);
        return jd_fail(JD_DATA_LOSS, "page 3 is torn");
    }
    UNIT_OK(jd_shard_groups(&half, shard, "data", 2, (int[]){ 4, 4 },
                            (int[]){ 0, 1, 2, 3, 4, 5, 6, 7 }));
    ck_assert_int_eq(jd_barrier(half, "data"), JD_ABORTED);
    return JD_OK;
}

START_TEST(failure_ends_waits_in_groups)
{
    jd_mesh *mesh = fake_mesh(1, (int[]){ 8 }, names);
    fake.waits = true;
    UNIT_FAILS(jd_shard_map(mesh, fail_among_groups, NULL), JD_DATA_LOSS,
               FAILED);
    jd_mesh_destroy(mesh);
}
END_TEST

/* Races between the failure and the others' first collectives. */
static jd_status fail_at_once(jd_shard *shard, void *arg)
{
    (void)arg;
    if (jd_axis_index(shard, NULL) == 5)
        return jd_fail(JD_DATA_LOSS, "page 3 is torn");
    return jd_barrier(shard, NULL);
}

START_TEST(failure_ends_waits_that_begin)
{
    jd_mesh *mesh = fake_mesh(1, (int[]){ 8 }, names);
    fake.waits = true;
    UNIT_FAILS(jd_shard_map(mesh, fail_at_once, NULL), JD_DATA_LOSS, FAILED);
    jd_mesh_destroy(mesh);
}
END_TEST

START_TEST(failure_is_the_jobs_and_the_meshs)
{
    jd_mesh *mesh = fake_mesh(1, (int[]){ 8 }, names);
    jd_mesh *other = fake_mesh(1, (int[]){ 8 }, names);
    ck_assert_int_eq(jd_shard_map(mesh, fail_at_once, NULL), JD_DATA_LOSS);
    ck_assert_int_eq(jd_barrier(&other->shards[0], NULL), JD_ABORTED);
    ck_assert_str_eq(jd_error_message(),
                     "jd_barrier: this process has reported an error: "
                     "DATA_LOSS: " FAILED);
    UNIT_FAILS(jd_shard_map(mesh, fail_at_once, NULL), JD_ABORTED,
               "jd_shard_map: not begun, because another body of the mesh has "
               "failed: " FAILED);
    jd_mesh_destroy(other);
    jd_mesh_destroy(mesh);
}
END_TEST

static jd_status fail_in_a_call(jd_shard *shard, void *arg)
{
    (void)arg;
    return jd_barrier(shard, NULL);
}

START_TEST(one_body_fails_on_the_calling_thread)
{
    jd_mesh *mesh = fake_mesh(1, (int[]){ 1 }, names);
    fake.fails = JD_DEADLINE_EXCEEDED;
    UNIT_FAILS(jd_shard_map(mesh, fail_in_a_call, NULL), JD_DEADLINE_EXCEEDED,
               "jd_shard_map: device 0 (process 0, number 0): "
               "DEADLINE_EXCEEDED: the fake makes no communicator");
    jd_mesh_destroy(mesh);
}
END_TEST

static jd_status leave_a_group_open(jd_shard *shard, void *arg)
{
    (void)arg;
    return jd_group_begin(shard);
}

START_TEST(open_group_is_a_failure)
{
    jd_mesh *mesh = fake_mesh(1, (int[]){ 1 }, names);
    UNIT_FAILS(jd_shard_map(mesh, leave_a_group_open, NULL),
               JD_FAILED_PRECONDITION,
               "jd_shard_map: device 0 (process 0, number 0): "
               "FAILED_PRECONDITION: the body has returned between "
               "jd_group_begin() and jd_group_end(); call jd_group_end() "
               "before");
    jd_mesh_destroy(mesh);
}
END_TEST

/* No thread has so large a stack. */
START_TEST(thread_that_cannot_start_is_a_failure)
{
    jd_mesh *mesh = fake_mesh(1, (int[]){ 8 }, names);
    atomic_int count = 0;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, (size_t)1 << 50);
    ck_assert_int_eq(pthread_setattr_default_np(&attributes), 0);
    UNIT_FAILS(jd_shard_map(mesh, count_up, &count), JD_RESOURCE_EXHAUSTED,
               "jd_shard_map: the thread of device 0 of 8 cannot be started: "
               "Resource temporarily unavailable");
    ck_assert_int_eq(atomic_load(&count), 0);
    pthread_attr_destroy(&attributes);
    jd_mesh_destroy(mesh);
}
END_TEST

START_TEST(arguments_are_checked)
{
    jd_mesh *mesh = fake_mesh(1, (int[]){ 8 }, names);
    UNIT_FAILS(jd_shard_map(NULL, count_up, NULL), JD_INVALID_ARGUMENT,
               "jd_shard_map: mesh is NULL");
    UNIT_FAILS(jd_shard_map(mesh, NULL, NULL), JD_INVALID_ARGUMENT,
               "jd_shard_map: body is NULL");
    jd_mesh_destroy(mesh);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("shard_map");
    TCase *eight = unit_case(suite, "eight devices");
    tcase_add_checked_fixture(eight, start_eight, NULL);
    tcase_set_timeout(eight, 60);
    tcase_add_test(eight, each_device_has_a_thread);
    tcase_add_test(eight, a_body_does_not_end_the_world);
    tcase_add_test(eight, devices_that_are_not_in_the_mesh_have_none);
    tcase_add_test(eight, failure_ends_waits_on_comms);
    tcase_add_test(eight, failure_ends_waits_for_comms);
    tcase_add_test(eight, failure_ends_waits_in_groups);
    tcase_add_loop_test(eight, failure_ends_waits_that_begin, 0, 20);
    tcase_add_test(eight, failure_is_the_jobs_and_the_meshs);
    tcase_add_test(eight, thread_that_cannot_start_is_a_failure);
    tcase_add_test(eight, arguments_are_checked);
    tcase_add_test(eight, threads_for_devices_end);
    TCase *one = unit_case(suite, "one device");
    tcase_add_checked_fixture(one, start_one, NULL);
    tcase_add_test(one, one_device_has_the_calling_thread);
    tcase_add_test(one, a_thread_of_the_programs_stays_one);
    tcase_add_test(one, a_body_does_not_fail_with_anothers_sentence);
    tcase_add_test(one, one_body_fails_on_the_calling_thread);
    tcase_add_test(one, open_group_is_a_failure);
    return unit_main(suite);
}

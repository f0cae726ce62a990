/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_progress.c - what the background thread sees of what the others do.
 * The counters are the process's: Check gives each test a process of its own.
 */
#include "base/progress.h"
#include "base/clock.h"
#include "jd_collectives.h"
#include "jd_mesh.h"
#include "jd_multihost.h"
#include "jd_process.h"
#include "jd_shard.h"
#include "jd_status.h"
#include "tests/unit/unit.h"

#include <pthread.h>
#include <stdatomic.h>

static void expect(const char *operation, uint64_t number, bool inside)
{
    struct jd_progress progress;
    jd__progress_sample(&progress);
    ck_assert_pstr_eq(progress.operation, operation);
    ck_assert_uint_eq(progress.number, number);
    ck_assert_int_eq(progress.inside, inside);
}

START_TEST(it_begins_with_nothing)
{
    expect(NULL, 0, false);
    jd__progress_leave();
    expect(NULL, 0, false);
}
END_TEST

START_TEST(the_last_operation_is_seen)
{
    jd__progress_enter("one");
    expect("one", 1, true);
    jd__progress_leave();
    expect("one", 1, false);
    jd__progress_enter("two");
    expect("two", 2, true);
}
END_TEST

START_TEST(a_site_that_is_given_is_there_until_the_next)
{
    static const char outer, inner;
    ck_assert_ptr_null(jd_call_site(&outer));
    ck_assert_ptr_eq(jd_call_site(&inner), &outer);
    jd__progress_note_caller(NULL);
    ck_assert_ptr_eq(jd__progress_thread.caller, &inner);
    ck_assert_ptr_eq(jd_call_site(NULL), &inner);
}
END_TEST

START_TEST(an_operation_within_another_is_not)
{
    jd__progress_enter("outer");
    jd__progress_enter("inner");
    expect("outer", 1, true);
    jd__progress_leave();
    expect("outer", 1, true);
    jd__progress_leave();
    expect("outer", 1, false);
}
END_TEST

START_TEST(since_is_when_it_was_first_seen_so)
{
    struct jd_progress first, second;
    double before = jd__clock_now();
    jd__progress_enter("one");
    jd__progress_sample(&first);
    ck_assert(first.since >= before && first.since <= jd__clock_now());
    jd__progress_sample(&second);
    ck_assert(second.since == first.since);
    double left = jd__clock_now();
    jd__progress_leave();
    jd__progress_sample(&second);
    ck_assert(second.since >= left);
    /* Out and in again between two samples: another operation. */
    left = jd__clock_now();
    jd__progress_enter("one");
    jd__progress_leave();
    jd__progress_sample(&second);
    ck_assert(second.since >= left);
}
END_TEST

/* ---- threads ------------------------------------------------------------ */

static void *come_and_go(void *unused)
{
    jd__progress_enter("quick");
    jd__progress_leave();
    return unused;
}

START_TEST(one_that_comes_out_does_not_hide_another)
{
    pthread_t thread;
    jd__progress_enter("slow");
    pthread_create(&thread, NULL, come_and_go, NULL);
    pthread_join(thread, NULL);
    expect("quick", 2, true);
    jd__progress_leave();
    expect("quick", 2, false);
}
END_TEST

enum { THREADS = 4, ROUNDS = 2000000 };

static pthread_barrier_t start;

static void *come_and_go_often(void *unused)
{
    pthread_barrier_wait(&start);
    for (int i = 0; i < ROUNDS; i++)
        come_and_go(NULL);
    return unused;
}

START_TEST(none_is_lost)
{
    pthread_t threads[THREADS];
    struct jd_progress progress;
    uint64_t last = 0;
    pthread_barrier_init(&start, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, come_and_go_often, NULL);
    do {
        jd__progress_sample(&progress);
        ck_assert_uint_ge(progress.number, last);
        last = progress.number;
        ck_assert(!progress.number || progress.operation);
    } while (progress.number < THREADS * ROUNDS / 2);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    expect("quick", THREADS * ROUNDS, false);
}
END_TEST

/* ---- who notes it ------------------------------------------------------- */

static jd_mesh *make_mesh(void)
{
    static const int shape[] = { -1 };
    static const char *const names[] = { "data" };
    jd_mesh *mesh;
    UNIT_OK(jd_mesh_create(&mesh, 1, shape, names, NULL));
    return mesh;
}

START_TEST(collectives_enter_and_leave)
{
    float in = 1, out;
    jd_mesh *mesh = make_mesh();
    jd_shard *shard = jd_mesh_shard(mesh);
    UNIT_OK(jd_psum(shard, "data", &in, &out, 1, JD_F32));
    expect("jd_psum", 1, false);
    UNIT_OK(jd_all_gather(shard, NULL, &in, &out, 1, JD_F32));
    expect("jd_all_gather", 2, false);
    UNIT_OK(jd_pbroadcast(shard, NULL, 0, &in, &out, 1, JD_F32));
    expect("jd_pbroadcast", 3, false);
    /* What is refused before it could wait is not seen. */
    ck_assert_int_ne(jd_psum(shard, "model", &in, &out, 1, JD_F32), JD_OK);
    expect("jd_pbroadcast", 3, false);
    jd_mesh_destroy(mesh);
}
END_TEST

START_TEST(utilities_enter_and_leave)
{
    float in = 1, out;
    int64_t one = 1, two = 2;
    jd_leaf leaf = { &in, JD_F32, 0, NULL };
    jd_leaf gathered = { &out, JD_F32, 1, &one };
    jd_leaf wrong = { (float[2]){ 0 }, JD_F32, 1, &two };
    UNIT_OK(jd_broadcast_one_to_all(&leaf, 1, 0));
    expect("jd_broadcast_one_to_all", 1, false);
    ck_assert_int_ne(jd_broadcast_one_to_all(&leaf, 1, 7), JD_OK);
    expect("jd_broadcast_one_to_all", 2, false);
    UNIT_OK(jd_process_allgather(&leaf, &gathered, 1, 0));
    expect("jd_process_allgather", 3, false);
    ck_assert_int_ne(jd_process_allgather(&leaf, &wrong, 1, 0), JD_OK);
    expect("jd_process_allgather", 4, false);
    UNIT_OK(jd_sync_global_devices("here"));
    UNIT_OK(jd_assert_equal(&leaf, 1, NULL));
    expect("jd_assert_equal", 6, false);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("progress");
    TCase *words = unit_case(suite, "words");
    tcase_add_test(words, it_begins_with_nothing);
    tcase_add_test(words, the_last_operation_is_seen);
    tcase_add_test(words, a_site_that_is_given_is_there_until_the_next);
    tcase_add_test(words, an_operation_within_another_is_not);
    tcase_add_test(words, since_is_when_it_was_first_seen_so);
    TCase *threads = unit_case(suite, "threads");
    tcase_set_timeout(threads, 60);
    tcase_add_test(threads, one_that_comes_out_does_not_hide_another);
    tcase_add_test(threads, none_is_lost);
    TCase *users = unit_case(suite, "users");
    tcase_add_test(users, collectives_enter_and_leave);
    tcase_add_test(users, utilities_enter_and_leave);
    return unit_main(suite);
}

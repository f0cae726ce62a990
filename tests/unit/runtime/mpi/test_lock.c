/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_lock.c - how several threads share MPI. The program has its own
 * MPI_Query_thread, MPI_Is_thread_main and MPI_Iprobe; no MPI is started.
 */
#include "runtime/mpi/lock.h"
#include "runtime/mpi/world.h"
#include "tests/unit/unit.h"

#include <pthread.h>
#include <stdatomic.h>

static int level;
static int num_probes;
static pthread_t main_thread;

int MPI_Query_thread(int *provided)
{
    *provided = level;
    return MPI_SUCCESS;
}

int MPI_Is_thread_main(int *is_main)
{
    *is_main = pthread_equal(pthread_self(), main_thread);
    return MPI_SUCCESS;
}

int MPI_Iprobe(int source, int tag, MPI_Comm comm, int *found,
               MPI_Status *status)
{
    (void)comm, (void)status;
    ck_assert_int_eq(source, 3);
    ck_assert_int_eq(tag, 0);
    *found = 0;
    num_probes++;
    return MPI_SUCCESS;
}

static void set_level(int provided)
{
    level = provided;
    main_thread = pthread_self();
    jd__mpi_lock_configure();
}

static void run_elsewhere(void *(*body)(void *), void *arg)
{
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, body, arg), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
}

/* ---- the lock ----------------------------------------------------------- */

static int counter; /* no atomic: the lock guards it */

static void *count_up(void *arg)
{
    (void)arg;
    for (int i = 0; i < 20000; i++) {
        if (i % 2)
            jd__mpi_lock();
        else
            while (!jd__mpi_try_lock())
                continue;
        counter++;
        jd__mpi_unlock();
    }
    return NULL;
}

START_TEST(one_thread_at_a_time)
{
    pthread_t threads[4];
    set_level(MPI_THREAD_SERIALIZED);
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, count_up, NULL), 0);
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    ck_assert_int_eq(counter, 4 * 20000);
}
END_TEST

static void *try_once(void *arg)
{
    *(bool *)arg = jd__mpi_try_lock();
    if (*(bool *)arg)
        jd__mpi_unlock();
    return NULL;
}

/* Whether a second thread gets in beside the first. */
static const struct {
    int level;
    bool is_free;
} held[] = {
    { MPI_THREAD_SINGLE, true },
    { MPI_THREAD_FUNNELED, true },
    { MPI_THREAD_SERIALIZED, false },
    { MPI_THREAD_MULTIPLE, true },
};

START_TEST(only_serialized_needs_it)
{
    bool is_free;
    set_level(held[_i].level);
    jd__mpi_lock();
    run_elsewhere(try_once, &is_free);
    jd__mpi_unlock();
    ck_assert_int_eq(is_free, held[_i].is_free);
    run_elsewhere(try_once, &is_free);
    ck_assert(is_free);
}
END_TEST

static atomic_bool is_through;

static void *post(void *arg)
{
    (void)arg;
    jd__mpi_lock();
    atomic_store(&is_through, true);
    jd__mpi_unlock();
    return NULL;
}

/* A thread that polls as fast as it can does not keep another one out. */
START_TEST(who_posts_goes_before_who_polls)
{
    pthread_t thread;
    set_level(MPI_THREAD_SERIALIZED);
    jd__mpi_lock();
    ck_assert_int_eq(pthread_create(&thread, NULL, post, NULL), 0);
    jd__mpi_unlock();
    while (!atomic_load(&is_through))
        if (jd__mpi_try_lock())
            jd__mpi_unlock();
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
}
END_TEST

/* ---- who may call ------------------------------------------------------- */

static void *ask(void *arg)
{
    (void)arg;
    bool may = level >= MPI_THREAD_SERIALIZED;
    ck_assert_int_eq(jd__mpi_may_call(), may);
    if (may)
        UNIT_OK(jd__mpi_check_thread("jd_psum"));
    else if (level == MPI_THREAD_SINGLE)
        UNIT_FAILS(jd__mpi_check_thread("jd_psum"), JD_FAILED_PRECONDITION,
                   "jd_psum: MPI was initialised with MPI_THREAD_SINGLE, which "
                   "leaves it to the thread that did so, and this is another; "
                   "call from that thread, or ask MPI_Init_thread for "
                   "MPI_THREAD_SERIALIZED");
    else
        ck_assert_int_eq(jd__mpi_check_thread("jd_psum"),
                         JD_FAILED_PRECONDITION);
    return NULL;
}

START_TEST(the_level_says_who_may_call)
{
    set_level(held[_i].level);
    ck_assert(jd__mpi_may_call());
    UNIT_OK(jd__mpi_check_thread("jd_psum"));
    run_elsewhere(ask, NULL);
}
END_TEST

START_TEST(several_devices_need_serialized)
{
    UNIT_OK(jd__mpi_check_devices("jd_shard_map", 4)); /* no MPI yet */
    set_level(MPI_THREAD_FUNNELED);
    UNIT_OK(jd__mpi_check_devices("jd_shard_map", 1));
    UNIT_FAILS(jd__mpi_check_devices("jd_shard_map", 4), JD_FAILED_PRECONDITION,
               "jd_shard_map: this process has 4 devices, with a thread each, "
               "and MPI was initialised with MPI_THREAD_FUNNELED, which serves "
               "one; ask MPI_Init_thread for MPI_THREAD_SERIALIZED, let "
               "jd_initialize() start MPI, or set JD_NUM_CPU_DEVICES=1");
    set_level(MPI_THREAD_SERIALIZED);
    UNIT_OK(jd__mpi_check_devices("jd_shard_map", 4));
}
END_TEST

/* ---- progress ----------------------------------------------------------- */

static struct jd_world world = { .index = 3, .has_mpi = true };

static void *progress(void *arg)
{
    jd__mpi_make_progress(arg);
    return NULL;
}

START_TEST(progress_is_one_probe_or_none)
{
    struct jd_world alone = { .has_mpi = false };
    set_level(MPI_THREAD_SERIALIZED);
    jd__mpi_make_progress(&alone);
    ck_assert_int_eq(num_probes, 0);
    jd__mpi_make_progress(&world);
    ck_assert_int_eq(num_probes, 1);
    jd__mpi_lock(); /* who has it makes progress */
    run_elsewhere(progress, &world);
    jd__mpi_unlock();
    ck_assert_int_eq(num_probes, 1);
    run_elsewhere(progress, &world);
    ck_assert_int_eq(num_probes, 2);
    set_level(MPI_THREAD_FUNNELED);
    run_elsewhere(progress, &world);
    ck_assert_int_eq(num_probes, 2);
    jd__mpi_make_progress(&world);
    ck_assert_int_eq(num_probes, 3);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("mpi_lock");
    TCase *lock = unit_case(suite, "lock");
    tcase_set_timeout(lock, 60);
    tcase_add_test(lock, one_thread_at_a_time);
    tcase_add_loop_test(lock, only_serialized_needs_it, 0, 4);
    tcase_add_test(lock, who_posts_goes_before_who_polls);
    TCase *callers = unit_case(suite, "callers");
    tcase_add_loop_test(callers, the_level_says_who_may_call, 0, 4);
    tcase_add_test(callers, several_devices_need_serialized);
    TCase *probes = unit_case(suite, "progress");
    tcase_add_test(probes, progress_is_one_probe_or_none);
    return unit_main(suite);
}

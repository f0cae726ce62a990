/* SPDX-License-Identifier: BSD-3-Clause */
/* test_standing.c - whether a process can do anything that others wait for. */
#include "base/standing.h"
#include "base/progress.h"
#include "tests/unit/unit.h"

#include <pthread.h>

/* Another thread, which does one step after the other, as it is told to. */
static pthread_barrier_t turn;

static void let_pass(void)
{
    pthread_barrier_wait(&turn);
    pthread_barrier_wait(&turn);
}

static void *wait_twice(void *unused)
{
    pthread_barrier_wait(&turn);
    jd__standing_count_own();
    jd__progress_enter("jd_psum");
    let_pass();
    jd__standing_in(7, 100 + 7);
    let_pass();
    jd__standing_in(8, 100 + 8);
    let_pass();
    jd__progress_leave();
    let_pass();
    jd__progress_enter("jd_psum");
    jd__standing_in(9, 100 + 9); /* and it ends */
    pthread_barrier_wait(&turn);
    return unused;
}

static struct jd_standing look(void)
{
    struct jd_standing others;
    jd__standing_look(&others);
    return others;
}

static void expect(bool is_whole, uint64_t wait)
{
    struct jd_standing others = look();
    ck_assert_int_eq(others.is_whole, is_whole);
    ck_assert_int_eq(others.count, wait != 0);
    ck_assert(!wait || others.waits[0] == wait);
    ck_assert(!others.knows_all);
}

/* The calling thread stands in wait 3. */
static void expect_list(uint64_t other)
{
    uint64_t waits[JD_STANDING_MOST], calls[JD_STANDING_MOST];
    int count = jd__standing_list(waits, calls);
    ck_assert_int_eq(count, other ? 2 : 1);
    for (int i = 0; i < count; i++) {
        ck_assert(waits[i] == 3 || waits[i] == other);
        ck_assert_uint_eq(calls[i], 100 + waits[i]);
    }
}

START_TEST(one_thread_is_whole)
{
    expect(false, 0); /* it enters none */
    ck_assert(jd__standing_is_only_thread());
    jd__standing_in(3, 100 + 3);
    jd__progress_enter("jd_psum");
    expect(true, 0);
    ck_assert(jd__standing_is_only_thread());
    jd__standing_in(3, 100 + 3);
    expect(true, 0); /* its own is not another's */
    jd__progress_leave();
}
END_TEST

START_TEST(another_thread_has_to_stand)
{
    pthread_t thread;
    pthread_barrier_init(&turn, NULL, 2);
    pthread_create(&thread, NULL, wait_twice, NULL);
    jd__progress_enter("jd_psum");
    jd__standing_in(3, 100 + 3);
    static const struct {
        bool is_whole;
        uint64_t wait;
    } wanted[] = { { false, 0 }, { true, 7 }, { true, 8 }, { false, 0 } };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        let_pass(); /* the first: it has entered */
        ck_assert(!jd__standing_is_only_thread());
        expect(wanted[i].is_whole, wanted[i].wait);
        expect_list(wanted[i].wait);
    }
    pthread_barrier_wait(&turn);
    pthread_barrier_wait(&turn);
    pthread_join(thread, NULL);
    expect(true, 0);
    ck_assert(jd__standing_is_only_thread()); /* the other has ended */
}
END_TEST

static void *look_while_one_rests(void *ret)
{
    struct jd_standing *others = ret;
    jd__standing_count_own();
    jd__progress_enter("jd_psum");
    jd__standing_look(others);
    jd__progress_leave();
    return NULL;
}

START_TEST(one_may_wait_for_the_others)
{
    pthread_t thread;
    struct jd_standing others;
    jd__standing_rest();
    pthread_create(&thread, NULL, look_while_one_rests, &others);
    pthread_join(thread, NULL);
    jd__standing_go_on();
    ck_assert(others.is_whole && !others.knows_all && others.count == 0);
    pthread_create(&thread, NULL, look_while_one_rests, &others);
    pthread_join(thread, NULL);
    ck_assert(!others.is_whole);
}
END_TEST

static void *come_and_go(void *unused)
{
    jd__progress_enter("jd_psum");
    jd__standing_in(5, 100 + 5);
    jd__progress_leave();
    return unused;
}

/* Another like it may follow, for a device that nobody knew of. */
START_TEST(a_thread_of_the_programs_stays_one)
{
    pthread_t thread;
    jd__progress_enter("jd_psum");
    jd__standing_know_all();
    ck_assert(look().knows_all);
    ck_assert_int_eq(look().num_users, 1);
    pthread_create(&thread, NULL, come_and_go, NULL);
    pthread_join(thread, NULL);
    expect(false, 0);
    ck_assert(!look().knows_all);
    ck_assert(!jd__standing_is_only_thread());
    jd__progress_leave();
}
END_TEST

/* More stand than there is room for. */
enum { MANY = JD_STANDING_MOST + 1 };

static void *stand(void *number)
{
    jd__standing_count_own();
    jd__progress_enter("jd_psum");
    jd__standing_in((uint64_t)(uintptr_t)number, 0);
    pthread_barrier_wait(&turn);
    pthread_barrier_wait(&turn);
    jd__progress_leave();
    return NULL;
}

START_TEST(too_many_are_not_whole)
{
    pthread_t threads[MANY];
    pthread_barrier_init(&turn, NULL, MANY + 1);
    for (uintptr_t i = 0; i < MANY; i++)
        pthread_create(&threads[i], NULL, stand, (void *)(i + 1));
    pthread_barrier_wait(&turn);
    jd__progress_enter("jd_psum");
    ck_assert(!look().is_whole);
    ck_assert_int_eq(look().count, JD_STANDING_MOST);
    pthread_barrier_wait(&turn);
    for (int i = 0; i < MANY; i++)
        pthread_join(threads[i], NULL);
    ck_assert(look().is_whole);
    ck_assert_int_eq(look().count, 0);
    jd__progress_leave();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("standing");
    TCase *tcase = unit_case(suite, "standing");
    tcase_add_test(tcase, one_thread_is_whole);
    tcase_add_test(tcase, another_thread_has_to_stand);
    tcase_add_test(tcase, one_may_wait_for_the_others);
    tcase_add_test(tcase, a_thread_of_the_programs_stays_one);
    tcase_add_test(tcase, too_many_are_not_whole);
    return unit_main(suite);
}

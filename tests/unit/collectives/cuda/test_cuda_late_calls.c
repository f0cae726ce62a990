/* SPDX-License-Identifier: BSD-3-Clause */
/* test_cuda_late_calls.c - calls that last are looked at, by a thread that
 * looks much more often than jd's (-DJD_LATE_LOOK_SECONDS). */
#include "collectives/cuda/late_calls.h"
#include "tests/unit/unit.h"

#include <pthread.h>
#include <sched.h>

struct watched {
    struct jd_late_caller caller;
    atomic_int looks, firsts;
    atomic_int allowed; /* a look waits until it is */
    atomic_bool has_ended;
};

enum { ALL = 1 << 30 };

static void look(void *arg, bool is_first)
{
    struct watched *w = arg;
    atomic_fetch_add(&w->firsts, is_first);
    int number = atomic_fetch_add(&w->looks, 1) + 1;
    while (number > atomic_load(&w->allowed))
        sched_yield();
    ck_assert(!atomic_load(&w->has_ended));
}

static void await_looks(struct watched *w, int count)
{
    while (atomic_load(&w->looks) < count)
        sched_yield();
}

START_TEST(a_call_that_lasts_is_looked_at)
{
    struct watched w = { .allowed = ALL };
    ck_assert(jd__late_caller_add(&w.caller, look, &w));
    for (int call = 1; call <= 2; call++) {
        int before = atomic_load(&w.looks);
        jd__late_caller_begin(&w.caller);
        await_looks(&w, before + 3);
        jd__late_caller_end(&w.caller);
        ck_assert_int_eq(atomic_load(&w.firsts), call);
    }
    jd__late_caller_remove(&w.caller);
}
END_TEST

/* One that is looked at in every round, after the other, stops the rounds. */
START_TEST(a_new_call_is_not_yet)
{
    struct watched gate = { .allowed = 0 }, w = { .allowed = ALL };
    ck_assert(jd__late_caller_add(&gate.caller, look, &gate));
    ck_assert(jd__late_caller_add(&w.caller, look, &w));
    jd__late_caller_begin(&gate.caller);
    jd__late_caller_begin(&w.caller);
    for (int round = 1; round <= 20; round++) {
        await_looks(&gate, round);
        int before = atomic_load(&w.looks);
        jd__late_caller_end(&w.caller);
        jd__late_caller_begin(&w.caller);
        atomic_store(&gate.allowed, round);
        await_looks(&gate, round + 1);
        ck_assert_int_eq(atomic_load(&w.looks), before);
    }
    atomic_store(&gate.allowed, ALL);
    await_looks(&w, 2);
    jd__late_caller_end(&w.caller);
    jd__late_caller_end(&gate.caller);
    jd__late_caller_remove(&w.caller);
    jd__late_caller_remove(&gate.caller);
}
END_TEST

static void *end_call(void *arg)
{
    struct watched *w = arg;
    jd__late_caller_end(&w->caller);
    atomic_store(&w->has_ended, true);
    return NULL;
}

/* Whoever looks may use what the call has. */
START_TEST(an_end_waits_for_a_look)
{
    struct watched w = { .allowed = 0 };
    pthread_t thread;
    ck_assert(jd__late_caller_add(&w.caller, look, &w));
    jd__late_caller_begin(&w.caller);
    await_looks(&w, 1);
    ck_assert_int_eq(pthread_create(&thread, NULL, end_call, &w), 0);
    for (int i = 0; i < 1000; i++)
        sched_yield();
    atomic_store(&w.allowed, ALL); /* look() sees whether it has ended */
    pthread_join(thread, NULL);
    int looks = atomic_load(&w.looks); /* the thread may have come late */
    jd__late_caller_remove(&w.caller);
    ck_assert_int_eq(atomic_load(&w.looks), looks);
}
END_TEST

/* The thread ends with the last, and begins with the next. */
START_TEST(callers_come_and_go)
{
    for (int i = 0; i < 50; i++) {
        struct watched w = { .allowed = ALL };
        ck_assert(jd__late_caller_add(&w.caller, look, &w));
        if (i % 10 == 0) {
            jd__late_caller_begin(&w.caller);
            await_looks(&w, 1);
            jd__late_caller_end(&w.caller);
        }
        jd__late_caller_remove(&w.caller);
    }
    struct jd_late_caller never = { .seen = 0 };
    jd__late_caller_remove(&never);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("cuda_late_calls");
    TCase *tcase = unit_case(suite, "calls");
    tcase_add_test(tcase, a_call_that_lasts_is_looked_at);
    tcase_add_test(tcase, a_new_call_is_not_yet);
    tcase_add_test(tcase, an_end_waits_for_a_look);
    tcase_add_test(tcase, callers_come_and_go);
    return unit_main(suite);
}

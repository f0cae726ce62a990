/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * set_clock.h - a clock (base/clock.h) for the test of several threads that
 * sleep: it stands still until the test sets it, and wakes those whose time has
 * come. For one thread see asked_clock.h.
 *
 *     ... give it to what is tested: &set_clock ...
 *     set_clock_await(SET_CLOCK_BEGIN + 30);   somebody sleeps until then
 *     set_clock_to(SET_CLOCK_BEGIN + 30);
 *
 * The conditions and locks that threads sleep with stay to the end.
 */
#ifndef TESTS_UNIT_SET_CLOCK_H
#define TESTS_UNIT_SET_CLOCK_H

#include "base/clock.h"

#include <check.h>
#include <errno.h>
#include <stdbool.h>

enum { SET_CLOCK_BEGIN = 10000, SET_CLOCK_MAX_SLEEPERS = 8 };

struct set_clock_sleeper {
    pthread_cond_t *condition; /* NULL: nobody sleeps here */
    pthread_mutex_t *lock;
    double until;
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    double now;
    struct set_clock_sleeper sleepers[SET_CLOCK_MAX_SLEEPERS];
} set_clock_state = { .lock = PTHREAD_MUTEX_INITIALIZER,
                      .changed = PTHREAD_COND_INITIALIZER,
                      .now = SET_CLOCK_BEGIN };

static double set_clock_now(void)
{
    pthread_mutex_lock(&set_clock_state.lock);
    double now = set_clock_state.now;
    pthread_mutex_unlock(&set_clock_state.lock);
    return now;
}

/* Locked. Moments are computed in several ways, and differ in the last bits. */
static bool set_clock_has_come(double moment)
{
    return set_clock_state.now > moment - 1e-6;
}

/* Locked. There are fewer threads than places. */
static struct set_clock_sleeper *set_clock_place(void)
{
    struct set_clock_sleeper *place = set_clock_state.sleepers;
    while (place->condition)
        place++;
    return place;
}

/* The caller's lock keeps who sets the clock from waking it too early. */
static int set_clock_wait(pthread_cond_t *condition, pthread_mutex_t *mutex,
                          double until)
{
    pthread_mutex_lock(&set_clock_state.lock);
    struct set_clock_sleeper *place = set_clock_place();
    *place = (struct set_clock_sleeper){ condition, mutex, until };
    bool is_late = set_clock_has_come(until);
    pthread_cond_broadcast(&set_clock_state.changed);
    pthread_mutex_unlock(&set_clock_state.lock);
    if (!is_late)
        pthread_cond_wait(condition, mutex);
    pthread_mutex_lock(&set_clock_state.lock);
    place->condition = NULL;
    is_late = set_clock_has_come(until);
    pthread_mutex_unlock(&set_clock_state.lock);
    return is_late ? ETIMEDOUT : 0;
}

static const struct jd_clock set_clock = { set_clock_now, set_clock_wait };

/* Locked. */
static inline bool set_clock_has_sleeper(double until)
{
    for (int i = 0; i < SET_CLOCK_MAX_SLEEPERS; i++) {
        struct set_clock_sleeper *place = &set_clock_state.sleepers[i];
        double difference = place->until - until;
        if (place->condition && difference < 1e-6 && difference > -1e-6)
            return true;
    }
    return false;
}

/* Returns when a thread sleeps until then. */
static inline void set_clock_await(double until)
{
    pthread_mutex_lock(&set_clock_state.lock);
    while (!set_clock_has_sleeper(until))
        pthread_cond_wait(&set_clock_state.changed, &set_clock_state.lock);
    pthread_mutex_unlock(&set_clock_state.lock);
}

static inline void set_clock_wake(const struct set_clock_sleeper *sleeper)
{
    if (!sleeper->condition)
        return;
    pthread_mutex_lock(sleeper->lock);
    pthread_cond_broadcast(sleeper->condition);
    pthread_mutex_unlock(sleeper->lock);
}

static inline void set_clock_to(double now)
{
    struct set_clock_sleeper sleepers[SET_CLOCK_MAX_SLEEPERS];
    pthread_mutex_lock(&set_clock_state.lock);
    set_clock_state.now = now;
    for (int i = 0; i < SET_CLOCK_MAX_SLEEPERS; i++)
        sleepers[i] = set_clock_state.sleepers[i];
    pthread_mutex_unlock(&set_clock_state.lock);
    for (int i = 0; i < SET_CLOCK_MAX_SLEEPERS; i++)
        set_clock_wake(&sleepers[i]);
}

static inline void *set_clock_let_pass(void *arg)
{
    const double *seconds = arg;
    double until = set_clock_now() + *seconds;
    set_clock_await(until);
    set_clock_to(until);
    return NULL;
}

/* So long passes as soon as somebody sleeps for it; the caller joins the
 * thread. */
static inline pthread_t set_clock_pass(const double *seconds)
{
    pthread_t thread;
    ck_assert_int_eq(
        pthread_create(&thread, NULL, set_clock_let_pass, (void *)seconds), 0);
    return thread;
}

#endif

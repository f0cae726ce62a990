/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * asked_clock.h - a clock (base/clock.h) for the test of one thread that
 * sleeps: the test hears until when it would, and says what time it is then.
 * Meanwhile no time passes.
 *
 *     asked_clock_start(10000);
 *     ... start the thread, with .clock = &asked_clock ...
 *     ck_assert_double_eq(asked_clock_next(), 10020);
 *     asked_clock_wake(10020);
 *     asked_clock_leave();
 *     ... end the thread ...
 */
#ifndef TESTS_UNIT_ASKED_CLOCK_H
#define TESTS_UNIT_ASKED_CLOCK_H

#include "base/clock.h"

#include <errno.h>
#include <semaphore.h>
#include <stdatomic.h>

static struct {
    _Atomic double now, until;
    atomic_bool is_left; /* the thread sleeps by itself, without an end */
    sem_t asked, answered;
} asked_clock_state;

static double asked_clock_now(void)
{
    return asked_clock_state.now;
}

static int asked_clock_wait(pthread_cond_t *condition, pthread_mutex_t *lock,
                            double until)
{
    if (asked_clock_state.is_left)
        return pthread_cond_wait(condition, lock);
    asked_clock_state.until = until;
    pthread_mutex_unlock(lock);
    sem_post(&asked_clock_state.asked);
    sem_wait(&asked_clock_state.answered);
    pthread_mutex_lock(lock);
    return asked_clock_state.now < until ? 0 : ETIMEDOUT;
}

static const struct jd_clock asked_clock = { asked_clock_now,
                                             asked_clock_wait };

/* Before the thread is there. */
static inline void asked_clock_start(double now)
{
    asked_clock_state.now = now;
    asked_clock_state.is_left = false;
    sem_init(&asked_clock_state.asked, 0, 0);
    sem_init(&asked_clock_state.answered, 0, 0);
}

/* When the thread sleeps: until when it would. */
static inline double asked_clock_next(void)
{
    while (sem_wait(&asked_clock_state.asked) != 0)
        continue;
    return asked_clock_state.until;
}

/* It is now so late, and the thread, which sleeps, wakes. */
static inline void asked_clock_wake(double now)
{
    asked_clock_state.now = now;
    sem_post(&asked_clock_state.answered);
}

/* The thread, which sleeps, wakes at no other time: it can be ended. */
static inline void asked_clock_leave(void)
{
    asked_clock_state.is_left = true;
    sem_post(&asked_clock_state.answered);
}

#endif

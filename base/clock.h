/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * clock.h - monotonic time in seconds, condition variables that use it, and a
 * clock that a thread is given, so that its test waits for no time.
 *
 *     double deadline = jd__clock_read(clock) + 300;
 *     error = jd__clock_wait(clock, &changed, &lock, deadline);
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <pthread.h>
#include <time.h>

static inline double jd__clock_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static inline struct timespec jd__clock_timespec(double seconds)
{
    time_t whole = (time_t)seconds;
    return (struct timespec){ .tv_sec = whole,
                              .tv_nsec =
                                  (long)(1e9 * (seconds - (double)whole)) };
}

/* The sleep of a loop that polls: 20 us times one more than the steps, at most
 * so many nanoseconds. */
static inline void jd__clock_sleep_step(unsigned steps, long longest)
{
    long length = 20000 * (1 + (long)steps);
    nanosleep(
        &(struct timespec){ .tv_nsec = length < longest ? length : longest },
        NULL);
}

static inline void jd__clock_init_condition(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
}

/* Time, and sleeping until it has come; where NULL is given, the machine's. */
struct jd_clock {
    double (*now)(void);
    /* As pthread_cond_timedwait, until the clock shows so many seconds. */
    int (*wait)(pthread_cond_t *condition, pthread_mutex_t *lock, double until);
};

static inline double jd__clock_read(const struct jd_clock *clock)
{
    return clock ? clock->now() : jd__clock_now();
}

/* The condition is made by jd__clock_init_condition. Returns 0 when it may have
 * been signalled, ETIMEDOUT when the time has come. */
static inline int jd__clock_wait(const struct jd_clock *clock,
                                 pthread_cond_t *condition,
                                 pthread_mutex_t *lock, double until)
{
    if (clock)
        return clock->wait(condition, lock, until);
    struct timespec moment = jd__clock_timespec(until);
    return pthread_cond_timedwait(condition, lock, &moment);
}

#endif

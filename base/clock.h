/* SPDX-License-Identifier: BSD-3-Clause */
/* clock.h - monotonic time in seconds, and condition variables that use it. */
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

static inline void jd__clock_init_condition(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
}

#endif

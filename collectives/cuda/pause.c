/* SPDX-License-Identifier: BSD-3-Clause */
/* pause.c - the pace of a loop that polls the GPU. */
#include "base/clock.h"
#include "collectives/cuda/pause.h"

#include <sched.h>
#include <time.h>

enum {
    SPINS = 100, /* a query takes some 0.2 us: the time of a short kernel */
    YIELDS = 2000,
    FIRST_SLEEP = 20000,     /* nanoseconds */
    LONGEST_SLEEP = 1000000, /* MPI must not be left alone for longer */
};

bool jd__cuda_pause_is_short(const struct jd_cuda_pace *pace)
{
    return pace->pauses < SPINS;
}

static void sleep_after(unsigned sleeps)
{
    long step = FIRST_SLEEP * (1 + (long)sleeps / 100);
    nanosleep(&(struct timespec){ .tv_nsec = step < LONGEST_SLEEP
                                                 ? step
                                                 : LONGEST_SLEEP },
              NULL);
}

bool jd__cuda_pause(struct jd_cuda_pace *pace)
{
    unsigned pauses = pace->pauses;
    if (pauses < SPINS + YIELDS)
        pace->pauses++;
    if (pauses < SPINS)
        return true;
    double now = jd__clock_now();
    if (pace->begin < 0)
        pace->begin = now;
    if (pace->timeout >= 0 && now - pace->begin >= pace->timeout)
        return false;
    if (pauses < SPINS + YIELDS)
        sched_yield();
    else
        sleep_after(pace->sleeps++);
    return true;
}

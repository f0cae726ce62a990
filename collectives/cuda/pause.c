/* SPDX-License-Identifier: BSD-3-Clause */
/* pause.c - the pace of a loop that polls the GPU. */
#include "base/clock.h"
#include "collectives/cuda/pause.h"

#include <sched.h>

enum {
    SPINS = 100, /* a query takes some 0.2 us: the time of a short kernel */
    YIELDS = 2000,
    LONGEST_SLEEP = 1000000, /* ns: MPI must not be left alone for longer */
};

bool jd__cuda_pause_is_short(const struct jd_cuda_pace *pace)
{
    return pace->pauses < SPINS;
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
        jd__clock_sleep_step(pace->sleeps++ / 100, LONGEST_SLEEP);
    return true;
}

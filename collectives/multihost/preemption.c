/* SPDX-License-Identifier: BSD-3-Clause */
/* preemption.c - jd_reached_preemption_sync_point. */
#include "jd_multihost.h"
#include "runtime/coordination/preemption/preemption.h"

int jd_reached_preemption_sync_point(int64_t step)
{
    return jd__preemption_poll(step);
}

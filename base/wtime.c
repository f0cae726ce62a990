/* SPDX-License-Identifier: BSD-3-Clause */
/* wtime.c - the time, for a program that measures itself. */
#include "base/clock.h"
#include "jd_process.h"

double jd_wtime(void)
{
    return jd__clock_now();
}

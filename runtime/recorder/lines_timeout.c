/* SPDX-License-Identifier: BSD-3-Clause */
/* lines_timeout.c - how long a sentence waits for lines: in either build. */
#include "runtime/recorder/lines.h"

static double timeout = 0.6;

void jd__lines_configure(double seconds)
{
    timeout = seconds;
}

double jd__lines_timeout(void)
{
    return timeout;
}

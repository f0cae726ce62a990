/* SPDX-License-Identifier: BSD-3-Clause */
/* lines_absent.c - jd was built without elfutils' headers. */
#include "runtime/recorder/lines.h"

bool jd__lines_find(const void *address, struct jd_line *ret_line)
{
    (void)address;
    *ret_line = (struct jd_line){ .number = 0 };
    return false;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* version.c - the version of the library that runs. */
#include "jd_process.h"

const char *jd_version(void)
{
    return JD_VERSION;
}

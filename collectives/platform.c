/* SPDX-License-Identifier: BSD-3-Clause */
/* platform.c - the platforms of this build, in order. */
#include "collectives/platform.h"

#include <string.h>

static const struct jd_platform *const platforms[] = {
#define PLATFORM_ROW(name) &jd__platform_##name,
    JD_PLATFORM_MAP(PLATFORM_ROW)
#undef PLATFORM_ROW
        NULL,
};

/* The part of each that the runtime asks, in the same order. */
const struct jd_device_source *const jd__device_sources[] = {
#define SOURCE_ROW(name) &jd__device_source_##name,
    JD_PLATFORM_MAP(SOURCE_ROW)
#undef SOURCE_ROW
        NULL,
};

const struct jd_platform *jd__platform_find(const char *name)
{
    for (int i = 0; platforms[i]; i++)
        if (strcmp(platforms[i]->source->platform, name) == 0)
            return platforms[i];
    return NULL;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* platform.c - the platforms, in order: those of modules come first, where
 * they are loaded. */
#include "collectives/platform/platform.h"
#include "collectives/platform/platform_module.h"

#include <string.h>

/* The part of each that the runtime asks, in the same order. */
const struct jd_device_source *const jd__device_sources[] = {
    &jd__device_source_cuda,
    &jd__device_source_cpu,
    NULL,
};

const struct jd_platform *jd__platform_at(int index)
{
    const struct jd_platform *cuda = jd__platform_module_loaded("cuda");
    int place = cuda ? index : index + 1;
    if (place == 0)
        return cuda;
    return place == 1 ? &jd__platform_cpu : NULL;
}

const struct jd_platform *jd__platform_find(const char *name)
{
    const struct jd_platform *platform;
    for (int i = 0; (platform = jd__platform_at(i)); i++)
        if (strcmp(platform->source->platform, name) == 0)
            return platform;
    return NULL;
}

jd_status jd__platform_await(const struct jd_platform *platform,
                             struct jd_stream *stream, const char *operation)
{
    return platform->streams ? platform->streams->synchronize(stream, operation)
                             : JD_OK;
}

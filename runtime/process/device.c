/* SPDX-License-Identifier: BSD-3-Clause */
/* device.c - the public face of the global device table. */
#include "jd_device.h"
#include "runtime/process/runtime.h"

#include <stdio.h>

/* The list of the platform (NULL: the default one); NULL on failure. */
static const struct jd_device_list *
find_list(const char *platform, const char *operation, int *ret_count)
{
    const struct jd_runtime *runtime;
    const struct jd_device_list *list;
    int unused, *count = ret_count ? ret_count : &unused;
    *count = -1;
    if (jd__runtime_get(&runtime, operation) != JD_OK)
        return NULL;
    list = platform ? jd__topology_platform(runtime->topology, platform)
                    : &runtime->topology->platforms[0];
    *count = list ? list->count : 0;
    if (!list)
        jd_fail(JD_NOT_FOUND,
                "%s: no process of the job has a device of the platform "
                "\"%s\"; the default platform is \"%s\"",
                operation, platform, runtime->topology->platforms[0].platform);
    return list;
}

/* Of the whole job. */
static const jd_device *const *list_all(const char *platform,
                                        const char *operation, int *ret_count)
{
    const struct jd_runtime *runtime;
    const struct jd_device_list *list =
        find_list(platform, operation, ret_count);
    if (!list || jd__runtime_get(&runtime, operation) != JD_OK)
        return NULL;
    jd__topology_list(runtime->topology);
    return list->devices;
}

const jd_device *const *jd_devices(int *ret_count)
{
    return list_all(NULL, "jd_devices", ret_count);
}

const jd_device *const *jd_local_devices(int *ret_count)
{
    const struct jd_device_list *list =
        find_list(NULL, "jd_local_devices", ret_count);
    if (!list)
        return NULL;
    if (ret_count)
        *ret_count = list->num_local;
    return list->local;
}

const jd_device *const *jd_platform_devices(const char *platform,
                                            int *ret_count)
{
    return list_all(platform ? platform : "", "jd_platform_devices",
                    ret_count);
}

int jd_device_count(void)
{
    int count;
    find_list(NULL, "jd_device_count", &count);
    return count;
}

int jd_local_device_count(void)
{
    int count;
    const struct jd_device_list *list =
        find_list(NULL, "jd_local_device_count", &count);
    return list ? list->num_local : count;
}

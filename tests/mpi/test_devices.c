/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * test_devices.c - prints what a process has: the default platform, its own
 * devices of it with their native numbers (the fake module, fake_gpus/, writes
 * them where its memory begins), and how many cpu devices the job has.
 */
#include <jd.h>

#include <stdio.h>
#include <string.h>

static void print_device(const jd_device *device)
{
    void *memory = NULL;
    printf(" %s", device->uuid[0] ? device->uuid : device->platform);
    if (strcmp(device->platform, "cuda") != 0)
        return;
    JD_CHECK(jd_device_alloc(device, sizeof(int), &memory));
    printf("=%d", *(const int *)memory);
    JD_CHECK(jd_device_free(memory));
}

int main(void)
{
    int count, cpus;
    JD_CHECK(jd_initialize());
    const jd_device *const *own = jd_local_devices(&count);
    jd_platform_devices("cpu", &cpus);
    printf("process %d:", jd_process_index());
    for (int i = 0; i < count; i++)
        print_device(own[i]);
    printf("; the job has %d devices of %s, and %d of cpu\n", jd_device_count(),
           jd_devices(NULL)[0]->platform, cpus);
    return jd_shutdown();
}

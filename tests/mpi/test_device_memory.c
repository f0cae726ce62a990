/* SPDX-License-Identifier: BSD-3-Clause */
/* test_device_memory - each process has memory of its own devices, and of no
 * others. */
#include "expect.h"
#include "jd.h"

static void check_other(const jd_device *other)
{
    void *memory = NULL;
    expect_sentence(
        jd_device_alloc(other, 8, &memory), JD_INVALID_ARGUMENT,
        "jd_device_alloc: device %lld (\"cpu\") is one of process %d, on host "
        "%s, and this is process %d; a process has memory of its own devices: "
        "take one of jd_local_devices()",
        (long long)other->id, other->process_index, other->host,
        jd_process_index());
    EXPECT(memory == NULL, "something was given");
}

/* What is still there after jd_shutdown() is still the program's. */
static void check_own(const jd_device *own)
{
    double *kept;
    void *given;
    EXPECT_OK(jd_device_alloc(own, 1000 * sizeof *kept, (void **)&kept));
    EXPECT_OK(jd_device_alloc(own, 3 << 20, &given));
    for (int i = 0; i < 1000; i++)
        EXPECT(kept[i] == 0, "element %d is %g", i, kept[i]);
    kept[999] = 7;
    EXPECT_OK(jd_device_copy(given, kept, 1000 * sizeof *kept));
    EXPECT_OK(jd_device_free(given));
    EXPECT_OK(jd_shutdown());
    EXPECT(kept[999] == 7, "it has become %g", kept[999]);
    EXPECT_OK(jd_device_free(kept));
    EXPECT_STATUS(jd_device_free(kept), JD_INVALID_ARGUMENT,
                  "is not memory that jd_device_alloc() gave");
}

int main(void)
{
    int count;
    JD_CHECK(jd_initialize());
    const jd_device *const *devices = jd_devices(&count);
    for (int i = 0; i < count; i++)
        if (devices[i]->process_index != jd_process_index())
            check_other(devices[i]);
    check_own(jd_local_devices(NULL)[0]);
    return 0;
}

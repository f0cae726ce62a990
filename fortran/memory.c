/* SPDX-License-Identifier: BSD-3-Clause */
/* memory.c - jd_memory.h and jd_convert() for Fortran. */
#include "fortran/buffer.h"

JD_API void jdf_device_alloc(const jd_device *const *device,
                             const size_t *bytes, void **ret_memory, int *stat)
{
    JDF_CALL_WITHIN("jd_device_alloc");
    jdf_end(&call, jd_device_alloc(*device, *bytes, ret_memory));
}

JD_API void jdf_device_free(void *const *memory, JDF_OUTCOME)
{
    JDF_CALL("jd_device_free");
    jdf_end(&call, jd_device_free(*memory));
}

JD_API void jdf_device_copy(const CFI_cdesc_t *to, const CFI_cdesc_t *from,
                            JDF_OUTCOME)
{
    JDF_CALL("jd_device_copy");
    struct jdf_bytes into, out_of;
    jd_status status = jdf_bytes_take(&call, "to", to, &into);
    if (status == JD_OK)
        status = jdf_bytes_take(&call, "from", from, &out_of);
    if (status == JD_OK && into.size != out_of.size)
        status = jd_fail_with(JD_INVALID_ARGUMENT,
                              "%s: to has %zu bytes and from %zu; they have as "
                              "many",
                              call.name, into.size, out_of.size);
    if (status == JD_OK)
        status = jd_device_copy(into.data, out_of.data, into.size);
    jdf_end(&call, status);
}

JD_API void jdf_convert(const CFI_cdesc_t *in, const CFI_cdesc_t *out,
                        const int *in_dtype, const int *out_dtype, JDF_OUTCOME)
{
    JDF_CALL("jd_convert");
    struct jdf_pair pair = { .out.packed = NULL };
    jd_status status =
        jdf_buffer_take(&call, "in", in, in_dtype, JDF_MOVED, &pair.in);
    if (status == JD_OK)
        status =
            jdf_buffer_take(&call, "out", out, out_dtype, JDF_MOVED, &pair.out);
    if (status == JD_OK)
        status = jdf_check_counts(&call, &pair.out, &pair.in, 1);
    if (status == JD_OK)
        status = jd_convert(pair.in.data, pair.in.dtype, pair.out.data,
                            pair.out.dtype, pair.in.count);
    jdf_pair_end(&pair, status);
    jdf_end(&call, status);
}

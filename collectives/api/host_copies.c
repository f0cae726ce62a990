/* SPDX-License-Identifier: BSD-3-Clause */
/* host_copies.c - a GPU's buffers, where the host can touch them. */
#include "collectives/api/host_copies.h"
#include "base/status.h"
#include "collectives/platform/device_memory.h"
#include "jd_memory.h"

#include <stdlib.h>

void jd__host_copies_begin(struct jd_host_copies *copies,
                           const struct jd_shard *shard, const char *operation)
{
    copies->operation = operation;
    copies->count = 0;
    copies->status =
        jd__platform_await(shard->mesh->platform, shard->stream, operation);
}

/* Memory for a buffer that is apart; NULL, and the status says why. */
static void *add_copy(struct jd_host_copies *copies, void *apart, size_t bytes,
                      bool is_out)
{
    void *host = malloc(bytes);
    if (!host) {
        copies->status = jd__fail_no_memory(copies->operation, bytes);
        return NULL;
    }
    copies->copies[copies->count++] =
        (struct jd_host_copy){ host, apart, bytes, is_out };
    return host;
}

static jd_status copy_bytes(const struct jd_host_copies *copies, void *to,
                            const void *from, size_t bytes)
{
    jd_status status = jd_device_copy(to, from, bytes);
    return status == JD_OK ? JD_OK
                           : jd__fail_prefix(status, "%s: ", copies->operation);
}

const void *jd__host_copies_in(struct jd_host_copies *copies,
                               const void *buffer, size_t bytes)
{
    if (copies->status != JD_OK)
        return NULL;
    if (!buffer || bytes == 0 || !jd__device_memory_is_apart(buffer))
        return buffer;
    void *host = add_copy(copies, NULL, bytes, false);
    if (host)
        copies->status = copy_bytes(copies, host, buffer, bytes);
    return host;
}

void *jd__host_copies_out(struct jd_host_copies *copies, void *buffer,
                          size_t bytes)
{
    if (copies->status != JD_OK)
        return NULL;
    if (!buffer || bytes == 0 || !jd__device_memory_is_apart(buffer))
        return buffer;
    return add_copy(copies, buffer, bytes, true);
}

jd_status jd__host_copies_end(struct jd_host_copies *copies, jd_status status)
{
    if (status == JD_OK)
        status = copies->status;
    for (int i = 0; i < copies->count; i++) {
        const struct jd_host_copy *copy = &copies->copies[i];
        if (copy->is_out && status == JD_OK)
            status = copy_bytes(copies, copy->apart, copy->host, copy->bytes);
        free(copy->host);
    }
    return status;
}

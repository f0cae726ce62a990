/* SPDX-License-Identifier: BSD-3-Clause */
/* nvtx.c - see nvtx.h. NVTX is its headers alone, and looks for a tool at the
 * first call. */
#include "collectives/cuda/nvtx.h"

#include "collectives/check/signature.h"

#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <stdio.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static nvtxDomainHandle_t domain; /* NULL: there is no tool */

static void create_domain(void)
{
    domain = nvtxDomainCreateA("jd");
}

/* A group has no count of its own, a barrier no elements. */
static void print_call(const struct jd_collective *call, char *text,
                       size_t size)
{
    const char *name = jd__signature_activity_name(call->activity);
    const char *detail = call->detail ? call->detail : "";
    if (call->activity == JD_ACTIVITY_GROUP ||
        call->activity == JD_ACTIVITY_BARRIER)
        snprintf(text, size, "%s%s", name, detail);
    else
        snprintf(text, size, "%s of %zu x %s%s", name, call->count,
                 jd_dtype_name(call->dtype), detail);
}

static uint64_t bytes_of(const struct jd_collective *call)
{
    return call->activity == JD_ACTIVITY_GROUP
               ? 0
               : call->count * jd_dtype_size(call->dtype);
}

void jd__nvtx_begin(const struct jd_collective *call)
{
    char text[256];
    pthread_once(&once, create_domain);
    if (!domain)
        return;
    print_call(call, text, sizeof text);
    nvtxEventAttributes_t event = {
        .version = NVTX_VERSION,
        .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
        .messageType = NVTX_MESSAGE_TYPE_ASCII,
        .message.ascii = text,
        .payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64,
        .payload.ullValue = bytes_of(call),
    };
    nvtxDomainRangePushEx(domain, &event);
}

void jd__nvtx_end(void)
{
    if (domain)
        nvtxDomainRangePop(domain);
}

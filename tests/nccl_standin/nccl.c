/* SPDX-License-Identifier: BSD-3-Clause */
/* nccl.c - the stand-in for NCCL: what has no communicator. */
#include "nccl_private.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <unistd.h>

#define TEXT_BYTES 1024
static pthread_mutex_t text_lock = PTHREAD_MUTEX_INITIALIZER;
static char last_text[TEXT_BYTES];

static bool is_loud(void)
{
    const char *level = getenv("NCCL_DEBUG");
    return level &&
           (strcasecmp(level, "WARN") == 0 || strcasecmp(level, "INFO") == 0);
}

ncclResult_t standin_explain(ncclResult_t result, const char *format, ...)
{
    char text[TEXT_BYTES - 32];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    pthread_mutex_lock(&text_lock);
    snprintf(last_text, sizeof last_text, "stand-in NCCL: %s", text);
    if (is_loud())
        fprintf(stderr, "[%d] WARN %s\n", (int)getpid(), last_text);
    pthread_mutex_unlock(&text_lock);
    return result;
}

ncclResult_t standin_wanted_failure(const char *call)
{
    int result = standin_fails(call);
    if (result == 0)
        return ncclSuccess;
    return standin_explain((ncclResult_t)result,
                           "%s fails as STANDIN_FAIL wants it", call);
}

const char *ncclGetLastError(ncclComm_t comm)
{
    static _Thread_local char copy[TEXT_BYTES];
    (void)comm;
    pthread_mutex_lock(&text_lock);
    memcpy(copy, last_text, sizeof copy);
    pthread_mutex_unlock(&text_lock);
    return copy;
}

const char *ncclGetErrorString(ncclResult_t result)
{
    switch (result) {
    case ncclSuccess:
        return "no error (stand-in)";
    case ncclUnhandledCudaError:
        return "unhandled CUDA error (stand-in)";
    case ncclSystemError:
        return "system error (stand-in)";
    case ncclInternalError:
        return "internal error (stand-in)";
    case ncclInvalidArgument:
        return "invalid argument (stand-in)";
    case ncclInvalidUsage:
        return "invalid usage (stand-in)";
    case ncclRemoteError:
        return "a remote rank ended or the network failed (stand-in)";
    case ncclInProgress:
        return "operation in progress (stand-in)";
    case ncclNumResults:
        break;
    }
    return "unknown result (stand-in)";
}

ncclResult_t ncclGetVersion(int *version)
{
    if (!version)
        return standin_explain(ncclInvalidArgument,
                               "ncclGetVersion: version is NULL");
    const char *told = getenv("STANDIN_NCCL_VERSION");
    *version = told ? atoi(told) : NCCL_VERSION_CODE;
    return standin_wanted_failure("ncclGetVersion");
}

/* Text, so that it can be seen; the sockets of its ranks are named by it. */
ncclResult_t ncclGetUniqueId(ncclUniqueId *uniqueId)
{
    unsigned char random[16];
    ncclResult_t wanted = standin_wanted_failure("ncclGetUniqueId");
    if (wanted != ncclSuccess)
        return wanted;
    if (!uniqueId)
        return standin_explain(ncclInvalidArgument,
                               "ncclGetUniqueId: uniqueId is NULL");
    if (getenv("NCCL_COMM_ID")) /* the real one's second id collides */
        return standin_explain(ncclInvalidUsage,
                               "ncclGetUniqueId: NCCL_COMM_ID is set");
    if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random)
        return standin_explain(ncclSystemError,
                               "ncclGetUniqueId: no random bytes");
    memset(uniqueId, 0, sizeof *uniqueId);
    char *end = uniqueId->internal + sprintf(uniqueId->internal, "nccl-");
    for (size_t i = 0; i < sizeof random; i++)
        end += sprintf(end, "%02x", random[i]);
    return ncclSuccess;
}

/* ---- memory ------------------------------------------------------------- */

/* As large as the real one's pieces. */
#define GRANULE ((size_t)2 << 20)

ncclResult_t ncclMemAlloc(void **ptr, size_t size)
{
    ncclResult_t wanted = standin_wanted_failure("ncclMemAlloc");
    if (wanted != ncclSuccess)
        return wanted;
    if (!ptr || size == 0)
        return standin_explain(ncclInvalidArgument,
                               "ncclMemAlloc: %zu bytes to %p", size,
                               (void *)ptr);
    cudaError_t error = cudaMalloc(ptr, (size + GRANULE - 1) & ~(GRANULE - 1));
    if (error == cudaSuccess)
        return ncclSuccess;
    return standin_explain(ncclUnhandledCudaError,
                           "ncclMemAlloc: cudaMalloc of %zu bytes: %s", size,
                           cudaGetErrorString(error));
}

ncclResult_t ncclMemFree(void *ptr)
{
    ncclResult_t wanted = standin_wanted_failure("ncclMemFree");
    if (wanted != ncclSuccess)
        return wanted;
    cudaError_t error = cudaFree(ptr);
    if (error == cudaSuccess)
        return ncclSuccess;
    return standin_explain(ncclUnhandledCudaError, "ncclMemFree of %p: %s", ptr,
                           cudaGetErrorString(error));
}

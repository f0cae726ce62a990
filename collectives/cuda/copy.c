/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * copy.c - jd_device_copy() where a side is a GPU's. It comes after what the
 * program has queued on the default stream, as a cudaMemcpy would, and waits
 * for it by polling: a cudaMemcpy itself has no deadline.
 */
#include "collectives/cuda/devices.h"
#include "collectives/cuda/errors.h"
#include "collectives/cuda/memory.h"
#include "collectives/cuda/pause.h"

#include <limits.h>

#define COPY "jd_device_copy"

static jd_status fail_deadline(int native)
{
    return jd_fail(JD_DEADLINE_EXCEEDED,
                   COPY ": what was queued on the default stream of GPU %d "
                        "before is not done within %.3g s: a kernel does not "
                        "end, or is slow; the deadline is the collectives' "
                        "(JD_COLLECTIVE_TIMEOUT changes it)",
                   native, jd__cuda_timeout());
}

static jd_status await_event(cudaEvent_t event, int native)
{
    struct jd_cuda_pace pace = jd__cuda_pace(jd__cuda_timeout());
    for (;;) {
        cudaError_t error = cudaEventQuery(event);
        if (error != cudaErrorNotReady)
            return jd__cuda_check(error, COPY, "cudaEventQuery");
        cudaGetLastError();
        if (!jd__cuda_pause(&pace))
            return fail_deadline(native);
    }
}

/* Waits for the default stream of the thread's device, and so for every stream
 * that is not apart from it. */
static jd_status await_default(int native)
{
    cudaEvent_t event;
    jd_status status =
        jd__cuda_check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming),
                       COPY, "cudaEventCreateWithFlags");
    if (status != JD_OK)
        return status;
    status =
        jd__cuda_check(cudaEventRecord(event, NULL), COPY, "cudaEventRecord");
    if (status == JD_OK)
        status = await_event(event, native);
    cudaEventDestroy(event);
    return status;
}

static jd_status await_device(int native)
{
    struct jd_cuda_visit visit;
    jd_status status = jd__cuda_enter(native, COPY, &visit);
    if (status == JD_OK)
        status = await_default(native);
    jd__cuda_leave(&visit);
    return status;
}

/* CUDA takes pitches of less than 2 GiB. */
static bool is_one_call(const struct jd_rows *rows)
{
    return rows->count == 1 ||
           (rows->to_pitch <= INT_MAX && rows->from_pitch <= INT_MAX);
}

/* Queues them on the default stream; rows too far apart one by one. */
static jd_status queue_rows(const struct jd_rows *rows)
{
    const char *from = rows->from;
    char *to = rows->to;
    jd_status status = JD_OK;
    if (is_one_call(rows) && rows->count > 1)
        return jd__cuda_check(
            cudaMemcpy2DAsync(to, rows->to_pitch, from, rows->from_pitch,
                              rows->row, rows->count, cudaMemcpyDefault, NULL),
            COPY, "cudaMemcpy2DAsync");
    for (size_t i = 0; i < rows->count && status == JD_OK; i++)
        status = jd__cuda_check(cudaMemcpy(to + i * rows->to_pitch,
                                           from + i * rows->from_pitch,
                                           rows->row, cudaMemcpyDefault),
                                COPY, "cudaMemcpy");
    return status;
}

/* A copy inside a device returns before it is done. */
static jd_status copy_on(int native, const struct jd_rows *rows)
{
    struct jd_cuda_visit visit;
    jd_status status = jd__cuda_enter(native, COPY, &visit);
    if (status == JD_OK)
        status = await_default(native);
    if (status == JD_OK)
        status = queue_rows(rows);
    if (status == JD_OK)
        status = await_default(native);
    jd__cuda_leave(&visit);
    return status;
}

jd_status jd__cuda_copy_rows(const struct jd_rows *rows)
{
    struct jd_cuda_place target = jd__cuda_locate(rows->to);
    struct jd_cuda_place source = jd__cuda_locate(rows->from);
    jd_status status = JD_OK;
    if (source.is_apart && target.is_apart && source.native != target.native)
        status = await_device(source.native);
    if (status != JD_OK)
        return status;
    return copy_on(target.is_apart ? target.native : source.native, rows);
}

jd_status jd__cuda_copy(void *to, const void *from, size_t bytes)
{
    return jd__cuda_copy_rows(
        &(struct jd_rows){ .to = to, .from = from, .row = bytes, .count = 1 });
}

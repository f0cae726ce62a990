/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * copy.c - jd_device_copy() where a side is a GPU's, and copies of boxes. One
 * comes after what the program has queued on the default stream, as a
 * cudaMemcpy would, and waits for it by polling: a cudaMemcpy itself has no
 * deadline. A box that stays in a device may be queued on a shard's stream
 * instead, where nothing is waited for.
 */
#include "collectives/cuda/devices.h"
#include "collectives/cuda/errors.h"
#include "collectives/cuda/memory.h"
#include "collectives/cuda/pause.h"
#include "collectives/cuda/stream.h"
#include "collectives/cuda/strided.h"

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

/* Where the two sides are. */
struct places {
    struct jd_cuda_place to, from;
};

static bool is_inside_one(const struct places *places)
{
    return places->to.is_apart && places->from.is_apart &&
           places->to.native == places->from.native;
}

static jd_status queue_box(const struct jd_nest *nest,
                           const struct places *places, cudaStream_t handle)
{
    if (is_inside_one(places))
        return jd__cuda_check(jd__cuda_strided(nest, handle), COPY,
                              "a box's copy");
    return jd__cuda_check(jd__cuda_planes(nest, handle), COPY,
                          "cudaMemcpy2DAsync");
}

/* On the default stream; a copy inside a device returns before it is done. */
static jd_status copy_on(int native, const struct jd_nest *nest,
                         const struct places *places)
{
    struct jd_cuda_visit visit;
    jd_status status = jd__cuda_enter(native, COPY, &visit);
    if (status == JD_OK)
        status = await_default(native);
    if (status == JD_OK)
        status = queue_box(nest, places, NULL);
    if (status == JD_OK)
        status = await_default(native);
    jd__cuda_leave(&visit);
    return status;
}

static jd_status queue_on(const struct jd_stream *stream,
                          const struct jd_nest *nest,
                          const struct places *places)
{
    struct jd_cuda_visit visit;
    jd_status status = jd__cuda_enter(stream->native, COPY, &visit);
    if (status == JD_OK)
        status = queue_box(nest, places, stream->handle);
    jd__cuda_leave(&visit);
    return status;
}

jd_status jd__cuda_copy_nest(const struct jd_nest *nest,
                             struct jd_stream *stream)
{
    const struct places places = { jd__cuda_locate(nest->rows.to),
                                   jd__cuda_locate(nest->rows.from) };
    jd_status status = JD_OK;
    if (stream && is_inside_one(&places) && places.to.native == stream->native)
        return queue_on(stream, nest, &places);
    if (stream)
        status = jd__cuda_stream_wait(stream, COPY, NULL);
    if (status == JD_OK && places.from.is_apart && places.to.is_apart &&
        !is_inside_one(&places))
        status = await_device(places.from.native);
    if (status != JD_OK)
        return status;
    return copy_on(places.to.is_apart ? places.to.native : places.from.native,
                   nest, &places);
}

jd_status jd__cuda_copy(void *to, const void *from, size_t bytes)
{
    return jd__cuda_copy_nest(
        &(struct jd_nest){
            .rows = { .to = to, .from = from, .row = bytes, .count = 1 } },
        NULL);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * staging.c - host buffers of a collective on a GPU. A stream has one pinned
 * buffer, through which pieces go one after the other, and one of device
 * memory, where the call's buffers are meanwhile. Both are free again when a
 * call is over, because it waits.
 */
#include "collectives/cuda/staging.h"
#include "collectives/cuda/buffer.h"
#include "collectives/cuda/devices.h"
#include "collectives/cuda/errors.h"
#include "collectives/cuda/memory.h"
#include "collectives/cuda/stream.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Of pinned memory, which the host has less then. */
#define LARGEST ((size_t)8 << 20)

struct jd_staging {
    struct jd_cuda_buffer pinned, device;
    size_t pinned_used; /* copies from there may still go on */
};

/* A call's buffer, as it was given and on the device. */
struct staging_side {
    char *given;
    size_t bytes;
    char *device;
};

/* One call. */
struct stage {
    const struct jd_collective *call;
    struct jd_stream *stream;
    const char *operation;
    struct staging_side in, out;
    bool in_is_staged, out_is_staged;
};

/* ---- the buffers -------------------------------------------------------- */

static jd_status wait_for_stream(const struct stage *stage)
{
    return jd__cuda_stream_wait(stage->stream, stage->operation,
                                stage->call->detail);
}

static bool is_large_enough(const struct jd_staging *staging, size_t bytes)
{
    size_t piece = bytes < LARGEST ? bytes : LARGEST;
    return staging && bytes <= staging->device.bytes &&
           piece <= staging->pinned.bytes;
}

static jd_status grow_buffer(const struct stage *stage,
                             struct jd_cuda_buffer *buffer, size_t bytes)
{
    struct jd_cuda_growth growth = {
        .bytes = bytes,
        .is_idle = true,
        .operation = stage->operation,
        .purpose = "for a host buffer",
    };
    return bytes <= buffer->bytes ? JD_OK
                                  : jd__cuda_buffer_grow(buffer, &growth);
}

static jd_status create_staging(const struct stage *stage)
{
    struct jd_staging *staging = calloc(1, sizeof *staging);
    if (!staging)
        return jd__fail_no_memory(stage->operation, sizeof *staging);
    staging->pinned.is_pinned = true;
    stage->stream->staging = staging;
    return JD_OK;
}

/* A call that failed may have left copies that still go on; they are waited
 * for before a buffer goes. */
static jd_status get_buffers(struct stage *stage, size_t bytes)
{
    struct jd_stream *stream = stage->stream;
    if (is_large_enough(stream->staging, bytes))
        return JD_OK;
    jd_status status = stream->staging ? JD_OK : create_staging(stage);
    if (status == JD_OK)
        status = wait_for_stream(stage);
    if (status != JD_OK)
        return status;
    stream->staging->pinned_used = 0;
    status = grow_buffer(stage, &stream->staging->pinned,
                         bytes < LARGEST ? bytes : LARGEST);
    return status == JD_OK ? grow_buffer(stage, &stream->staging->device, bytes)
                           : status;
}

void jd__cuda_staging_destroy(struct jd_staging *staging)
{
    if (!staging)
        return;
    jd__cuda_buffer_free(&staging->pinned);
    jd__cuda_buffer_free(&staging->device);
    free(staging);
}

/* ---- copies ------------------------------------------------------------- */

static jd_status queue_copy(const struct stage *stage, void *to,
                            const void *from, size_t bytes)
{
    return jd__cuda_check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault,
                                          stage->stream->handle),
                          stage->operation, "cudaMemcpyAsync");
}

/* Another GPU's memory needs no pinned buffer, and cannot be touched. */
static bool is_apart(const void *given)
{
    return jd__cuda_locate(given).is_apart;
}

/* Room for the next piece; a full buffer is waited for. */
static jd_status find_room(const struct stage *stage, size_t left,
                           char **ret_room, size_t *ret_piece)
{
    struct jd_staging *staging = stage->stream->staging;
    jd_status status = JD_OK;
    if (staging->pinned_used == staging->pinned.bytes) {
        status = wait_for_stream(stage);
        staging->pinned_used = 0;
    }
    size_t room = staging->pinned.bytes - staging->pinned_used;
    *ret_room = staging->pinned.memory + staging->pinned_used;
    *ret_piece = left < room ? left : room;
    staging->pinned_used += *ret_piece;
    return status;
}

static jd_status bring_to_device(const struct stage *stage,
                                 const struct staging_side *side)
{
    jd_status status = JD_OK;
    if (is_apart(side->given))
        return queue_copy(stage, side->device, side->given, side->bytes);
    for (size_t done = 0, piece; done < side->bytes; done += piece) {
        char *room;
        status = find_room(stage, side->bytes - done, &room, &piece);
        if (status != JD_OK)
            return status;
        memcpy(room, side->given + done, piece);
        status = queue_copy(stage, side->device + done, room, piece);
        if (status != JD_OK)
            return status;
    }
    return JD_OK;
}

/* Waits for all, whose copies are over then. */
static jd_status finish_copies(const struct stage *stage)
{
    jd_status status = wait_for_stream(stage);
    if (status == JD_OK)
        stage->stream->staging->pinned_used = 0;
    return status;
}

/* The pinned buffer's use for this comes after those before, on the stream. */
static jd_status fetch_from_device(const struct stage *stage,
                                   const struct staging_side *side)
{
    struct jd_staging *staging = stage->stream->staging;
    jd_status status;
    if (is_apart(side->given)) {
        status = queue_copy(stage, side->given, side->device, side->bytes);
        return status == JD_OK ? finish_copies(stage) : status;
    }
    for (size_t done = 0, piece; done < side->bytes; done += piece) {
        piece = side->bytes - done;
        if (piece > staging->pinned.bytes)
            piece = staging->pinned.bytes;
        status = queue_copy(stage, staging->pinned.memory, side->device + done,
                            piece);
        if (status == JD_OK)
            status = finish_copies(stage);
        if (status != JD_OK)
            return status;
        memcpy(side->given + done, staging->pinned.memory, piece);
    }
    return JD_OK;
}

/* ---- one call ----------------------------------------------------------- */

static jd_status fail_captured(const struct stage *stage)
{
    bool is_in = stage->in_is_staged;
    return jd_fail(JD_FAILED_PRECONDITION,
                   "%s%s: %s (%p) is host memory, and a CUDA graph is being "
                   "captured: a call with host memory waits for its result, "
                   "and what is captured cannot; take memory of "
                   "jd_device_alloc() or cudaMalloc()",
                   stage->operation,
                   stage->call->detail ? stage->call->detail : "",
                   is_in ? "in" : "out",
                   (void *)(is_in ? stage->in.given : stage->out.given));
}

/* Gives the sides their places behind each other; both are in one where they
 * overlap (in place). Returns the bytes of all. */
static size_t place_sides(struct stage *stage, size_t *ret_in, size_t *ret_out)
{
    uintptr_t in = (uintptr_t)stage->in.given;
    uintptr_t out = (uintptr_t)stage->out.given;
    uintptr_t in_end = in + stage->in.bytes, out_end = out + stage->out.bytes;
    bool is_in_place = stage->in_is_staged && stage->out_is_staged &&
                       in < out_end && out < in_end;
    uintptr_t begin = in < out ? in : out;
    if (is_in_place) {
        *ret_in = in - begin;
        *ret_out = out - begin;
        return (in_end > out_end ? in_end : out_end) - begin;
    }
    *ret_in = 0;
    *ret_out = stage->in_is_staged ? jd__cuda_align(stage->in.bytes) : 0;
    return *ret_out + (stage->out_is_staged ? stage->out.bytes : 0);
}

static jd_status get_places(struct stage *stage)
{
    size_t in, out, bytes = place_sides(stage, &in, &out);
    struct jd_cuda_visit visit;
    jd_status status =
        jd__cuda_enter(stage->stream->native, stage->operation, &visit);
    if (status == JD_OK)
        status = get_buffers(stage, bytes);
    jd__cuda_leave(&visit);
    if (status != JD_OK)
        return status;
    char *device = stage->stream->staging->device.memory;
    stage->in.device = stage->in_is_staged ? device + in : stage->in.given;
    stage->out.device = stage->out_is_staged ? device + out : stage->out.given;
    return JD_OK;
}

static struct stage make_stage(const struct jd_collective *call,
                               size_t in_bytes, size_t out_bytes)
{
    int native = call->stream->native;
    return (struct stage){
        .call = call,
        .stream = call->stream,
        .operation = jd__signature_activity_name(call->activity),
        .in = { .given = (char *)call->in, .bytes = in_bytes },
        .out = { .given = call->out, .bytes = out_bytes },
        .in_is_staged =
            in_bytes > 0 && !jd__cuda_is_device_pointer(call->in, native),
        .out_is_staged =
            out_bytes > 0 && !jd__cuda_is_device_pointer(call->out, native),
    };
}

jd_status jd__cuda_stage(const struct jd_collective *call, size_t in_bytes,
                         size_t out_bytes, bool keeps_out,
                         struct jd_staged *ret_staged)
{
    struct stage stage = make_stage(call, in_bytes, out_bytes);
    struct jd_staged staged = { .call = *call, .out_bytes = out_bytes };
    jd_status status = JD_OK;
    staged.is_staged = stage.in_is_staged || stage.out_is_staged;
    if (staged.is_staged) {
        status = jd__cuda_is_capturing(stage.stream) ? fail_captured(&stage)
                                                     : get_places(&stage);
        if (status == JD_OK && stage.in_is_staged)
            status = bring_to_device(&stage, &stage.in);
        if (status == JD_OK && stage.out_is_staged && keeps_out)
            status = bring_to_device(&stage, &stage.out);
        staged.call.in = stage.in.device;
        staged.call.out = stage.out.device;
        staged.host_out = stage.out_is_staged ? stage.out.given : NULL;
    }
    if (status == JD_OK)
        *ret_staged = staged;
    return status;
}

jd_status jd__cuda_unstage(struct jd_staged *staged, jd_status status)
{
    if (status != JD_OK || !staged->is_staged)
        return status;
    struct stage stage = {
        .call = &staged->call,
        .stream = staged->call.stream,
        .operation = jd__signature_activity_name(staged->call.activity),
        .out = { .given = staged->host_out,
                 .bytes = staged->out_bytes,
                 .device = staged->call.out },
    };
    return staged->host_out ? fetch_from_device(&stage, &stage.out)
                            : finish_copies(&stage);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * staging.c - host buffers of a collective on a GPU. A stream has one pinned
 * buffer, through which pieces go one after the other, and one of device
 * memory, where the call's buffers are meanwhile. Both are free again when a
 * call is over, because it waits.
 */
#include "collectives/platform_cuda/staging.h"
#include "collectives/platform_cuda/devices.h"
#include "collectives/platform_cuda/errors.h"
#include "collectives/platform_cuda/memory.h"
#include "collectives/platform_cuda/stream.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    ALIGNMENT = 256,
    SMALLEST = 64 << 10, /* a buffer's */
    LARGEST = 8 << 20,   /* of pinned memory, which the host has less then */
};

/* One that became too small. */
struct old {
    struct old *next;
    void *memory;
    bool is_pinned;
};

/*
 * An old buffer stays until the stream goes, but where memory is short: freeing
 * would wait for all that all GPUs of the process do, perhaps for a collective
 * of another thread, which waits for this one. Buffers double, so that all the
 * old ones are no larger than the new.
 */
struct jd_staging {
    char *pinned;
    size_t pinned_bytes;
    size_t pinned_used; /* copies from there may still go on */
    char *device;
    size_t device_bytes;
    struct old *old;
};

/* A call's buffer, as it was given and on the device. */
struct side {
    char *given;
    size_t bytes;
    char *device;
};

/* One call. */
struct stage {
    const struct jd_collective *call;
    struct jd_stream *stream;
    const char *operation;
    struct side in, out;
    bool in_is_staged, out_is_staged;
};

/* ---- the buffers -------------------------------------------------------- */

static size_t align(size_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* What a buffer of that size grows to. */
static size_t grow(size_t bytes, size_t old)
{
    size_t grown = old < SMALLEST ? (size_t)SMALLEST : 2 * old;
    return bytes > grown ? align(bytes) : grown;
}

static jd_status keep_old(struct stage *stage, void *memory, bool is_pinned)
{
    struct jd_staging *staging = stage->stream->staging;
    struct old *old = memory ? malloc(sizeof *old) : NULL;
    if (!memory)
        return JD_OK;
    if (!old)
        return jd__fail_no_memory(stage->operation, sizeof *old);
    *old = (struct old){ staging->old, memory, is_pinned };
    staging->old = old;
    return JD_OK;
}

static void free_old(struct jd_staging *staging)
{
    while (staging->old) {
        struct old *old = staging->old;
        staging->old = old->next;
        if (old->is_pinned)
            cudaFreeHost(old->memory);
        else
            cudaFree(old->memory);
        free(old);
    }
}

static jd_status get_pinned(struct stage *stage, size_t bytes)
{
    struct jd_staging *staging = stage->stream->staging;
    if (bytes > LARGEST)
        bytes = LARGEST;
    if (bytes <= staging->pinned_bytes)
        return JD_OK;
    size_t grown = grow(bytes, staging->pinned_bytes);
    void *memory;
    jd_status status = keep_old(stage, staging->pinned, true);
    if (status != JD_OK)
        return status;
    staging->pinned = NULL;
    staging->pinned_bytes = 0;
    status = jd__cuda_check(cudaMallocHost(&memory, grown), stage->operation,
                            "cudaMallocHost (pinned memory for a host buffer)");
    if (status != JD_OK)
        return status;
    staging->pinned = memory;
    staging->pinned_bytes = grown;
    staging->pinned_used = 0;
    return JD_OK;
}

/* As much as is wanted; or what is needed, and for that the old ones go. */
static cudaError_t malloc_device(struct jd_staging *staging, size_t wanted,
                                 size_t needed, void **ret_memory,
                                 size_t *ret_bytes)
{
    cudaError_t error = cudaMalloc(ret_memory, *ret_bytes = wanted);
    if (error == cudaErrorMemoryAllocation && needed < wanted)
        error = cudaMalloc(ret_memory, *ret_bytes = needed);
    if (error == cudaErrorMemoryAllocation && staging->old) {
        free_old(staging);
        error = cudaMalloc(ret_memory, *ret_bytes = needed);
    }
    if (error == cudaSuccess)
        cudaGetLastError(); /* of one that failed */
    return error;
}

static jd_status get_device(struct stage *stage, size_t bytes)
{
    struct jd_staging *staging = stage->stream->staging;
    if (bytes <= staging->device_bytes)
        return JD_OK;
    size_t wanted = 2 * staging->device_bytes, needed = align(bytes), size;
    void *memory;
    jd_status status = keep_old(stage, staging->device, false);
    if (status != JD_OK)
        return status;
    staging->device = NULL;
    staging->device_bytes = 0;
    status = jd__cuda_check(
        malloc_device(staging, wanted > needed ? wanted : needed, needed,
                      &memory, &size),
        stage->operation, "cudaMalloc (memory of the GPU for a host buffer)");
    if (status != JD_OK)
        return status;
    staging->device = memory;
    staging->device_bytes = size;
    return JD_OK;
}

static bool is_large_enough(const struct jd_staging *staging, size_t bytes)
{
    size_t piece = bytes < LARGEST ? bytes : LARGEST;
    return staging && bytes <= staging->device_bytes &&
           piece <= staging->pinned_bytes;
}

/* A call that failed may have left copies that still go on; they are waited
 * for before a buffer goes. */
static jd_status get_buffers(struct stage *stage, size_t bytes)
{
    struct jd_stream *stream = stage->stream;
    if (is_large_enough(stream->staging, bytes))
        return JD_OK;
    if (!stream->staging)
        stream->staging = calloc(1, sizeof *stream->staging);
    if (!stream->staging)
        return jd__fail_no_memory(stage->operation, sizeof *stream->staging);
    jd_status status =
        jd__cuda_stream_wait(stream, stage->operation, stage->call->detail);
    if (status == JD_OK)
        status = get_pinned(stage, bytes);
    return status == JD_OK ? get_device(stage, bytes) : status;
}

void jd__cuda_staging_destroy(struct jd_staging *staging)
{
    if (!staging)
        return;
    free_old(staging);
    cudaFreeHost(staging->pinned);
    cudaFree(staging->device);
    free(staging);
}

/* ---- copies ------------------------------------------------------------- */

static jd_status queue(const struct stage *stage, void *to, const void *from,
                       size_t bytes)
{
    return jd__cuda_check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault,
                                          stage->stream->handle),
                          stage->operation, "cudaMemcpyAsync");
}

static jd_status wait(const struct stage *stage)
{
    return jd__cuda_stream_wait(stage->stream, stage->operation,
                                stage->call->detail);
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
    if (staging->pinned_used == staging->pinned_bytes) {
        status = wait(stage);
        staging->pinned_used = 0;
    }
    size_t room = staging->pinned_bytes - staging->pinned_used;
    *ret_room = staging->pinned + staging->pinned_used;
    *ret_piece = left < room ? left : room;
    staging->pinned_used += *ret_piece;
    return status;
}

static jd_status bring(const struct stage *stage, const struct side *side)
{
    jd_status status = JD_OK;
    if (is_apart(side->given))
        return queue(stage, side->device, side->given, side->bytes);
    for (size_t done = 0, piece; done < side->bytes; done += piece) {
        char *room;
        status = find_room(stage, side->bytes - done, &room, &piece);
        if (status != JD_OK)
            return status;
        memcpy(room, side->given + done, piece);
        status = queue(stage, side->device + done, room, piece);
        if (status != JD_OK)
            return status;
    }
    return JD_OK;
}

/* Waits for all, whose copies are over then. */
static jd_status finish(const struct stage *stage)
{
    jd_status status = wait(stage);
    if (status == JD_OK)
        stage->stream->staging->pinned_used = 0;
    return status;
}

/* The pinned buffer's use for this comes after those before, on the stream. */
static jd_status fetch(const struct stage *stage, const struct side *side)
{
    struct jd_staging *staging = stage->stream->staging;
    jd_status status;
    if (is_apart(side->given)) {
        status = queue(stage, side->given, side->device, side->bytes);
        return status == JD_OK ? finish(stage) : status;
    }
    for (size_t done = 0, piece; done < side->bytes; done += piece) {
        piece = side->bytes - done;
        if (piece > staging->pinned_bytes)
            piece = staging->pinned_bytes;
        status = queue(stage, staging->pinned, side->device + done, piece);
        if (status == JD_OK)
            status = finish(stage);
        if (status != JD_OK)
            return status;
        memcpy(side->given + done, staging->pinned, piece);
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
static size_t place(struct stage *stage, size_t *ret_in, size_t *ret_out)
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
    *ret_out = stage->in_is_staged ? align(stage->in.bytes) : 0;
    return *ret_out + (stage->out_is_staged ? stage->out.bytes : 0);
}

static jd_status get_places(struct stage *stage)
{
    size_t in, out, bytes = place(stage, &in, &out);
    struct jd_cuda_visit visit;
    jd_status status =
        jd__cuda_enter(stage->stream->native, stage->operation, &visit);
    if (status == JD_OK)
        status = get_buffers(stage, bytes);
    jd__cuda_leave(&visit);
    if (status != JD_OK)
        return status;
    char *device = stage->stream->staging->device;
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
        .operation = jd__activity_name(call->activity),
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
            status = bring(&stage, &stage.in);
        if (status == JD_OK && stage.out_is_staged && keeps_out)
            status = bring(&stage, &stage.out);
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
        .operation = jd__activity_name(staged->call.activity),
        .out = { .given = staged->host_out,
                 .bytes = staged->out_bytes,
                 .device = staged->call.out },
    };
    return staged->host_out ? fetch(&stage, &stage.out) : finish(&stage);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* reductions.c - the public reductions. */
#include "base/progress.h"
#include "collectives/api/checks.h"
#include "jd_collectives.h"

static jd_status reduce_vector(jd_shard *shard, const char *axes,
                               struct jd_collective *call, enum jd_reduce op)
{
    struct jd_axis_comm *axis_comm;
    const struct jd_buffers buffers = { call->count, call->count, 0,
                                        JD_SAME_BUFFER };
    jd_status status = jd__checks_call(shard, axes, call, 1, &axis_comm);
    if (status == JD_OK)
        status = jd__checks_buffers(call, &buffers);
    if (status != JD_OK)
        return status;
    const struct jd_platform *platform = shard->mesh->platform;
    status = platform->check_reduce(call, op);
    if (status == JD_OK)
        status = jd__axis_comm_enter(axis_comm, call, 0);
    if (status != JD_OK)
        return status;
    status = platform->all_reduce(jd__axis_comm_handle(axis_comm), call, op);
    return jd__axis_comm_leave(axis_comm, call->activity, status);
}

jd_status jd_psum(jd_shard *shard, const char *axes, const void *in, void *out,
                  size_t count, jd_dtype dtype)
{
    JD_NOTE_CALLER();
    struct jd_collective call = { .activity = JD_ACTIVITY_PSUM,
                                  .in = in,
                                  .out = out,
                                  .count = count,
                                  .dtype = dtype };
    return reduce_vector(shard, axes, &call, JD_REDUCE_SUM);
}

jd_status jd_pmean(jd_shard *shard, const char *axes, const void *in, void *out,
                   size_t count, jd_dtype dtype)
{
    JD_NOTE_CALLER();
    struct jd_collective call = { .activity = JD_ACTIVITY_PMEAN,
                                  .in = in,
                                  .out = out,
                                  .count = count,
                                  .dtype = dtype };
    return reduce_vector(shard, axes, &call, JD_REDUCE_MEAN);
}

jd_status jd_pmax(jd_shard *shard, const char *axes, const void *in, void *out,
                  size_t count, jd_dtype dtype)
{
    JD_NOTE_CALLER();
    struct jd_collective call = { .activity = JD_ACTIVITY_PMAX,
                                  .in = in,
                                  .out = out,
                                  .count = count,
                                  .dtype = dtype };
    return reduce_vector(shard, axes, &call, JD_REDUCE_MAX);
}

jd_status jd_pmin(jd_shard *shard, const char *axes, const void *in, void *out,
                  size_t count, jd_dtype dtype)
{
    JD_NOTE_CALLER();
    struct jd_collective call = { .activity = JD_ACTIVITY_PMIN,
                                  .in = in,
                                  .out = out,
                                  .count = count,
                                  .dtype = dtype };
    return reduce_vector(shard, axes, &call, JD_REDUCE_MIN);
}

jd_status jd_pprod(jd_shard *shard, const char *axes, const void *in, void *out,
                   size_t count, jd_dtype dtype)
{
    JD_NOTE_CALLER();
    struct jd_collective call = { .activity = JD_ACTIVITY_PPROD,
                                  .in = in,
                                  .out = out,
                                  .count = count,
                                  .dtype = dtype };
    return reduce_vector(shard, axes, &call, JD_REDUCE_PROD);
}

jd_status jd_pand(jd_shard *shard, const char *axes, const void *in, void *out,
                  size_t count, jd_dtype dtype)
{
    JD_NOTE_CALLER();
    struct jd_collective call = { .activity = JD_ACTIVITY_PAND,
                                  .in = in,
                                  .out = out,
                                  .count = count,
                                  .dtype = dtype };
    return reduce_vector(shard, axes, &call, JD_REDUCE_AND);
}

jd_status jd_por(jd_shard *shard, const char *axes, const void *in, void *out,
                 size_t count, jd_dtype dtype)
{
    JD_NOTE_CALLER();
    struct jd_collective call = { .activity = JD_ACTIVITY_POR,
                                  .in = in,
                                  .out = out,
                                  .count = count,
                                  .dtype = dtype };
    return reduce_vector(shard, axes, &call, JD_REDUCE_OR);
}

jd_status jd_pxor(jd_shard *shard, const char *axes, const void *in, void *out,
                  size_t count, jd_dtype dtype)
{
    JD_NOTE_CALLER();
    struct jd_collective call = { .activity = JD_ACTIVITY_PXOR,
                                  .in = in,
                                  .out = out,
                                  .count = count,
                                  .dtype = dtype };
    return reduce_vector(shard, axes, &call, JD_REDUCE_XOR);
}

/* in has a block of rows x count for each member, side by side in each row. */
static jd_status reduce_and_scatter(jd_shard *shard, const char *axes,
                                    struct jd_collective *call, size_t rows)
{
    struct jd_axis_comm *axis_comm;
    jd_status status = jd__checks_call(shard, axes, call, rows, &axis_comm);
    if (status != JD_OK)
        return status;
    const struct jd_platform *platform = shard->mesh->platform;
    size_t block = rows * call->count;
    const struct jd_buffers buffers = {
        .in = (size_t)axis_comm->size * block,
        .out = block,
        .place = rows == 1 ? -(ptrdiff_t)((size_t)axis_comm->index * block)
                           : JD_NO_PLACE,
        .rule = rows == 1 ? "or out == in + index * count" : "",
    };
    status = jd__checks_buffers(call, &buffers);
    if (status == JD_OK)
        status = platform->check_reduce(call, JD_REDUCE_SUM);
    if (status == JD_OK)
        status = jd__axis_comm_enter(axis_comm, call, rows);
    if (status != JD_OK)
        return status;
    status = platform->reduce_scatter(jd__axis_comm_handle(axis_comm), call,
                                      JD_REDUCE_SUM, rows);
    return jd__axis_comm_leave(axis_comm, call->activity, status);
}

jd_status jd_psum_scatter(jd_shard *shard, const char *axes, const void *in,
                          void *out, size_t count, jd_dtype dtype)
{
    JD_NOTE_CALLER();
    struct jd_collective call = { .activity = JD_ACTIVITY_PSUM_SCATTER,
                                  .in = in,
                                  .out = out,
                                  .count = count,
                                  .dtype = dtype };
    return reduce_and_scatter(shard, axes, &call, 1);
}

jd_status jd_psum_scatter_2d(jd_shard *shard, const char *axes, const void *in,
                             void *out, size_t rows, size_t count,
                             jd_dtype dtype)
{
    JD_NOTE_CALLER();
    struct jd_collective call = { .activity = JD_ACTIVITY_PSUM_SCATTER_2D,
                                  .in = in,
                                  .out = out,
                                  .count = count,
                                  .dtype = dtype };
    return reduce_and_scatter(shard, axes, &call, rows);
}

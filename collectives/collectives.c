/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * collectives.c - the public collectives: each checks its arguments, enters
 * the clique of its axes, and leaves the work to the platform.
 */
#include "jd_collectives.h"
#include "collectives/mesh.h"

#include <stdint.h>

/* Checks what needs no communication and no buffer. members is how many
 * times the count must fit into a buffer. */
static jd_status check_call(const jd_shard *shard, const char *axes,
                            const struct jd_call *call, int *ret_members)
{
    struct jd_axes parsed;
    if (!shard)
        return jd__fail_null_shard(call->operation);
    jd_status status = jd__mesh_check_world(shard->mesh, call->operation);
    if (status == JD_OK)
        status = jd__axes_parse(shard->mesh, axes, call->operation, &parsed);
    if (status != JD_OK)
        return status;
    size_t size = jd_dtype_size(call->dtype);
    int members = jd__axes_size(shard->mesh, &parsed);
    if (size == 0)
        return jd_fail(JD_INVALID_ARGUMENT,
                       "%s: dtype is %d, which is no jd_dtype", call->operation,
                       (int)call->dtype);
    if (call->count > PTRDIFF_MAX / size / (size_t)members)
        return jd_fail(JD_INVALID_ARGUMENT,
                       "%s: count is %zu; %d members' %s of that number do not "
                       "fit into an address space (was it negative?)",
                       call->operation, call->count, members,
                       jd_dtype_name(call->dtype));
    *ret_members = members;
    return JD_OK;
}

static jd_status check_null(const struct jd_call *call, bool reads)
{
    const char *null = reads && !call->in ? "in" : !call->out ? "out" : NULL;
    if (!null || call->count == 0)
        return JD_OK;
    return jd_fail(JD_INVALID_ARGUMENT,
                   "%s: %s is NULL and count is %zu; only a count of 0 needs "
                   "no buffer",
                   call->operation, null, call->count);
}

/* in may be out + place bytes, or have nothing in common with out's
 * out_bytes; rule says that in words. */
static jd_status check_overlap(const struct jd_call *call, size_t place,
                               size_t out_bytes, const char *rule)
{
    uintptr_t in = (uintptr_t)call->in, out = (uintptr_t)call->out;
    size_t in_bytes = call->count * jd_dtype_size(call->dtype);
    if (call->count == 0 || in == out + place || in + in_bytes <= out ||
        out + out_bytes <= in)
        return JD_OK;
    return jd_fail(JD_INVALID_ARGUMENT,
                   "%s: in and out overlap: in begins %zu bytes %s out's "
                   "begin; give buffers that do not, or %s",
                   call->operation, in < out ? out - in : in - out,
                   in < out ? "before" : "after", rule);
}

/* Makes the clique where this is its first collective. */
static jd_status enter(jd_shard *shard, const struct jd_call *call)
{
    struct jd_mesh *mesh = shard->mesh;
    jd_status status =
        jd__failure_check(&shard->failure, call->operation, mesh->detail);
    if (status != JD_OK || shard->clique)
        return status;
    struct jd_clique_spec spec = {
        .runtime = mesh->runtime,
        .members = mesh->devices,
        .size = mesh->size,
        .index = shard->position,
        .axes = mesh->axes,
        .detail = mesh->detail,
        .operation = call->operation,
    };
    return jd__failure_note(
        &shard->failure, mesh->platform->clique_create(&spec, &shard->clique));
}

jd_status jd_psum(jd_shard *shard, const char *axes, const void *in, void *out,
                  size_t count, jd_dtype dtype)
{
    struct jd_call call = { "jd_psum", in, out, count, dtype };
    int members = 0;
    jd_status status = check_call(shard, axes, &call, &members);
    if (status == JD_OK)
        status = check_null(&call, true);
    if (status == JD_OK)
        status = check_overlap(&call, 0, count * jd_dtype_size(dtype),
                               "the same buffer twice");
    if (status != JD_OK)
        return status;
    const struct jd_platform *platform = shard->mesh->platform;
    status = platform->check_reduce(&call, JD_REDUCE_SUM);
    if (status == JD_OK)
        status = enter(shard, &call);
    if (status != JD_OK)
        return status;
    status = platform->all_reduce(shard->clique, &call, JD_REDUCE_SUM);
    return jd__failure_note(&shard->failure, status);
}

jd_status jd_all_gather(jd_shard *shard, const char *axes, const void *in,
                        void *out, size_t count, jd_dtype dtype)
{
    struct jd_call call = { "jd_all_gather", in, out, count, dtype };
    int members = 0;
    jd_status status = check_call(shard, axes, &call, &members);
    if (status == JD_OK)
        status = check_null(&call, true);
    if (status != JD_OK)
        return status;
    size_t bytes = count * jd_dtype_size(dtype);
    status =
        check_overlap(&call, (size_t)jd_axis_index(shard, axes) * bytes,
                      (size_t)members * bytes, "in == out + index * count");
    if (status == JD_OK)
        status = enter(shard, &call);
    if (status != JD_OK)
        return status;
    status = shard->mesh->platform->all_gather(shard->clique, &call);
    return jd__failure_note(&shard->failure, status);
}

jd_status jd_pbroadcast(jd_shard *shard, const char *axes, int source,
                        const void *in, void *out, size_t count, jd_dtype dtype)
{
    struct jd_call call = { "jd_pbroadcast", in, out, count, dtype };
    int members = 0;
    jd_status status = check_call(shard, axes, &call, &members);
    if (status != JD_OK)
        return status;
    if (source < 0 || source >= members)
        return jd_fail(JD_INVALID_ARGUMENT,
                       "jd_pbroadcast: source is %d; the members are 0 to %d",
                       source, members - 1);
    bool reads = jd_axis_index(shard, axes) == source;
    status = check_null(&call, reads);
    if (status == JD_OK && reads)
        status = check_overlap(&call, 0, count * jd_dtype_size(dtype),
                               "the same buffer twice");
    if (status == JD_OK)
        status = enter(shard, &call);
    if (status != JD_OK)
        return status;
    status = shard->mesh->platform->broadcast(shard->clique, &call, source);
    return jd__failure_note(&shard->failure, status);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* checks.c - what a public collective looks at before it communicates. */
#include "collectives/api/checks.h"
#include "collectives/platform/device_memory.h"

/* Small numbers are seen to fit without a division. */
static bool fits_in_memory(size_t elements, size_t rows, size_t members,
                           size_t size)
{
    if ((elements | rows | members) >> 19 == 0)
        return true;
    size_t most = PTRDIFF_MAX / size / members;
    return rows == 0 || elements <= most / rows;
}

/* As the call's prototype says it. */
static const char *count_name(const struct jd_collective *call)
{
    return call->activity == JD_ACTIVITY_RECV_ANY_SIZE ? "capacity" : "count";
}

static jd_status check_count(const struct jd_collective *call, size_t rows,
                             int members)
{
    const char *name = jd__signature_activity_name(call->activity);
    size_t size = jd_dtype_size(call->dtype);
    if (size == 0)
        return jd_fail(JD_INVALID_ARGUMENT,
                       "%s: dtype is %d, which is no jd_dtype", name,
                       (int)call->dtype);
    if (fits_in_memory(call->count, rows, (size_t)members, size))
        return JD_OK;
    if (rows == 1)
        return jd_fail(JD_INVALID_ARGUMENT,
                       "%s: %s is %zu; %d members' %s of that number do not "
                       "fit into an address space (was it negative?)",
                       name, count_name(call), call->count, members,
                       jd_dtype_name(call->dtype));
    return jd_fail(JD_INVALID_ARGUMENT,
                   "%s: count is %zu and rows is %zu; %d members' %s of that "
                   "number do not fit into an address space (was one "
                   "negative?)",
                   name, call->count, rows, members,
                   jd_dtype_name(call->dtype));
}

static jd_status check_group(const jd_shard *shard,
                             const struct jd_collective *call)
{
    if (!shard->group.is_open || call->activity == JD_ACTIVITY_SEND ||
        call->activity == JD_ACTIVITY_RECV ||
        call->activity == JD_ACTIVITY_RECV_ANY_SIZE)
        return JD_OK;
    return jd_fail(JD_FAILED_PRECONDITION,
                   "%s: the shard is between jd_group_begin() and "
                   "jd_group_end(), where only jd_send() and jd_recv() are; "
                   "call jd_group_end() first",
                   jd__signature_activity_name(call->activity));
}

jd_status jd__checks_call(jd_shard *shard, const char *axes,
                          struct jd_collective *call, size_t rows,
                          struct jd_axis_comm **ret_axis_comm)
{
    const char *name = jd__signature_activity_name(call->activity);
    struct jd_axis_comm *axis_comm;
    if (!shard)
        return jd__shard_fail_null(name);
    jd_status status = jd__mesh_check_world(shard->mesh, name);
    if (status == JD_OK)
        status = jd__axis_comm_of(shard, axes, name, &axis_comm);
    if (status == JD_OK)
        status = check_count(call, rows, axis_comm->size);
    if (status == JD_OK)
        status = check_group(shard, call);
    if (status != JD_OK)
        return status;
    call->detail = axis_comm->detail;
    call->stream = shard->stream;
    *ret_axis_comm = axis_comm;
    return JD_OK;
}

static jd_status check_null(const struct jd_collective *call,
                            const struct jd_buffers *buffers)
{
    const char *null = buffers->in && !call->in     ? "in"
                       : buffers->out && !call->out ? "out"
                                                    : NULL;
    if (!null)
        return JD_OK;
    return jd_fail(JD_INVALID_ARGUMENT,
                   "%s: %s is NULL and %s is %zu; only a %s of 0 needs no "
                   "buffer",
                   jd__signature_activity_name(call->activity), null,
                   count_name(call), call->count, count_name(call));
}

jd_status jd__checks_buffers(const struct jd_collective *call,
                             const struct jd_buffers *buffers)
{
    uintptr_t in = (uintptr_t)call->in, out = (uintptr_t)call->out;
    size_t size = jd_dtype_size(call->dtype);
    jd_status status = check_null(call, buffers);
    if (status != JD_OK)
        return status;
    if (buffers->in == 0 || buffers->out == 0 ||
        in + buffers->in * size <= out || out + buffers->out * size <= in)
        return JD_OK;
    if (buffers->place != JD_NO_PLACE &&
        in == out + (uintptr_t)(buffers->place * (ptrdiff_t)size))
        return JD_OK;
    return jd_fail(JD_INVALID_ARGUMENT,
                   "%s: in and out overlap: in begins %zu bytes %s out's "
                   "begin; give buffers that do not%s%s",
                   jd__signature_activity_name(call->activity),
                   in < out ? out - in : in - out,
                   in < out ? "before" : "after", *buffers->rule ? ", " : "",
                   buffers->rule);
}

jd_status jd__checks_cpu(const jd_shard *shard,
                         const struct jd_collective *call, const char *remedy)
{
    if (shard->mesh->platform->streams)
        return jd_fail(JD_UNIMPLEMENTED, "%s: not on GPUs; %s",
                       jd__signature_activity_name(call->activity), remedy);
    return jd__checks_host(shard, call);
}

jd_status jd__checks_host(const jd_shard *shard,
                          const struct jd_collective *call)
{
    jd_status status = jd__checks_host_buffer(shard, call, "in", call->in);
    return status == JD_OK
               ? jd__checks_host_buffer(shard, call, "out", call->out)
               : status;
}

jd_status jd__checks_host_buffer(const jd_shard *shard,
                                 const struct jd_collective *call,
                                 const char *name, const void *buffer)
{
    if (shard->mesh->platform->streams || !jd__device_memory_is_apart(buffer))
        return JD_OK;
    return jd_fail(JD_UNIMPLEMENTED,
                   "%s: %s is in the memory of a GPU, and the devices of this "
                   "mesh are cpu ones, which cannot read it; copy it to the "
                   "host (jd_device_copy)",
                   jd__signature_activity_name(call->activity), name);
}

jd_status jd__checks_member(const struct jd_axis_comm *axis_comm,
                            const struct jd_collective *call, const char *name,
                            int index)
{
    if (index >= 0 && index < axis_comm->size)
        return JD_OK;
    return jd_fail(JD_INVALID_ARGUMENT, "%s: %s is %d; the members are 0 to %d",
                   jd__signature_activity_name(call->activity), name, index,
                   axis_comm->size - 1);
}

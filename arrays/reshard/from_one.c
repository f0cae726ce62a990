/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * from_one.c - jd_array_from_one: what one process has is an array of one block
 * on a device of it, but for where the block is, and gets another sharding.
 */
#include "arrays/array/array_agree.h"
#include "arrays/array/mesh_cache.h"
#include "arrays/reshard/reshard.h"
#include "base/progress.h"
#include "base/status.h"
#include "collectives/multihost/leaves.h"

#include <stdio.h>

#define OPERATION "jd_array_from_one"

/* One call, as the process makes it. */
struct from_one {
    const jd_leaf *value;
    const jd_sharding *sharding;
    int source;
    bool has_value; /* of a type and a shape */
};

/* ---- checks -------------------------------------------------------------- */

static bool is_process(int number)
{
    return number >= 0 && number < jd_process_count();
}

/* Type and shape: data is the source's alone. */
static jd_status check_value(const jd_leaf *value)
{
    struct jd_leaf_list list = { value, 1, OPERATION, "value" };
    size_t bytes;
    if (!value)
        return jd_fail(JD_INVALID_ARGUMENT, OPERATION ": value is NULL");
    jd_leaf described = *value;
    described.data = &described;
    list.leaves = &described;
    return jd__leaves_check(&list, &bytes);
}

static jd_status check_call(jd_array **ret_array, struct from_one *call)
{
    jd_status status = check_value(call->value);
    call->has_value = status == JD_OK;
    if (!ret_array)
        return jd_fail(JD_INVALID_ARGUMENT, OPERATION ": ret_array is NULL");
    if (!is_process(call->source))
        return jd_fail(JD_INVALID_ARGUMENT,
                       OPERATION ": source is %d; the processes are 0 to %d",
                       call->source, jd_process_count() - 1);
    return status;
}

/* What only the source can find out. */
static jd_status check_data(const struct from_one *call)
{
    if (call->source != jd_process_index() || call->value->data ||
        jd__leaf_bytes(call->value) == 0)
        return JD_OK;
    return jd_fail(JD_INVALID_ARGUMENT,
                   OPERATION ": value.data is NULL on process %d, which is "
                             "the source; it has the whole there",
                   call->source);
}

/* ---- a process that cannot ----------------------------------------------- */

static void describe_call(const struct from_one *call, char *text, size_t size)
{
    char leaf[JD_SHAPE_TEXT] = "no value";
    if (call->has_value)
        jd__leaf_print(call->value, leaf, sizeof leaf);
    snprintf(text, size, "%s from process %d to \"%.200s\"", leaf, call->source,
             call->sharding->spec);
}

/* The others see it by the words, or are told by the status; this process keeps
 * to its own sentence. */
static jd_status refuse_call(const struct from_one *call, jd_status status)
{
    const struct jd_invited invited = { .a = call->sharding,
                                        .extra = is_process(call->source)
                                                     ? call->source
                                                     : -1 };
    struct jd_agree_list *array_agree = NULL;
    char what[JD_SHAPE_TEXT + 256], *own = jd__message_take();
    describe_call(call, what, sizeof what);
    if (jd__array_agree_enter(OPERATION, &invited, &array_agree) == JD_OK &&
        array_agree)
        jd__array_agree_leave(
            array_agree,
            jd__array_agree_share(array_agree, status, what, NULL, 0, NULL));
    jd__message_put_back(own);
    return status;
}

/* ---- the value as an array ----------------------------------------------- */

/* All of it on a device of the source. */
static jd_status make_sharding(const struct from_one *call,
                               jd_sharding **ret_sharding)
{
    const jd_device *device =
        jd__sharding_device_of(call->sharding, call->source);
    jd_mesh *mesh;
    if (!device)
        return jd_fail(JD_INVALID_ARGUMENT,
                       OPERATION ": source is %d, and that process has no "
                                 "device of platform %s, over which the value "
                                 "would go",
                       call->source, call->sharding->devices[0]->platform);
    jd_status status = jd__mesh_cache_get(OPERATION, &device, 1, &mesh);
    if (status == JD_OK)
        status = jd_sharding_create(ret_sharding, mesh, "");
    return status == JD_OK ? JD_OK : jd__fail_prefix(status, OPERATION ": ");
}

/* Its block is the value itself, which is only read. */
static jd_status make_source(const struct from_one *call, jd_array **ret_array)
{
    const jd_leaf *value = call->value;
    jd_sharding *sharding = NULL;
    jd_status status = make_sharding(call, &sharding);
    if (status == JD_OK)
        status =
            jd__array_create_without_data(OPERATION, sharding, value->dtype,
                                          value->ndim, value->shape, ret_array);
    jd_sharding_release(sharding);
    if (status == JD_OK && (*ret_array)->num_shards)
        (*ret_array)->shards[0].data = value->data;
    return status;
}

static void release_source(jd_array *array)
{
    if (array && array->num_shards)
        array->shards[0].data = NULL;
    jd_array_release(array);
}

/* ---- the call ------------------------------------------------------------ */

static jd_status make_arrays(const struct from_one *call, struct jd_reshard *r)
{
    jd_status status = jd__array_create_without_data(
        OPERATION, call->sharding, call->value->dtype, call->value->ndim,
        call->value->shape, &r->to);
    return status == JD_OK ? make_source(call, &r->from) : status;
}

jd_status jd_array_from_one(jd_array **ret_array, const jd_sharding *sharding,
                            const jd_leaf *value, int source)
{
    JD_NOTE_CALLER();
    struct from_one call = { .value = value,
                             .sharding = sharding,
                             .source = source };
    struct jd_reshard r = { .operation = OPERATION,
                            .sharding = sharding,
                            .is_from_process = true };
    jd_status status = jd__sharding_check_world(sharding, OPERATION);
    if (status != JD_OK)
        return status;
    status = check_call(ret_array, &call);
    if (status == JD_OK)
        status = make_arrays(&call, &r);
    if (status == JD_OK)
        status = jd__reshard_run(&r, check_data(&call));
    else
        refuse_call(&call, status);
    release_source(r.from);
    if (status == JD_OK)
        *ret_array = r.to;
    else
        jd_array_release(r.to);
    return status;
}

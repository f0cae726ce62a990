/* SPDX-License-Identifier: BSD-3-Clause */
/* array.c - arrays: made, looked at, and freed with their last reference. */
#include "arrays/array/array.h"
#include "collectives/platform/device_memory.h"
#include "arrays/array/block_cache.h"
#include "jd_memory.h"
#include "base/forked.h"
#include "base/status.h"

#include <stdlib.h>
#include <string.h>

/* ---- checks -------------------------------------------------------------- */

jd_status jd__array_check(const jd_array *array, const char *operation)
{
    if (!array)
        return jd_fail(JD_INVALID_ARGUMENT, "%s: array is NULL", operation);
    jd_status status = jd__sharding_check_world(array->sharding, operation);
    if (status == JD_OK && array->is_donated)
        return jd_fail(JD_FAILED_PRECONDITION,
                       "%s: the array was donated: jd_array_reshard_donate() "
                       "has given its blocks to another; use that one",
                       operation);
    return status;
}

static jd_status check_arguments(const char *operation,
                                 const jd_sharding *sharding, jd_dtype dtype,
                                 int ndim, const int64_t *shape)
{
    jd_status status = jd__sharding_check_world(sharding, operation);
    if (status != JD_OK)
        return status;
    if (jd_dtype_size(dtype) == 0)
        return jd_fail(JD_INVALID_ARGUMENT,
                       "%s: dtype is %d, which is no jd_dtype", operation,
                       (int)dtype);
    return jd__sharding_check_shape(sharding, operation, ndim, shape);
}

/* ---- making -------------------------------------------------------------- */

static void set_shard(const jd_array *array, int i)
{
    const jd_sharding *sharding = array->sharding;
    jd_array_shard *shard = &array->shards[i];
    int place = sharding->local[i];
    shard->device = sharding->devices[place];
    shard->replica_id = sharding->replica_ids[place];
    jd__sharding_block(sharding, sharding->blocks[place], array->ndim,
                       array->shape, shard->index);
    shard->count = (size_t)jd__box_count(shard->index, array->ndim);
    for (int d = 0; d < array->ndim; d++)
        shard->shape[d] = shard->index[d].end - shard->index[d].begin;
}

static jd_status set_shards(jd_array *array, const char *operation)
{
    size_t places = (size_t)array->num_shards + 1;
    array->shards = calloc(places, sizeof *array->shards);
    if (!array->shards)
        return jd__fail_no_memory(operation, places * sizeof *array->shards);
    for (int i = 0; i < array->num_shards; i++) {
        set_shard(array, i);
        if (array->shards[i].count > PTRDIFF_MAX / array->element)
            return jd_fail(JD_RESOURCE_EXHAUSTED,
                           "%s: a block has %zu elements of %s, more bytes "
                           "than an address space has room for; cut the array "
                           "more ways",
                           operation, array->shards[i].count,
                           jd_dtype_name(array->dtype));
    }
    return JD_OK;
}

/* The last reference is gone, or the array was never finished. */
static void destroy_array(jd_array *array)
{
    for (int i = 0; array->shards && i < array->num_shards; i++) {
        jd_array_shard *shard = &array->shards[i];
        if (array->is_cached)
            jd__block_cache_give(array->sharding->world, shard->device,
                                 shard->count * array->element, shard->data);
        else
            jd__device_memory_free_taken(shard->data);
    }
    free(array->shards);
    jd_sharding_release(array->sharding);
    free(array);
}

jd_status jd__array_create_without_data(const char *operation,
                                        const jd_sharding *sharding,
                                        jd_dtype dtype, int ndim,
                                        const int64_t *shape,
                                        jd_array **ret_array)
{
    if (!ret_array)
        return jd_fail(JD_INVALID_ARGUMENT, "%s: ret_array is NULL", operation);
    jd_status status = check_arguments(operation, sharding, dtype, ndim, shape);
    if (status != JD_OK)
        return status;
    jd_array *array = calloc(1, sizeof *array);
    if (!array)
        return jd__fail_no_memory(operation, sizeof *array);
    atomic_init(&array->references, 1);
    array->sharding = jd__sharding_retain(sharding);
    array->dtype = dtype;
    array->element = jd_dtype_size(dtype);
    array->ndim = ndim;
    for (int d = 0; d < ndim; d++)
        array->shape[d] = shape[d];
    array->num_shards = sharding->num_local;
    status = set_shards(array, operation);
    if (status == JD_OK)
        *ret_array = array;
    else
        destroy_array(array);
    return status;
}

jd_status jd__array_allocate(jd_array *array, const char *operation)
{
    for (int i = 0; i < array->num_shards; i++) {
        jd_array_shard *shard = &array->shards[i];
        size_t bytes = shard->count * array->element;
        jd_status status = jd_device_alloc(shard->device, bytes, &shard->data);
        if (status != JD_OK)
            return jd__fail_prefix(status, "%s: ", operation);
        status = jd__device_memory_take(operation, shard->data);
        if (status != JD_OK)
            return status;
    }
    return JD_OK;
}

jd_status jd__array_create(const char *operation, const jd_sharding *sharding,
                           jd_dtype dtype, int ndim, const int64_t *shape,
                           jd_array **ret_array)
{
    jd_array *array;
    if (!ret_array)
        return jd_fail(JD_INVALID_ARGUMENT, "%s: ret_array is NULL", operation);
    jd_status status = jd__array_create_without_data(operation, sharding, dtype,
                                                     ndim, shape, &array);
    if (status == JD_OK)
        status = jd__array_allocate(array, operation);
    else
        return status;
    if (status == JD_OK)
        *ret_array = array;
    else
        destroy_array(array);
    return status;
}

/* ---- references ---------------------------------------------------------- */

jd_array *jd_array_retain(jd_array *array)
{
    if (array)
        atomic_fetch_add_explicit(&array->references, 1, memory_order_relaxed);
    return array;
}

void jd_array_release(jd_array *array)
{
    if (array && !jd__forked_is_child &&
        atomic_fetch_sub_explicit(&array->references, 1,
                                  memory_order_acq_rel) == 1)
        destroy_array(array);
}

/* ---- what it is ---------------------------------------------------------- */

static bool is_null(const jd_array *array, const char *operation)
{
    if (!array)
        jd_fail(JD_INVALID_ARGUMENT, "%s: array is NULL", operation);
    return !array;
}

jd_dtype jd_array_dtype(const jd_array *array)
{
    return is_null(array, "jd_array_dtype") ? (jd_dtype)0 : array->dtype;
}

int jd_array_ndim(const jd_array *array)
{
    return is_null(array, "jd_array_ndim") ? -1 : array->ndim;
}

const int64_t *jd_array_shape(const jd_array *array)
{
    return is_null(array, "jd_array_shape") ? NULL : array->shape;
}

const jd_sharding *jd_array_sharding(const jd_array *array)
{
    return is_null(array, "jd_array_sharding") ? NULL : array->sharding;
}

const jd_array_shard *jd_array_shards(const jd_array *array, int *ret_count)
{
    jd_status status = jd__array_check(array, "jd_array_shards");
    if (ret_count)
        *ret_count = status == JD_OK ? array->num_shards : 0;
    return status == JD_OK ? array->shards : NULL;
}

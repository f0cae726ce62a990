/* SPDX-License-Identifier: BSD-3-Clause */
/* sources.c - arrays of zeros, of what a callback writes, and of blocks that
 * are there already. */
#include "arrays/array/array.h"
#include "base/status.h"
#include "base/text.h"
#include "collectives/platform/device_memory.h"

#include <stdlib.h>
#include <string.h>

jd_status jd_array_zeros(jd_array **ret_array, const jd_sharding *sharding,
                         jd_dtype dtype, int ndim, const int64_t *shape)
{
    return jd__array_create("jd_array_zeros", sharding, dtype, ndim, shape,
                            ret_array);
}

/* ---- blocks that are filled ---------------------------------------------- */

jd_status jd__sources_firsts(const jd_sharding *sharding, const char *operation,
                             int **ret_firsts)
{
    size_t ways = (size_t)sharding->ways, local = (size_t)sharding->num_local;
    int *seen = calloc(ways, sizeof *seen); /* 1 + the first one's number */
    int *firsts = malloc((local + 1) * sizeof *firsts);
    if (!seen || !firsts) {
        free(seen);
        free(firsts);
        return jd__fail_no_memory(operation, (ways + local) * sizeof *seen);
    }
    for (int i = 0; i < sharding->num_local; i++) {
        int *first = &seen[sharding->blocks[sharding->local[i]]];
        *first = *first ? *first : i + 1;
        firsts[i] = *first - 1;
    }
    free(seen);
    *ret_firsts = firsts;
    return JD_OK;
}

jd_status jd__array_fill(const jd_array *array, const char *operation,
                         jd_status (*fill)(const jd_array_shard *shard,
                                           void *arg),
                         void *arg)
{
    int *firsts;
    jd_status status = jd__sources_firsts(array->sharding, operation, &firsts);
    if (status != JD_OK)
        return status;
    for (int i = 0; status == JD_OK && i < array->num_shards; i++) {
        const jd_array_shard *shard = &array->shards[i];
        if (shard->count == 0)
            continue;
        if (firsts[i] == i)
            status = fill(shard, arg);
        else
            status = jd_device_copy(shard->data, array->shards[firsts[i]].data,
                                    shard->count * array->element);
    }
    free(firsts);
    return status;
}

/* ---- a callback ---------------------------------------------------------- */

/* One of the two functions of the program's. */
struct callback {
    const char *operation;
    jd_status (*fill)(const jd_range *index, void *block, void *arg);
    jd_status (*fill_block)(const jd_block *block, void *arg);
    void *arg;
    const jd_array *array;
};

static jd_status run_fill(const struct callback *callback,
                          const jd_array_shard *shard, void *data)
{
    if (callback->fill)
        return callback->fill(shard->index, data, callback->arg);
    const jd_block block = {
        .dtype = callback->array->dtype,
        .ndim = callback->array->ndim,
        .array_shape = callback->array->shape,
        .index = shard->index,
        .shape = shard->shape,
        .count = shard->count,
        .data = data,
    };
    return callback->fill_block(&block, callback->arg);
}

/* Its failure has its own sentence, or none, and never that of a call before.
 */
static jd_status call_fill(const struct callback *callback,
                           const jd_array_shard *shard, void *data)
{
    char *before = jd__message_take(), ranges[256];
    jd_status status = run_fill(callback, shard, data);
    if (status != JD_OK) {
        const char *own = jd_error_message();
        jd__box_print(shard->index, callback->array->ndim, ranges,
                      sizeof ranges);
        jd_fail(status, "%s: fill of the block at %s failed: %s: %s",
                callback->operation, ranges, jd_status_name(status),
                *own ? own : "it gave no sentence; jd_fail_with() gives one");
    }
    jd__message_give_back(before);
    return status;
}

/* Where the program cannot write to the block itself. */
static jd_status call_back_apart(const struct callback *callback,
                                 const jd_array_shard *shard)
{
    size_t bytes = shard->count * callback->array->element;
    void *block = calloc(1, bytes);
    if (!block)
        return jd__fail_no_memory(callback->operation, bytes);
    jd_status status = call_fill(callback, shard, block);
    if (status == JD_OK)
        status = jd_device_copy(shard->data, block, bytes);
    free(block);
    return status;
}

static jd_status call_back(const jd_array_shard *shard, void *arg)
{
    const struct callback *callback = arg;
    if (jd__device_memory_is_apart(shard->data))
        return call_back_apart(callback, shard);
    return call_fill(callback, shard, shard->data);
}

static jd_status fill_array(struct callback callback,
                            const jd_sharding *sharding, jd_dtype dtype,
                            int ndim, const int64_t *shape,
                            jd_array **ret_array)
{
    jd_array *array;
    if (!ret_array || (!callback.fill && !callback.fill_block))
        return jd_fail(JD_INVALID_ARGUMENT, "%s: %s is NULL",
                       callback.operation, ret_array ? "fill" : "ret_array");
    jd_status status = jd__array_create(callback.operation, sharding, dtype,
                                        ndim, shape, &array);
    if (status != JD_OK)
        return status;
    callback.array = array;
    status = jd__array_fill(array, callback.operation, call_back, &callback);
    if (status == JD_OK)
        *ret_array = array;
    else
        jd_array_release(array);
    return status;
}

jd_status jd_array_from_callback(
    jd_array **ret_array, const jd_sharding *sharding, jd_dtype dtype, int ndim,
    const int64_t *shape,
    jd_status (*fill)(const jd_range *index, void *block, void *arg), void *arg)
{
    struct callback callback = { .operation = "jd_array_from_callback",
                                 .fill = fill,
                                 .arg = arg };
    return fill_array(callback, sharding, dtype, ndim, shape, ret_array);
}

jd_status
jd_array_from_blocks(jd_array **ret_array, const jd_sharding *sharding,
                     jd_dtype dtype, int ndim, const int64_t *shape,
                     jd_status (*fill)(const jd_block *block, void *arg),
                     void *arg)
{
    struct callback callback = { .operation = "jd_array_from_blocks",
                                 .fill_block = fill,
                                 .arg = arg };
    return fill_array(callback, sharding, dtype, ndim, shape, ret_array);
}

/* ---- blocks that are there ---------------------------------------------- */

#define FROM_SHARDS "jd_array_from_shards"

static jd_status check_empty(const void *buffer, int i)
{
    if (!buffer)
        return JD_OK;
    return jd_fail(JD_INVALID_ARGUMENT,
                   FROM_SHARDS ": buffers[%d] is not NULL, and the block there "
                               "is empty; give it a NULL",
                   i);
}

static jd_status check_buffer(const jd_array *array, void *const *buffers,
                              int i)
{
    const jd_array_shard *shard = &array->shards[i];
    size_t wanted = shard->count * array->element;
    if (wanted == 0)
        return check_empty(buffers[i], i);
    if (!buffers[i])
        return jd_fail(JD_INVALID_ARGUMENT,
                       FROM_SHARDS ": buffers[%d] is NULL, and the block there "
                                   "has %zu elements",
                       i, shard->count);
    if (jd__device_memory_is_taken(buffers[i]))
        return jd_fail(JD_INVALID_ARGUMENT,
                       FROM_SHARDS ": buffers[%d] belongs to an array already; "
                                   "copy it into memory of its own "
                                   "(jd_device_copy)",
                       i);
    size_t bytes = jd__device_memory_size(buffers[i]);
    if (bytes >= wanted)
        return JD_OK;
    if (bytes)
        return jd_fail(JD_INVALID_ARGUMENT,
                       FROM_SHARDS ": buffers[%d] has %zu bytes, and the block "
                                   "there %zu (%zu elements of %s)",
                       i, bytes, wanted, shard->count,
                       jd_dtype_name(array->dtype));
    return jd_fail(JD_INVALID_ARGUMENT,
                   FROM_SHARDS ": buffers[%d] is not memory that "
                               "jd_device_alloc() gave; the array gives it to "
                               "jd_device_free() at its end",
                   i);
}

/* A buffer, and where it is in the list. */
struct source_place {
    uintptr_t buffer;
    int number;
};

static int compare_places(const void *one, const void *other)
{
    const struct source_place *a = one, *b = other;
    if (a->buffer != b->buffer)
        return a->buffer < b->buffer ? -1 : 1;
    return a->number - b->number;
}

static jd_status check_distinct(void *const *buffers, int count)
{
    size_t bytes = ((size_t)count + 1) * sizeof(struct source_place);
    struct source_place *places = malloc(bytes);
    jd_status status = JD_OK;
    if (!places)
        return jd__fail_no_memory(FROM_SHARDS, bytes);
    for (int i = 0; i < count; i++)
        places[i] = (struct source_place){ (uintptr_t)buffers[i], i };
    qsort(places, (size_t)count, sizeof *places, compare_places);
    for (int i = 1; i < count && status == JD_OK; i++)
        if (places[i].buffer && places[i].buffer == places[i - 1].buffer)
            status = jd_fail(JD_INVALID_ARGUMENT,
                             FROM_SHARDS ": buffers[%d] and buffers[%d] are "
                                         "the same; each device has its own",
                             places[i - 1].number, places[i].number);
    free(places);
    return status;
}

static jd_status check_buffers(const jd_array *array, void *const *buffers,
                               int num_buffers)
{
    int count = array->num_shards;
    jd_status status = JD_OK;
    if (num_buffers != count)
        return jd_fail(JD_INVALID_ARGUMENT,
                       FROM_SHARDS ": num_buffers is %d, and this process has "
                                   "%d device%s in the sharding's mesh; give "
                                   "one for each",
                       num_buffers, count, jd__text_s(count));
    if (count && !buffers)
        return jd_fail(JD_INVALID_ARGUMENT, FROM_SHARDS ": buffers is NULL");
    for (int i = 0; i < count && status == JD_OK; i++)
        status = check_buffer(array, buffers, i);
    return status == JD_OK ? check_distinct(buffers, count) : status;
}

/* All of them, or none. */
static jd_status take_buffers(void *const *buffers, int count)
{
    jd_status status = JD_OK;
    int taken = 0;
    while (taken < count && status == JD_OK) {
        status = jd__device_memory_take(FROM_SHARDS, buffers[taken]);
        taken += status == JD_OK;
    }
    while (status != JD_OK && taken > 0)
        jd__device_memory_leave(buffers[--taken]);
    return status;
}

jd_status jd_array_from_shards(jd_array **ret_array,
                               const jd_sharding *sharding, jd_dtype dtype,
                               int ndim, const int64_t *shape,
                               void *const *buffers, int num_buffers)
{
    jd_array *array;
    if (!ret_array)
        return jd_fail(JD_INVALID_ARGUMENT, FROM_SHARDS ": ret_array is NULL");
    jd_status status = jd__array_create_without_data(
        FROM_SHARDS, sharding, dtype, ndim, shape, &array);
    if (status != JD_OK)
        return status;
    status = check_buffers(array, buffers, num_buffers);
    if (status == JD_OK)
        status = take_buffers(buffers, num_buffers);
    if (status != JD_OK) {
        jd_array_release(array);
        return status;
    }
    for (int i = 0; i < num_buffers; i++)
        array->shards[i].data = buffers[i];
    *ret_array = array;
    return JD_OK;
}

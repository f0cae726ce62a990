/* SPDX-License-Identifier: BSD-3-Clause */
/* to_host.c - jd_array_to_host: the whole array, of the blocks that are here.
 */
#include "arrays/array/array.h"
#include "base/status.h"
#include "collectives/multihost/leaves.h"

#include <stdlib.h>
#include <string.h>

jd_status jd__array_check_out(const jd_array *array, const char *operation,
                              const jd_leaf *out)
{
    struct jd_leaf_list list = { out, 1, operation, "out" };
    jd_leaf whole = { NULL, array->dtype, array->ndim, array->shape };
    char out_text[JD_SHAPE_TEXT], text[JD_SHAPE_TEXT];
    size_t bytes;
    if (!out)
        return jd_fail(JD_INVALID_ARGUMENT, "%s: out is NULL", operation);
    jd_status status = jd__leaves_check(&list, &bytes);
    if (status != JD_OK)
        return status;
    if (out->dtype == array->dtype && out->ndim == array->ndim &&
        (out->ndim == 0 || memcmp(out->shape, array->shape,
                                  (size_t)out->ndim * sizeof *out->shape) == 0))
        return JD_OK;
    jd__leaf_print(out, out_text, sizeof out_text);
    jd__leaf_print(&whole, text, sizeof text);
    return jd_fail(JD_INVALID_ARGUMENT, "%s: out is %s, and the array %s",
                   operation, out_text, text);
}

/* Distinct blocks share no element: together they are all where they are as
 * many. */
static jd_status check_complete(const jd_array *array, const char *operation,
                                const int *firsts)
{
    jd_range whole[JD_MAX_NDIM];
    int64_t count = 0;
    int blocks = 0;
    for (int d = 0; d < array->ndim; d++)
        whole[d] = (jd_range){ 0, array->shape[d] };
    for (int i = 0; i < array->num_shards; i++) {
        if (firsts[i] != i)
            continue;
        count += (int64_t)array->shards[i].count;
        blocks++;
    }
    if (count == jd__box_count(whole, array->ndim))
        return JD_OK;
    return jd_fail(JD_FAILED_PRECONDITION,
                   "%s: this process (%d) has %d of the array's %d blocks (the "
                   "spec is \"%s\"); jd_process_allgather_array() gathers all "
                   "of them, and jd_array_shards() gives those that are here",
                   operation, jd_process_index(), blocks, array->sharding->ways,
                   array->sharding->spec);
}

static jd_status copy_blocks(const jd_array *array, const int *firsts,
                             const jd_leaf *out)
{
    jd_range whole[JD_MAX_NDIM];
    struct jd_box to = { out->data, whole, array->ndim, array->element };
    for (int d = 0; d < array->ndim; d++)
        whole[d] = (jd_range){ 0, array->shape[d] };
    jd_status status = JD_OK;
    for (int i = 0; i < array->num_shards && status == JD_OK; i++) {
        const jd_array_shard *shard = &array->shards[i];
        struct jd_box from = { shard->data, shard->index, array->ndim,
                               array->element };
        if (firsts[i] == i)
            status = jd__box_copy(&to, &from, shard->index);
    }
    return status;
}

jd_status jd_array_to_host(const jd_array *array, const jd_leaf *out)
{
    static const char operation[] = "jd_array_to_host";
    int *firsts;
    jd_status status = jd__array_check(array, operation);
    if (status == JD_OK)
        status = jd__array_check_out(array, operation, out);
    if (status == JD_OK)
        status = jd__sources_firsts(array->sharding, operation, &firsts);
    if (status != JD_OK)
        return status;
    status = check_complete(array, operation, firsts);
    if (status == JD_OK)
        status = copy_blocks(array, firsts, out);
    free(firsts);
    return status;
}

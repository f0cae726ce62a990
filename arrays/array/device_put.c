/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * device_put.c - jd_device_put: each process copies its blocks out of the value
 * that it has; that all have the same one they see by its digest, so that a
 * large value costs no message.
 */
#include "arrays/array/array_agree.h"
#include "arrays/array/array.h"
#include "base/digest.h"
#include "base/progress.h"
#include "base/status.h"
#include "collectives/multihost/leaves.h"
#include "runtime/recorder/site.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPERATION "jd_device_put"

/* What a process tells of what it came with. */
struct desc {
    struct jd_value_digest value;
    uint64_t mesh; /* of the devices, in their order, and the axes */
};

static jd_status copy_block(const jd_array_shard *shard, void *arg)
{
    const jd_leaf *value = arg;
    jd_range whole[JD_MAX_NDIM];
    size_t element = jd_dtype_size(value->dtype);
    for (int d = 0; d < value->ndim; d++)
        whole[d] = (jd_range){ 0, value->shape[d] };
    return jd__box_copy(
        &(struct jd_box){ shard->data, shard->index, value->ndim, element },
        &(struct jd_box){ value->data, whole, value->ndim, element },
        shard->index);
}

/* The array of this process, whatever the others have. */
static jd_status fill_array(jd_array *array, const jd_leaf *value)
{
    jd_status status = jd__array_allocate(array, OPERATION);
    if (status != JD_OK)
        return status;
    return jd__array_fill(array, OPERATION, copy_block, (void *)value);
}

/* ---- do all mean the same ------------------------------------------------ */

static uint64_t digest_mesh(const jd_sharding *sharding)
{
    uint64_t digest = jd__digest(0, sharding->spec, strlen(sharding->spec));
    for (int i = 0; i < sharding->num_axes; i++) {
        const char *name = sharding->axis_names[i];
        digest = jd__digest(digest, name, strlen(name) + 1);
        digest = jd__digest(digest, &sharding->axis_sizes[i], sizeof(int));
    }
    for (int i = 0; i < sharding->num_devices; i++)
        digest = jd__digest(digest, &sharding->devices[i]->id,
                            sizeof sharding->devices[i]->id);
    return digest;
}

static void describe_value(const jd_array *array, const jd_leaf *value,
                           struct desc *ret_desc)
{
    ret_desc->mesh = digest_mesh(array->sharding);
    ret_desc->value = jd__digest_value(value->data, jd__leaf_bytes(value));
}

/* With its own place alone: where values differ, calls seldom do. */
static jd_status fail_values(const struct jd_agree_list *list, int process)
{
    struct jd_site_text site = jd__site_of_caller();
    jd_fail(JD_INVALID_ARGUMENT,
            OPERATION ": processes %d and %d give different values (bit for "
                      "bit); jd_broadcast_one_to_all() makes them the same, "
                      "jd_assert_equal() finds the element, and "
                      "jd_array_from_process_local_data() takes of each "
                      "process what it has",
            list->processes[0], process);
    if (site.text[0])
        jd__fail_suffix(JD_INVALID_ARGUMENT, "; process %d calls at %s",
                        list->processes[list->index], site.text);
    return JD_INVALID_ARGUMENT;
}

static jd_status compare_descs(const struct jd_agree_list *array_agree,
                               const struct desc *descs)
{
    int first = array_agree->processes[0];
    for (int i = 1; i < array_agree->size; i++) {
        int process = array_agree->processes[i];
        if (descs[i].mesh != descs[0].mesh)
            return jd_fail(JD_INVALID_ARGUMENT,
                           OPERATION ": processes %d and %d give shardings of "
                                     "unlike meshes: their axes or the order "
                                     "of their devices differ",
                           first, process);
        if (memcmp(&descs[i].value, &descs[0].value, sizeof descs->value) != 0)
            return fail_values(array_agree, process);
    }
    return JD_OK;
}

static jd_status share_descs(struct jd_agree_list *array_agree,
                             const jd_array *array, const jd_leaf *value,
                             jd_status status)
{
    size_t bytes = (size_t)array_agree->size * sizeof(struct desc);
    struct desc own = { .mesh = 0 }, *descs = malloc(bytes);
    char leaf[JD_SHAPE_TEXT], what[JD_SHAPE_TEXT + 256];
    jd__leaf_print(value, leaf, sizeof leaf);
    snprintf(what, sizeof what, "%s onto \"%s\"", leaf, array->sharding->spec);
    if (!descs)
        status = jd__fail_no_memory(OPERATION, bytes);
    else if (status == JD_OK)
        describe_value(array, value, &own);
    status = jd__array_agree_share(array_agree, status, what, &own, sizeof own,
                                   descs);
    if (status == JD_OK)
        status = compare_descs(array_agree, descs);
    free(descs);
    return status;
}

/* Comes with what became of this process's own part, so that all know. */
static jd_status agree_on_value(const jd_array *array, const jd_leaf *value,
                                struct jd_agree_list *array_agree,
                                jd_status status)
{
    if (!array_agree)
        return status;
    if (array_agree->size > 1)
        status = share_descs(array_agree, array, value, status);
    return jd__array_agree_leave(array_agree, status);
}

/* ---- the call ------------------------------------------------------------ */

static jd_status check_arguments(jd_array **ret_array, const jd_leaf *value,
                                 const jd_sharding *sharding)
{
    struct jd_leaf_list list = { value, 1, OPERATION, "value" };
    size_t bytes;
    if (!ret_array || !value)
        return jd_fail(JD_INVALID_ARGUMENT, OPERATION ": %s is NULL",
                       ret_array ? "value" : "ret_array");
    jd_status status = jd__sharding_check_world(sharding, OPERATION);
    return status == JD_OK ? jd__leaves_check(&list, &bytes) : status;
}

jd_status jd_device_put(jd_array **ret_array, const jd_leaf *value,
                        const jd_sharding *sharding)
{
    JD_NOTE_CALLER();
    struct jd_invited invited = { .a = sharding, .extra = -1 };
    struct jd_agree_list *array_agree;
    jd_array *array;
    jd_status status = check_arguments(ret_array, value, sharding);
    if (status == JD_OK)
        status =
            jd__array_create_without_data(OPERATION, sharding, value->dtype,
                                          value->ndim, value->shape, &array);
    if (status != JD_OK)
        return status;
    status = jd__array_agree_enter(OPERATION, &invited, &array_agree);
    if (status == JD_OK)
        status =
            agree_on_value(array, value, array_agree, fill_array(array, value));
    if (status == JD_OK)
        *ret_array = array;
    else
        jd_array_release(array);
    return status;
}

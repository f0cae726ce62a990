/* SPDX-License-Identifier: BSD-3-Clause */
/* gather.c - jd_process_allgather_array and jd_process_gather_array. */
#include "arrays/gather/gather.h"
#include "jd_collectives.h"
#include "arrays/array/array_agree.h"
#include "base/progress.h"
#include "collectives/multihost/leaves.h"

#include <stdio.h>

#define ALLGATHER "jd_process_allgather_array"
#define GATHER "jd_process_gather_array"

/* ---- the calls ---------------------------------------------------------- */

/* "F32[4,6] cut by "data" over 4 devices to process 0". */
static void describe_array(const struct jd_gather *g, int root_process,
                           char *text, size_t size)
{
    const jd_leaf leaf = { NULL, g->array->dtype, g->array->ndim,
                           g->array->shape };
    char shape[192], root[32] = "";
    jd__leaf_print(&leaf, shape, sizeof shape);
    if (root_process >= 0)
        snprintf(root, sizeof root, " to process %d", root_process);
    snprintf(text, size, "%s cut by \"%s\" over %d devices%s", shape,
             g->array->sharding->spec, g->array->sharding->num_devices, root);
}

static bool is_empty(const jd_array *array)
{
    for (int d = 0; d < array->ndim; d++)
        if (array->shape[d] == 0)
            return true;
    return false;
}

static jd_status gather_array(struct jd_gather *g, int root_process,
                              struct jd_agree_list *array_agree)
{
    char what[512];
    jd_status status = JD_OK;
    describe_array(g, root_process, what, sizeof what);
    if (!is_empty(g->array))
        status = jd__gather_prepare(g, root_process);
    status = jd__array_agree_share(array_agree, status, what, NULL, 0, NULL);
    if (status != JD_OK || is_empty(g->array))
        return status;
    status = g->root < 0 ? jd__gather_to_all(g) : jd__gather_to_root(g);
    if (status == JD_OK && g->me)
        status = jd_shard_synchronize(g->me);
    return status == JD_OK ? JD_OK
                           : jd__fail_prefix(status, "%s: ", g->operation);
}

jd_status jd_process_allgather_array(const jd_array *array, const jd_leaf *out)
{
    JD_NOTE_CALLER();
    struct jd_agree_list *array_agree;
    struct jd_gather g = { .operation = ALLGATHER, .array = array, .out = out };
    jd_status status = jd__array_check(array, ALLGATHER);
    if (status == JD_OK)
        status = jd__array_check_out(array, ALLGATHER, out);
    if (status != JD_OK)
        return status;
    struct jd_invited invited = { .a = array->sharding, .extra = -1 };
    status = jd__array_agree_enter(ALLGATHER, &invited, &array_agree);
    if (status != JD_OK)
        return status;
    if (!array_agree)
        return jd_fail(JD_INVALID_ARGUMENT,
                       ALLGATHER ": process %d has no device in the array's "
                                 "mesh, whose processes get it; let it not "
                                 "call, or be the root of " GATHER "()",
                       jd_process_index());
    status = gather_array(&g, -1, array_agree);
    jd__gather_finish(&g);
    return jd__array_agree_leave(array_agree, status);
}

static jd_status check_root(int root)
{
    int count = jd_process_count();
    if (root >= 0 && root < count)
        return JD_OK;
    return jd_fail(JD_INVALID_ARGUMENT,
                   GATHER ": root is %d; the processes are 0 to %d", root,
                   count - 1);
}

jd_status jd_process_gather_array(const jd_array *array, const jd_leaf *out,
                                  int root)
{
    JD_NOTE_CALLER();
    struct jd_agree_list *array_agree;
    struct jd_gather g = { .operation = GATHER, .array = array, .out = out };
    jd_status status = jd__array_check(array, GATHER);
    if (status == JD_OK)
        status = check_root(root);
    if (status == JD_OK && root == jd_process_index())
        status = jd__array_check_out(array, GATHER, out);
    if (status != JD_OK)
        return status;
    struct jd_invited invited = { .a = array->sharding, .extra = root };
    status = jd__array_agree_enter(GATHER, &invited, &array_agree);
    if (status != JD_OK || !array_agree)
        return status;
    status = gather_array(&g, root, array_agree);
    jd__gather_finish(&g);
    return jd__array_agree_leave(array_agree, status);
}

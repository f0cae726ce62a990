/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * host_local.c - what one process's devices have together, as an array in its
 * memory: made part of the array of all processes, and taken out of it. Each
 * dimension is as often longer in the whole as the mesh has more blocks of it
 * than the process.
 */
#include "arrays/array/array.h"
#include "arrays/array/host_box.h"
#include "collectives/multihost/leaves.h"

#include <inttypes.h>
#include <string.h>

#define TO_GLOBAL "jd_host_local_array_to_global_array"
#define TO_LOCAL "jd_global_array_to_host_local_array"

struct host_local {
    const char *operation;
    jd_sharding *sharding; /* a reference */
    struct jd_host_box box;
    int ndim;
    int64_t local[JD_MAX_NDIM]; /* shapes */
    int64_t global[JD_MAX_NDIM];
};

static jd_status prepare_sharding(struct host_local *h, const jd_mesh *mesh,
                                  const char *spec)
{
    jd_status status = jd_sharding_create(&h->sharding, mesh, spec);
    if (status != JD_OK)
        return jd__fail_prefix(status, "%s: ", h->operation);
    return jd__host_box_find(h->operation, h->sharding, jd_process_index(),
                             &h->box);
}

/* ---- shapes ------------------------------------------------------------- */

/* How many blocks of a dimension this process has, and how many there are. */
struct ways {
    int local;
    int all;
};

static struct ways ways_of(const struct host_local *h, int d)
{
    const struct jd_cut *cut = &h->sharding->cuts[d];
    return (struct ways){ jd__host_box_ways(&h->box, cut), cut->ways };
}

static jd_status lengthen_dimension(struct host_local *h, int d)
{
    struct ways ways = ways_of(h, d);
    int64_t times = ways.all / ways.local;
    if (times > 1 && h->local[d] % ways.local != 0)
        return jd_fail(JD_INVALID_ARGUMENT,
                       "%s: dimension %d of local is %" PRId64
                       " long, and this process has %d of the %d blocks that "
                       "\"%s\" cuts it into; make it a multiple of %d",
                       h->operation, d, h->local[d], ways.local, ways.all,
                       h->sharding->spec, ways.local);
    if (h->local[d] > INT64_MAX / times)
        return jd_fail(JD_INVALID_ARGUMENT,
                       "%s: dimension %d of local is %" PRId64
                       " long, and would be %" PRId64
                       " times that in the whole array, more than an int64_t "
                       "counts",
                       h->operation, d, h->local[d], times);
    h->global[d] = h->local[d] * times;
    return JD_OK;
}

static jd_status shorten_dimension(struct host_local *h, int d)
{
    struct ways ways = ways_of(h, d);
    if (ways.all > ways.local && h->global[d] % ways.all != 0)
        return jd_fail(JD_INVALID_ARGUMENT,
                       "%s: dimension %d of the array is %" PRId64
                       " long, which is not a multiple of the %d blocks that "
                       "\"%s\" cuts it into: processes would have unlike "
                       "lengths; use jd_array_shards()",
                       h->operation, d, h->global[d], ways.all,
                       h->sharding->spec);
    h->local[d] = h->global[d] / (ways.all / ways.local);
    return JD_OK;
}

/* ---- copies ------------------------------------------------------------- */

/* The ranges of the local memory in the array's own counting, as far as a
 * device's block is concerned: where the block would begin in it. */
static void find_origin(const struct host_local *h, int place,
                        const jd_array_shard *shard, jd_range *ret_origin)
{
    for (int d = 0; d < h->ndim; d++) {
        const struct jd_cut *cut = &h->sharding->cuts[d];
        int64_t length =
            h->global[d] / cut->ways + (h->global[d] % cut->ways != 0);
        int64_t begin =
            length * jd__host_box_number(&h->box, h->sharding, cut, place);
        ret_origin[d].begin = shard->index[d].begin - begin;
        ret_origin[d].end = ret_origin[d].begin + h->local[d];
    }
}

/* All blocks of this process, to its memory or from there. */
static jd_status copy_blocks(const struct host_local *h, const jd_array *array,
                             void *data, bool is_to_array)
{
    jd_range origin[JD_MAX_NDIM];
    jd_status status = JD_OK;
    for (int i = 0; i < array->num_shards && status == JD_OK; i++) {
        const jd_array_shard *shard = &array->shards[i];
        struct jd_box block = { shard->data, shard->index, array->ndim,
                                array->element };
        struct jd_box local = { data, origin, array->ndim, array->element };
        if (shard->count == 0)
            continue;
        find_origin(h, jd__sharding_place(h->sharding, shard->device), shard,
                    origin);
        status = jd__box_copy(is_to_array ? &block : &local,
                              is_to_array ? &local : &block, shard->index);
    }
    return status;
}

/* ---- to the array of all ------------------------------------------------ */

static jd_status check_local(struct host_local *h, const jd_leaf *local)
{
    struct jd_leaf_list list = { local, 1, h->operation, "local" };
    size_t bytes;
    if (!local)
        return jd_fail(JD_INVALID_ARGUMENT, "%s: local is NULL", h->operation);
    jd_status status = jd__leaves_check(&list, &bytes);
    if (status == JD_OK)
        status = jd__sharding_check_shape(h->sharding, h->operation,
                                          local->ndim, local->shape);
    if (status != JD_OK)
        return status;
    h->ndim = local->ndim;
    for (int d = 0; d < h->ndim && status == JD_OK; d++) {
        h->local[d] = local->shape[d];
        status = lengthen_dimension(h, d);
    }
    return status;
}

jd_status jd_host_local_array_to_global_array(jd_array **ret_array,
                                              const jd_leaf *local,
                                              const jd_mesh *mesh,
                                              const char *spec)
{
    struct host_local h = { .operation = TO_GLOBAL };
    jd_array *array;
    if (!ret_array)
        return jd_fail(JD_INVALID_ARGUMENT, TO_GLOBAL ": ret_array is NULL");
    jd_status status = prepare_sharding(&h, mesh, spec);
    if (status == JD_OK)
        status = check_local(&h, local);
    if (status == JD_OK)
        status = jd__array_create(TO_GLOBAL, h.sharding, local->dtype, h.ndim,
                                  h.global, &array);
    if (status == JD_OK) {
        status = copy_blocks(&h, array, local->data, true);
        if (status == JD_OK)
            *ret_array = array;
        else
            jd_array_release(array);
    }
    jd_sharding_release(h.sharding);
    return status;
}

/* ---- to one process's --------------------------------------------------- */

static jd_status check_lies_so(const struct host_local *h,
                               const jd_array *array)
{
    if (jd_sharding_is_equivalent(array->sharding, h->sharding, array->ndim))
        return JD_OK;
    return jd_fail(JD_INVALID_ARGUMENT,
                   "%s: the array is cut by \"%s\", and spec is \"%s\", which "
                   "puts other blocks on this mesh's devices; "
                   "jd_array_reshard() moves them there",
                   h->operation, array->sharding->spec, h->sharding->spec);
}

static bool has_local_shape(const struct host_local *h, const jd_array *array,
                            const jd_leaf *out)
{
    if (out->dtype != array->dtype || out->ndim != h->ndim)
        return false;
    for (int d = 0; d < h->ndim; d++)
        if (out->shape[d] != h->local[d])
            return false;
    return true;
}

static jd_status check_out(const struct host_local *h, const jd_array *array,
                           const jd_leaf *out)
{
    struct jd_leaf_list list = { out, 1, h->operation, "out" };
    const jd_leaf wanted = { NULL, array->dtype, h->ndim, h->local };
    char out_text[JD_SHAPE_TEXT], wanted_text[JD_SHAPE_TEXT];
    size_t bytes;
    if (!out)
        return jd_fail(JD_INVALID_ARGUMENT, "%s: out is NULL", h->operation);
    jd_status status = jd__leaves_check(&list, &bytes);
    if (status != JD_OK || has_local_shape(h, array, out))
        return status;
    jd__leaf_print(out, out_text, sizeof out_text);
    jd__leaf_print(&wanted, wanted_text, sizeof wanted_text);
    return jd_fail(JD_INVALID_ARGUMENT,
                   "%s: out is %s, and this process's part of the array %s",
                   h->operation, out_text, wanted_text);
}

static jd_status check_global(struct host_local *h, const jd_array *array)
{
    jd_status status = jd__sharding_check_shape(h->sharding, h->operation,
                                                array->ndim, array->shape);
    if (status == JD_OK)
        status = check_lies_so(h, array);
    if (status != JD_OK)
        return status;
    h->ndim = array->ndim;
    for (int d = 0; d < h->ndim && status == JD_OK; d++) {
        h->global[d] = array->shape[d];
        status = shorten_dimension(h, d);
    }
    return status;
}

jd_status jd_global_array_to_host_local_array(const jd_array *array,
                                              const jd_mesh *mesh,
                                              const char *spec,
                                              const jd_leaf *out)
{
    struct host_local h = { .operation = TO_LOCAL };
    jd_status status = jd__array_check(array, TO_LOCAL);
    if (status == JD_OK)
        status = prepare_sharding(&h, mesh, spec);
    if (status == JD_OK)
        status = check_global(&h, array);
    if (status == JD_OK)
        status = check_out(&h, array, out);
    if (status == JD_OK)
        status = copy_blocks(&h, array, out->data, false);
    jd_sharding_release(h.sharding);
    return status;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* arrays.c - the arrays of jd_array.h for Fortran. */
#include "fortran/leaf.h"
#include "fortran/sharding.h"

#include <stdlib.h>

/* ---- making them -------------------------------------------------------- */

/* What an array is made of that no value says. */
static jd_status take_shape(const struct jdf_call *call,
                            const struct jdf_sharding *sharding,
                            const CFI_cdesc_t *shape,
                            struct jdf_shape *ret_shape)
{
    jd_status status = jdf_shape_take(call, "shape", shape, ret_shape);
    return status == JD_OK ? jdf_sharding_check(call, sharding, ret_shape->ndim)
                           : status;
}

JD_API void jdf_array_zeros(jd_array **ret_array,
                            const struct jdf_sharding *sharding,
                            const CFI_cdesc_t *shape, const int *dtype,
                            JDF_OUTCOME)
{
    JDF_CALL("jd_array_zeros");
    struct jdf_shape whole;
    jd_status status = take_shape(&call, sharding, shape, &whole);
    if (status == JD_OK)
        status = jd_array_zeros(ret_array, sharding->c, (jd_dtype)*dtype,
                                whole.ndim, whole.lengths);
    jdf_end(&call, status);
}

/* The module's procedure that runs the program's. */
typedef void (*run_f)(void *context, int ndim, const int64_t *first,
                      const int64_t *last, void *block, int *stat);

struct filling {
    run_f run;
    void *context;
    int ndim;
};

static jd_status fill_block(const jd_range *index, void *block, void *arg)
{
    struct filling *filling = arg;
    int64_t first[JD_MAX_NDIM], last[JD_MAX_NDIM];
    int status = JD_OK;
    jdf_ranges_turn(filling->ndim, index, first, last);
    filling->run(filling->context, filling->ndim, first, last, block, &status);
    return (jd_status)status;
}

JD_API void jdf_array_from_callback(jd_array **ret_array,
                                    const struct jdf_sharding *sharding,
                                    const CFI_cdesc_t *shape, const int *dtype,
                                    run_f run, void *context, int *stat)
{
    JDF_CALL_WITHIN("jd_array_from_callback");
    struct jdf_shape whole = { .ndim = 0 };
    jd_status status = take_shape(&call, sharding, shape, &whole);
    struct filling filling = { run, context, whole.ndim };
    if (status == JD_OK)
        status = jd_array_from_callback(ret_array, sharding->c,
                                        (jd_dtype)*dtype, whole.ndim,
                                        whole.lengths, fill_block, &filling);
    jdf_end(&call, status);
}

JD_API void jdf_array_from_local(jd_array **ret_array,
                                 const struct jdf_sharding *sharding,
                                 const CFI_cdesc_t *local,
                                 const CFI_cdesc_t *global_shape,
                                 const int *dtype, JDF_OUTCOME)
{
    JDF_CALL("jd_array_from_process_local_data");
    struct jdf_shape whole = { .ndim = 0 };
    struct jdf_leaf leaf;
    jd_status status = jdf_leaf_take(&call, "local", local, dtype, &leaf);
    if (status == JD_OK)
        status = jdf_sharding_check(&call, sharding, leaf.leaf.ndim);
    if (status == JD_OK && global_shape)
        status = jdf_shape_take(&call, "global_shape", global_shape, &whole);
    if (status == JD_OK && global_shape && whole.ndim != leaf.leaf.ndim)
        status = jd_fail_with(JD_INVALID_ARGUMENT,
                              "%s: global_shape has %d lengths, and local %d "
                              "dimensions; give each one",
                              call.name, whole.ndim, leaf.leaf.ndim);
    if (status == JD_OK)
        status = jd_array_from_process_local_data(
            ret_array, sharding->c, &leaf.leaf,
            global_shape ? whole.lengths : NULL);
    jdf_leaf_drop(&leaf);
    jdf_end(&call, status);
}

JD_API void jdf_array_from_shards(jd_array **ret_array,
                                  const struct jdf_sharding *sharding,
                                  const CFI_cdesc_t *shape, const int *dtype,
                                  const CFI_cdesc_t *buffers, JDF_OUTCOME)
{
    JDF_CALL("jd_array_from_shards");
    struct jdf_shape whole;
    jd_status status = take_shape(&call, sharding, shape, &whole);
    if (status == JD_OK)
        status = jd_array_from_shards(
            ret_array, sharding->c, (jd_dtype)*dtype, whole.ndim, whole.lengths,
            jdf_first(buffers), (int)jdf_count(buffers));
    jdf_end(&call, status);
}

/* The value, or its shape and type alone. */
static jd_status take_one(const struct jdf_call *call, const CFI_cdesc_t *value,
                          const CFI_cdesc_t *shape, const int *dtype,
                          struct jdf_leaf *ret_leaf)
{
    struct jdf_shape whole;
    *ret_leaf = (struct jdf_leaf){ .buffer.packed = NULL };
    if (value)
        return jdf_leaf_take(call, "value", value, dtype, ret_leaf);
    if (!shape || !dtype)
        return jd_fail_with(JD_INVALID_ARGUMENT,
                            "%s: a process that is not the source gives shape "
                            "and dtype",
                            call->name);
    jd_status status = jdf_shape_take(call, "shape", shape, &whole);
    if (status != JD_OK)
        return status;
    for (int d = 0; d < whole.ndim; d++)
        ret_leaf->shape[d] = whole.lengths[d];
    ret_leaf->leaf =
        (jd_leaf){ NULL, (jd_dtype)*dtype, whole.ndim, ret_leaf->shape };
    return JD_OK;
}

JD_API void jdf_array_from_one(jd_array **ret_array,
                               const struct jdf_sharding *sharding,
                               const int *source, const CFI_cdesc_t *value,
                               const CFI_cdesc_t *shape, const int *dtype,
                               JDF_OUTCOME)
{
    JDF_CALL("jd_array_from_one");
    struct jdf_leaf leaf;
    jd_status status = take_one(&call, value, shape, dtype, &leaf);
    if (status == JD_OK)
        status = jdf_sharding_check(&call, sharding, leaf.leaf.ndim);
    if (status == JD_OK)
        status = jd_array_from_one(ret_array, sharding->c, &leaf.leaf, *source);
    jdf_leaf_drop(&leaf);
    jdf_end(&call, status);
}

JD_API void jdf_device_put(jd_array **ret_array, const CFI_cdesc_t *value,
                           const struct jdf_sharding *sharding,
                           const int *dtype, JDF_OUTCOME)
{
    JDF_CALL("jd_device_put");
    struct jdf_leaf leaf;
    jd_status status = jdf_leaf_take(&call, "value", value, dtype, &leaf);
    if (status == JD_OK)
        status = jdf_sharding_check(&call, sharding, leaf.leaf.ndim);
    if (status == JD_OK)
        status = jd_device_put(ret_array, &leaf.leaf, sharding->c);
    jdf_leaf_drop(&leaf);
    jdf_end(&call, status);
}

JD_API void jdf_array_retain(jd_array *const *array)
{
    jd_array_retain(*array);
}

JD_API void jdf_array_release(jd_array **array)
{
    jd_array_release(*array);
    *array = NULL;
}

/* ---- what they are ------------------------------------------------------ */

JD_API int jdf_array_dtype(jd_array *const *array)
{
    return (int)jd_array_dtype(*array);
}

JD_API int jdf_array_ndim(jd_array *const *array)
{
    return jd_array_ndim(*array);
}

/* Of dimension i of Fortran's, from 1. */
JD_API int64_t jdf_array_length(jd_array *const *array, const int *i)
{
    return jd_array_shape(*array)[jd_array_ndim(*array) - *i];
}

JD_API void jdf_array_sharding(jd_array *const *array,
                               struct jdf_sharding *ret_sharding)
{
    ret_sharding->c = (jd_sharding *)jd_array_sharding(*array);
    ret_sharding->ndim = jd_array_ndim(*array);
}

JD_API int jdf_array_num_shards(jd_array *const *array)
{
    int count = 0;
    jd_array_shards(*array, &count);
    return count < 0 ? 0 : count;
}

/* Shard number i, from 0. */
JD_API const jd_device *jdf_array_shard(jd_array *const *array, const int *i,
                                        const CFI_cdesc_t *first,
                                        const CFI_cdesc_t *last,
                                        int *ret_replica_id, void **ret_data)
{
    int count;
    const jd_array_shard *shard = &jd_array_shards(*array, &count)[*i];
    jdf_ranges_turn(jd_array_ndim(*array), shard->index, jdf_first(first),
                    jdf_first(last));
    *ret_replica_id = shard->replica_id;
    *ret_data = shard->data;
    return shard->device;
}

/* ---- moving them -------------------------------------------------------- */

JD_API void jdf_array_reshard(jd_array **ret_array, jd_array *const *array,
                              const struct jdf_sharding *sharding, JDF_OUTCOME)
{
    JDF_CALL("jd_array_reshard");
    jd_status status =
        jdf_sharding_check(&call, sharding, jd_array_ndim(*array));
    if (status == JD_OK)
        status = jd_array_reshard(ret_array, *array, sharding->c);
    jdf_end(&call, status);
}

JD_API void jdf_array_reshard_donate(jd_array **array,
                                     const struct jdf_sharding *sharding,
                                     JDF_OUTCOME)
{
    JDF_CALL("jd_array_reshard_donate");
    jd_status status =
        jdf_sharding_check(&call, sharding, jd_array_ndim(*array));
    if (status == JD_OK)
        status = jd_array_reshard_donate(array, sharding->c);
    jdf_end(&call, status);
}

/* ---- between arrays and processes' values ------------------------------- */

typedef jd_status (*gather_f)(const jd_array *array, const jd_leaf *out);

static void gather(const struct jdf_call *call, gather_f make,
                   const jd_array *array, const CFI_cdesc_t *out,
                   const int *dtype)
{
    struct jdf_leaf leaf;
    jd_status status = jdf_leaf_take(call, "out", out, dtype, &leaf);
    if (status == JD_OK)
        status = make(array, &leaf.leaf);
    jdf_leaf_end(&leaf, status);
    jdf_end(call, status);
}

JD_API void jdf_array_to_host(jd_array *const *array, const CFI_cdesc_t *out,
                              const int *dtype, JDF_OUTCOME)
{
    JDF_CALL("jd_array_to_host");
    gather(&call, jd_array_to_host, *array, out, dtype);
}

JD_API void jdf_process_allgather_array(jd_array *const *array,
                                        const CFI_cdesc_t *out,
                                        const int *dtype, JDF_OUTCOME)
{
    JDF_CALL("jd_process_allgather_array");
    gather(&call, jd_process_allgather_array, *array, out, dtype);
}

JD_API void jdf_process_gather_array(jd_array *const *array, const int *root,
                                     const CFI_cdesc_t *out, const int *dtype,
                                     JDF_OUTCOME)
{
    JDF_CALL("jd_process_gather_array");
    struct jdf_leaf leaf = { .buffer.packed = NULL };
    jd_status status =
        out ? jdf_leaf_take(&call, "out", out, dtype, &leaf) : JD_OK;
    if (status == JD_OK)
        status =
            jd_process_gather_array(*array, out ? &leaf.leaf : NULL, *root);
    if (out)
        jdf_leaf_end(&leaf, status);
    jdf_end(&call, status);
}

JD_API void jdf_assert_replicas_equal(jd_array *const *array,
                                      const CFI_cdesc_t *what,
                                      const bool *bitwise,
                                      const bool *nan_differs,
                                      const double *absolute,
                                      const double *relative, JDF_OUTCOME)
{
    JDF_CALL("jd_array_assert_replicas_equal");
    jd_equality equality = {
        .bitwise = bitwise && *bitwise,
        .nan_differs = nan_differs && *nan_differs,
        .absolute = absolute ? *absolute : 0,
        .relative = relative ? *relative : 0,
    };
    struct jdf_text text;
    jd_status status = jdf_text_take(&call, what, &text);
    if (status == JD_OK)
        status = jd_array_assert_replicas_equal(*array, text.text, &equality,
                                                sizeof equality);
    jdf_text_drop(&text);
    jdf_end(&call, status);
}

JD_API void jdf_local_to_global(jd_array **ret_array, const CFI_cdesc_t *local,
                                jd_mesh *const *mesh, const CFI_cdesc_t *spec,
                                const int *dtype, JDF_OUTCOME)
{
    JDF_CALL("jd_host_local_array_to_global_array");
    struct jdf_leaf leaf;
    char *turned = NULL;
    int ndim;
    jd_status status = jdf_leaf_take(&call, "local", local, dtype, &leaf);
    if (status == JD_OK)
        status = jdf_spec_turn(&call, spec, leaf.leaf.ndim, &turned, &ndim);
    if (status == JD_OK)
        status = jd_host_local_array_to_global_array(ret_array, &leaf.leaf,
                                                     *mesh, turned);
    free(turned);
    jdf_leaf_drop(&leaf);
    jdf_end(&call, status);
}

JD_API void jdf_global_to_local(jd_array *const *array, jd_mesh *const *mesh,
                                const CFI_cdesc_t *spec, const CFI_cdesc_t *out,
                                const int *dtype, JDF_OUTCOME)
{
    JDF_CALL("jd_global_array_to_host_local_array");
    struct jdf_leaf leaf;
    char *turned = NULL;
    int ndim;
    jd_status status = jdf_leaf_take(&call, "out", out, dtype, &leaf);
    if (status == JD_OK)
        status = jdf_spec_turn(&call, spec, leaf.leaf.ndim, &turned, &ndim);
    if (status == JD_OK)
        status = jd_global_array_to_host_local_array(*array, *mesh, turned,
                                                     &leaf.leaf);
    free(turned);
    jdf_leaf_end(&leaf, status);
    jdf_end(&call, status);
}

/* ---- pictures ----------------------------------------------------------- */

static jd_status draw_array(const struct jdf_call *call,
                            jdf_sharding_drawer drawer, jd_array *const *array,
                            CFI_cdesc_t *ret_picture)
{
    struct jdf_sharding sharding;
    jdf_array_sharding(array, &sharding);
    return jdf_sharding_draw(call, drawer, &sharding, jd_array_ndim(*array),
                             jd_array_shape(*array), ret_picture);
}

JD_API void jdf_visualize_array(jd_array *const *array,
                                CFI_cdesc_t *ret_picture, int *stat)
{
    JDF_CALL_WITHIN("jd_visualize_array_sharding");
    jdf_end(&call,
            draw_array(&call, jd_visualize_sharding, array, ret_picture));
}

JD_API void jdf_visualize_array_svg(jd_array *const *array,
                                    CFI_cdesc_t *ret_picture, int *stat)
{
    JDF_CALL_WITHIN("jd_visualize_array_sharding_svg");
    jdf_end(&call,
            draw_array(&call, jd_visualize_sharding_svg, array, ret_picture));
}

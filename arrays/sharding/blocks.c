/* SPDX-License-Identifier: BSD-3-Clause */
/* blocks.c - the blocks that a sharding cuts an array of some shape into. */
#include "arrays/sharding/sharding.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what shapes are allowed -------------------------------------------- */

void jd__sharding_shape_print(int ndim, const int64_t *shape, char *text,
                              size_t size)
{
    size_t used = 0;
    for (int d = 0; d < ndim && used < size; d++)
        used += (size_t)snprintf(text + used, size - used, "%s%lld",
                                 d ? "," : "[", (long long)shape[d]);
    if (used < size)
        snprintf(text + used, size - used, "%s", ndim > 0 ? "]" : "[]");
}

static jd_status check_sizes(const char *operation, int ndim,
                             const int64_t *shape)
{
    char text[JD_SHAPE_TEXT];
    int64_t count = 1;
    jd__sharding_shape_print(ndim, shape, text, sizeof text);
    for (int d = 0; d < ndim; d++) {
        if (shape[d] < 0)
            return jd_fail(JD_INVALID_ARGUMENT,
                           "%s: dimension %d of the shape %s is negative; "
                           "lengths are 0 or more",
                           operation, d, text);
        if (shape[d] > 0 && count > INT64_MAX / shape[d])
            return jd_fail(JD_INVALID_ARGUMENT,
                           "%s: the lengths of the shape %s that are not 0 "
                           "multiply to more than %lld elements; make it "
                           "smaller",
                           operation, text, (long long)INT64_MAX);
        count *= shape[d] > 0 ? shape[d] : 1;
    }
    return JD_OK;
}

/* "\"data\" 2 x \"model\" 3", malloc'ed; NULL where there is no memory. */
static char *print_axes(const jd_sharding *sharding, const struct jd_axes *axes)
{
    struct jd_text text;
    FILE *out = jd__text_begin(&text);
    for (int i = 0; out && i < axes->count; i++)
        fprintf(out, "%s\"%s\" %d", i ? " x " : "",
                sharding->axis_names[axes->axis[i]],
                sharding->axis_sizes[axes->axis[i]]);
    return jd__text_end(&text);
}

static jd_status fail_uneven(const jd_sharding *sharding, const char *operation,
                             int dimension, const char *shape)
{
    const struct jd_cut *cut = &sharding->cuts[dimension];
    char *axes = print_axes(sharding, &cut->axes);
    jd_status status =
        jd_fail(JD_INVALID_ARGUMENT,
                "%s: dimension %d of the shape %s does not divide into the %d "
                "blocks that the spec \"%s\" cuts it into (axes %s); make it a "
                "multiple of %d, or the sharding with jd_sharding_create(), "
                "which takes a shorter last block",
                operation, dimension, shape, cut->ways, sharding->spec,
                axes ? axes : "", cut->ways);
    free(axes);
    return status;
}

static jd_status check_even(const jd_sharding *sharding, const char *operation,
                            int ndim, const int64_t *shape)
{
    char text[JD_SHAPE_TEXT];
    for (int d = 0; d < sharding->num_cuts; d++) {
        if (shape[d] % sharding->cuts[d].ways == 0)
            continue;
        jd__sharding_shape_print(ndim, shape, text, sizeof text);
        return fail_uneven(sharding, operation, d, text);
    }
    return JD_OK;
}

static jd_status check_ndim(const jd_sharding *sharding, const char *operation,
                            int ndim, const int64_t *shape)
{
    char text[JD_SHAPE_TEXT];
    if (ndim < 0 || ndim > JD_MAX_NDIM)
        return jd_fail(JD_INVALID_ARGUMENT,
                       "%s: ndim is %d; an array has 0 to %d dimensions",
                       operation, ndim, JD_MAX_NDIM);
    if (ndim > 0 && !shape)
        return jd_fail(JD_INVALID_ARGUMENT, "%s: shape is NULL", operation);
    if (sharding->num_entries <= ndim)
        return JD_OK;
    jd__sharding_shape_print(ndim, shape, text, sizeof text);
    return jd_fail(JD_INVALID_ARGUMENT,
                   "%s: the spec \"%s\" has %d entries, and the shape %s has "
                   "%d dimension%s; leave out the last entries, or use a "
                   "sharding of its own for such arrays",
                   operation, sharding->written, sharding->num_entries, text,
                   ndim, jd__text_s(ndim));
}

jd_status jd__sharding_check_shape(const jd_sharding *sharding,
                                   const char *operation, int ndim,
                                   const int64_t *shape)
{
    jd_status status = check_ndim(sharding, operation, ndim, shape);
    if (status == JD_OK)
        status = check_sizes(operation, ndim, shape);
    if (status == JD_OK && sharding->is_even)
        status = check_even(sharding, operation, ndim, shape);
    return status;
}

/* ---- blocks ------------------------------------------------------------- */

static int64_t longest_block(int64_t length, int ways)
{
    return length / ways + (length % ways != 0);
}

/* Unsigned: the last blocks may lie past the greatest int64_t. */
jd_range jd__sharding_cut_range(int64_t length, int ways, int number)
{
    uint64_t all = (uint64_t)length,
             size = (uint64_t)longest_block(length, ways);
    uint64_t begin = (uint64_t)number * size, end = begin + size;
    return (jd_range){ (int64_t)(begin < all ? begin : all),
                       (int64_t)(end < all ? end : all) };
}

void jd__sharding_block(const jd_sharding *sharding, int block, int ndim,
                        const int64_t *shape, jd_range *ret_index)
{
    for (int d = ndim - 1; d >= 0; d--) {
        int ways = sharding->cuts[d].ways;
        ret_index[d] = jd__sharding_cut_range(shape[d], ways, block % ways);
        block /= ways;
    }
}

/* ---- for users ---------------------------------------------------------- */

static jd_status check_arguments(const jd_sharding *sharding,
                                 const char *operation, int ndim,
                                 const int64_t *shape)
{
    jd_status status = jd__sharding_check_world(sharding, operation);
    if (status != JD_OK)
        return status;
    return jd__sharding_check_shape(sharding, operation, ndim, shape);
}

jd_status jd_sharding_index(const jd_sharding *sharding, int ndim,
                            const int64_t *shape, const jd_device *device,
                            jd_range *ret_index, int *ret_replica_id)
{
    jd_status status =
        check_arguments(sharding, "jd_sharding_index", ndim, shape);
    if (status != JD_OK)
        return status;
    int place = jd__sharding_place(sharding, device);
    if (place < 0)
        return jd_fail(JD_INVALID_ARGUMENT,
                       "jd_sharding_index: device is %s; give one of the %d "
                       "that the sharding's mesh was made of",
                       device ? "none of the mesh's" : "NULL",
                       sharding->num_devices);
    if (ret_index)
        jd__sharding_block(sharding, sharding->blocks[place], ndim, shape,
                           ret_index);
    if (ret_replica_id)
        *ret_replica_id = sharding->replica_ids[place];
    return JD_OK;
}

jd_status jd_sharding_shard_shape(const jd_sharding *sharding, int ndim,
                                  const int64_t *shape, int64_t *ret_shape)
{
    jd_status status =
        check_arguments(sharding, "jd_sharding_shard_shape", ndim, shape);
    if (status != JD_OK)
        return status;
    if (ndim > 0 && !ret_shape)
        return jd_fail(JD_INVALID_ARGUMENT,
                       "jd_sharding_shard_shape: ret_shape is NULL");
    for (int d = 0; d < ndim; d++)
        ret_shape[d] = longest_block(shape[d], sharding->cuts[d].ways);
    return JD_OK;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* leaf.c - an array of Fortran as a leaf. */
#include "fortran/leaf.h"

#include <string.h>

jd_status jdf_leaf_take(const struct jdf_call *call, const char *name,
                        const CFI_cdesc_t *array, const int *dtype,
                        struct jdf_leaf *ret_leaf)
{
    struct jdf_buffer *buffer = &ret_leaf->buffer;
    jd_status status =
        jdf_buffer_take(call, name, array, dtype, JDF_MOVED, buffer);
    int rank = array->rank;
    for (int i = 0; i < rank; i++)
        ret_leaf->shape[i] = array->dim[rank - 1 - i].extent;
    if (status == JD_OK && array->elem_len > jd_dtype_size(buffer->dtype))
        ret_leaf->shape[rank++] = (int64_t)array->elem_len;
    ret_leaf->leaf =
        (jd_leaf){ buffer->data, buffer->dtype, rank, ret_leaf->shape };
    return status;
}

void jdf_leaf_drop(struct jdf_leaf *leaf)
{
    jdf_buffer_drop(&leaf->buffer);
}

void jdf_leaf_end(struct jdf_leaf *leaf, jd_status status)
{
    if (status == JD_OK)
        jdf_buffer_write(&leaf->buffer);
    jdf_leaf_drop(leaf);
}

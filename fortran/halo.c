/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * halo.c - jd_halo.h for Fortran, and jd_halo_start(): sizes come from the
 * block's shape, and C has the dimensions the other way round.
 */
#include "fortran/buffer.h"

#include <stdint.h>
#include <string.h>

#define JDF_BLOCK                                                              \
    jd_shard *const *shard, const CFI_cdesc_t *block, const CFI_cdesc_t *dims

/* type(jd_halo_dim). */
struct jdf_halo_dim {
    int64_t before;
    int64_t after;
    bool periodic;
    char axis[512]; /* ends in a null where it had room; none: empty */
};

/* The arguments in C's form; the axes are the program's. */
struct halo {
    struct jdf_buffer block;
    jd_halo_dim dims[CFI_MAX_RANK + 1];
    int ndim;
};

static jd_status check_dims(const struct jdf_call *call,
                            const CFI_cdesc_t *block, const CFI_cdesc_t *list)
{
    const struct jdf_halo_dim *dims = jdf_first(list);
    size_t n = jdf_count(list);
    if (n != (size_t)block->rank)
        return jd_fail_with(JD_INVALID_ARGUMENT,
                            "%s: dims has %zu entries, and block %d "
                            "dimensions; give each of them one, jd_halo_dim() "
                            "for one without a halo",
                            call->name, n, (int)block->rank);
    for (size_t i = 0; i < n; i++)
        if (!memchr(dims[i].axis, '\0', sizeof dims[i].axis))
            return jd_fail_with(JD_INVALID_ARGUMENT,
                                "%s: the axis of dims(%zu) has more than %zu "
                                "characters; give the mesh's axes shorter "
                                "names",
                                call->name, i + 1, sizeof dims[i].axis - 1);
    return JD_OK;
}

/* Of texts their length is a dimension too, the last one of C. */
static void reverse_dims(const struct jdf_halo_dim *dims, struct halo *halo)
{
    const CFI_cdesc_t *array = halo->block.array;
    int rank = array->rank;
    for (int i = 0; i < rank; i++)
        halo->dims[rank - 1 - i] =
            (jd_halo_dim){ array->dim[i].extent, dims[i].before, dims[i].after,
                           *dims[i].axis ? dims[i].axis : NULL,
                           dims[i].periodic };
    halo->ndim = rank;
    if (array->elem_len > jd_dtype_size(halo->block.dtype))
        halo->dims[halo->ndim++] =
            (jd_halo_dim){ .size = (int64_t)array->elem_len };
}

static jd_status take_halo(const struct jdf_call *call,
                           const CFI_cdesc_t *block, const CFI_cdesc_t *dims,
                           const int *dtype, struct halo *ret_halo)
{
    ret_halo->block.packed = NULL;
    jd_status status = check_dims(call, block, dims);
    if (status == JD_OK)
        status = jdf_buffer_take(call, "block", block, dtype, JDF_MOVED,
                                 &ret_halo->block);
    if (status == JD_OK)
        reverse_dims(jdf_first(dims), ret_halo);
    return status;
}

JD_API void jdf_halo_exchange(JDF_BLOCK, const bool *corners, const int *dtype,
                              JDF_OUTCOME)
{
    JDF_CALL("jd_halo_exchange");
    struct halo halo;
    jd_status status = take_halo(&call, block, dims, dtype, &halo);
    if (status == JD_OK)
        status = jd_halo_exchange(*shard, halo.block.data, halo.block.dtype,
                                  halo.ndim, halo.dims, jdf_is_true(corners));
    if (status == JD_OK)
        jdf_buffer_write(&halo.block);
    jdf_buffer_drop(&halo.block);
    jdf_end(&call, status);
}

JD_API void jdf_halo_start(JDF_BLOCK, jd_request **request, const bool *corners,
                           const int *dtype, JDF_OUTCOME)
{
    JDF_CALL("jd_halo_start");
    struct halo halo = { .block = { .packed = NULL } };
    jd_status status = jdf_check_held(&call, "block", block);
    if (status == JD_OK)
        status = take_halo(&call, block, dims, dtype, &halo);
    if (status == JD_OK)
        status =
            jd_halo_start(*shard, halo.block.data, halo.block.dtype, halo.ndim,
                          halo.dims, jdf_is_true(corners), request);
    jdf_buffer_drop(&halo.block);
    jdf_end(&call, status);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* halo_start.c - jd_halo_exchange() beside the program. */
#include "base/progress.h"
#include "collectives/mesh/started.h"
#include "arrays/array/array.h"
#include "jd_overlap.h"

#include <stdlib.h>
#include <string.h>

#define OPERATION "jd_halo_start"

struct halo_args {
    void *block;
    jd_dtype dtype;
    int ndim, corners;
    jd_halo_dim *dims; /* a copy, and their axes behind them; or NULL */
};

static jd_status run_halo(jd_shard *shard, const char *axes, void *args)
{
    const struct halo_args *a = args;
    (void)axes;
    return jd_halo_exchange(shard, a->block, a->dtype, a->ndim, a->dims,
                            a->corners);
}

static void drop_halo(void *args)
{
    free(((struct halo_args *)args)->dims);
}

static size_t axis_bytes(const jd_halo_dim *dim)
{
    return dim->axis ? strlen(dim->axis) + 1 : 0;
}

/* In one piece. */
static jd_halo_dim *copy_dims(int ndim, const jd_halo_dim *dims)
{
    size_t bytes = (size_t)ndim * sizeof *dims;
    for (int d = 0; d < ndim; d++)
        bytes += axis_bytes(&dims[d]);
    jd_halo_dim *copy = malloc(bytes);
    char *text = copy ? (char *)(copy + ndim) : NULL;
    for (int d = 0; copy && d < ndim; d++) {
        copy[d] = dims[d];
        if (dims[d].axis)
            copy[d].axis = memcpy(text, dims[d].axis, axis_bytes(&dims[d]));
        text += axis_bytes(&dims[d]);
    }
    return copy;
}

/* What cannot be copied the call itself refuses. */
static bool has_dims(int ndim, const jd_halo_dim *dims)
{
    return dims && ndim > 0 && ndim <= JD_MAX_NDIM;
}

jd_status jd_halo_start(jd_shard *shard, void *block, jd_dtype dtype, int ndim,
                        const jd_halo_dim *dims, int corners,
                        jd_request **ret_request)
{
    JD_NOTE_CALLER();
    struct halo_args args = { block, dtype, ndim, corners, NULL };
    if (has_dims(ndim, dims)) {
        args.dims = copy_dims(ndim, dims);
        if (!args.dims)
            return jd__fail_no_memory(OPERATION, (size_t)ndim * sizeof *dims);
    }
    const struct jd_started_call call = {
        .run = run_halo, .drop = drop_halo, .args = &args, .bytes = sizeof args
    };
    jd_status status = jd__started_begin(shard, OPERATION, &call, ret_request);
    if (status != JD_OK)
        free(args.dims);
    return status;
}

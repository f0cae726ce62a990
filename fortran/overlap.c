/* SPDX-License-Identifier: BSD-3-Clause */
/* overlap.c - the calls of jd_overlap.h for Fortran; groups are transfers.c's,
 * and halos halo.c's. */
#include "fortran/collective.h"

/* The last arguments of those that have arrays. */
#define JDF_STARTED jd_request **request, const int *dtype, JDF_OUTCOME

/* How in and out are counted: as many; a part of each member in one of them; a
 * part for each member in both. */
enum counted { ALIKE, SCATTERED, GATHERED, SHARED };

static jd_status find_count(const struct jdf_call *call,
                            const struct jdf_collective *it,
                            enum counted counted, size_t *ret_count)
{
    bool has_parts = counted == SCATTERED || counted == GATHERED;
    struct jdf_parts parts = jdf_parts_of(it, counted != SCATTERED);
    int times = has_parts ? jdf_collective_members(it) : 1;
    jd_status status = jdf_check_counts(call, parts.all, parts.part, times);
    if (status == JD_OK && counted == SHARED)
        return jdf_collective_share(call, it, ret_count);
    *ret_count = parts.part->count;
    return status;
}

static jd_status begin_started(const struct jdf_call *call, JDF_ALONG,
                               JDF_ARRAYS, const int *dtype, enum jdf_use use,
                               struct jdf_collective *ret_collective)
{
    *ret_collective = (struct jdf_collective){ .shard = *shard };
    jd_status status = jdf_check_held(call, "in", in);
    if (status == JD_OK && out)
        status = jdf_check_held(call, "out", out);
    return status == JD_OK ? jdf_collective_begin(call, shard, axes, in, out,
                                                  dtype, use, ret_collective)
                           : status;
}

typedef jd_status (*start_f)(jd_shard *shard, const char *axes, const void *in,
                             void *out, size_t count, jd_dtype dtype,
                             jd_request **ret_request);

static void start_call(const struct jdf_call *call, start_f start,
                       enum counted counted, JDF_ALONG, JDF_ARRAYS,
                       jd_request **request, const int *dtype)
{
    struct jdf_collective it;
    size_t count;
    bool moves = counted == GATHERED || counted == SHARED;
    jd_status status = begin_started(call, shard, axes, in, out, dtype,
                                     moves ? JDF_MOVED : JDF_REDUCED, &it);
    if (status == JD_OK)
        status = find_count(call, &it, counted, &count);
    if (status == JD_OK)
        status = start(it.shard, it.along.text, it.pair.in.data,
                       it.pair.out.data, count, it.pair.in.dtype, request);
    jdf_collective_end(call, &it, status);
}

#define STARTED(name, counted)                                                 \
    JD_API void jdf_##name(JDF_ALONG, JDF_ARRAYS, JDF_STARTED)                 \
    {                                                                          \
        JDF_CALL("jd_" #name);                                                 \
        start_call(&call, jd_##name, counted, shard, axes, in, out, request,   \
                   dtype);                                                     \
    }

STARTED(psum_start, ALIKE)
STARTED(pmean_start, ALIKE)
STARTED(pmax_start, ALIKE)
STARTED(pmin_start, ALIKE)
STARTED(pprod_start, ALIKE)
STARTED(pand_start, ALIKE)
STARTED(por_start, ALIKE)
STARTED(pxor_start, ALIKE)
STARTED(psum_scatter_start, SCATTERED)
STARTED(all_gather_start, GATHERED)
STARTED(all_to_all_start, SHARED)

JD_API void jdf_pbroadcast_start(JDF_ALONG, const int *source, JDF_ARRAYS,
                                 JDF_STARTED)
{
    JDF_CALL("jd_pbroadcast_start");
    struct jdf_collective it;
    size_t count;
    jd_status status =
        begin_started(&call, shard, axes, in, out, dtype, JDF_MOVED, &it);
    if (status == JD_OK)
        status = find_count(&call, &it, ALIKE, &count);
    if (status == JD_OK)
        status = jd_pbroadcast_start(it.shard, it.along.text, *source,
                                     it.pair.in.data, it.pair.out.data, count,
                                     it.pair.in.dtype, request);
    jdf_collective_end(&call, &it, status);
}

JD_API void jdf_barrier_start(JDF_ALONG, jd_request **request, JDF_OUTCOME)
{
    JDF_CALL("jd_barrier_start");
    struct jdf_text along;
    jd_status status = jdf_axes_take(&call, axes, &along);
    if (status == JD_OK)
        status = jd_barrier_start(*shard, along.text, request);
    jdf_text_drop(&along);
    jdf_end(&call, status);
}

JD_API void jdf_wait(jd_request **request, JDF_OUTCOME)
{
    JDF_CALL("jd_wait");
    jdf_end(&call, jd_wait(request));
}

JD_API void jdf_test(jd_request **request, bool *ret_is_done, JDF_OUTCOME)
{
    JDF_CALL("jd_test");
    int is_done = 0;
    jd_status status = jd_test(request, &is_done);
    *ret_is_done = is_done != 0;
    jdf_end(&call, status);
}

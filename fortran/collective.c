/* SPDX-License-Identifier: BSD-3-Clause */
/* collective.c - the arguments of a collective over arrays, in C's form. */
#include "fortran/collective.h"

jd_status jdf_collective_begin(const struct jdf_call *call, JDF_ALONG,
                               JDF_ARRAYS, const int *dtype, enum jdf_use use,
                               struct jdf_collective *ret_collective)
{
    *ret_collective = (struct jdf_collective){ .shard = *shard };
    jd_status status = jdf_axes_take(call, axes, &ret_collective->along);
    if (status == JD_OK)
        status =
            jdf_pair_take(call, in, out, dtype, use, &ret_collective->pair);
    return status;
}

void jdf_collective_end(const struct jdf_call *call,
                        struct jdf_collective *collective, jd_status status)
{
    jdf_pair_end(&collective->pair, status);
    jdf_text_drop(&collective->along);
    jdf_end(call, status);
}

int jdf_collective_members(const struct jdf_collective *collective)
{
    return jd_axis_size(collective->shard, collective->along.text);
}

struct jdf_parts jdf_parts_of(const struct jdf_collective *collective,
                              bool gathers)
{
    const struct jdf_buffer *in = &collective->pair.in;
    const struct jdf_buffer *out = &collective->pair.out;
    return gathers ? (struct jdf_parts){ out, in }
                   : (struct jdf_parts){ in, out };
}

enum jdf_use jdf_use_of_parts(bool gathers)
{
    return gathers ? JDF_MOVED : JDF_REDUCED;
}

jd_status jdf_collective_share(const struct jdf_call *call,
                               const struct jdf_collective *collective,
                               size_t *ret_count)
{
    int members = jdf_collective_members(collective);
    size_t all = collective->pair.in.count;
    if (members < 0)
        return JD_INVALID_ARGUMENT; /* which has said why */
    *ret_count = all / (size_t)members;
    if (*ret_count * (size_t)members == all)
        return JD_OK;
    return jd_fail_with(
        JD_INVALID_ARGUMENT,
        "%s: in has %zu elements, which %d members cannot share "
        "evenly; pass as many for each of them",
        call->name, all, members);
}

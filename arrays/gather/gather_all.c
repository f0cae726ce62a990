/* SPDX-License-Identifier: BSD-3-Clause */
/* gather_all.c - every process gets the whole array. */
#include "arrays/gather/gather.h"
#include "collectives/multihost/leaves.h"
#include "jd_collectives.h"

static jd_status gather_at_once(const struct jd_gather *g)
{
    struct jd_cursor cursor = { 0 };
    struct jd_block_range range;
    size_t rows = jd__gather_rows(g->array, jd__gather_first_cut(g->array));
    jd__owners_next(&g->owners, g->array, g->index, &cursor, SIZE_MAX, &range);
    const char *in = jd__gather_own_range(g, &range);
    if (rows == 1)
        return jd_all_gather(g->me, NULL, in, g->out->data, range.count,
                             g->array->dtype);
    return jd_all_gather_2d(g->me, NULL, in, g->out->data, rows,
                            range.count / rows, g->array->dtype);
}

static jd_status gather_joined(const struct jd_gather *g)
{
    size_t count = jd__leaf_elements(g->out) / (size_t)g->size;
    size_t begin = (size_t)g->index * count * g->array->element;
    jd_status status = jd__gather_copy_own(g);
    if (status != JD_OK)
        return status;
    return jd_all_gather(g->me, NULL, (char *)g->out->data + begin,
                         g->out->data, count, g->array->dtype);
}

static jd_status gather_chunks(const struct jd_gather *g)
{
    jd_status status = JD_OK;
    for (size_t done = 0; done < g->load && status == JD_OK; done += g->chunk) {
        size_t left = g->load - done;
        size_t count = left < g->chunk ? left : g->chunk;
        size_t stride = count * g->array->element;
        const void *own;
        status = jd__gather_pack(g, g->chunks + (size_t)g->index * stride,
                                 count, &own);
        if (status == JD_OK)
            status = jd_all_gather(g->me, NULL, own, g->chunks, count,
                                   g->array->dtype);
        if (status == JD_OK)
            status = jd_shard_synchronize(g->me);
        for (int m = 0; m < g->size && status == JD_OK; m++)
            status =
                jd__gather_unpack(g, m, g->chunks + (size_t)m * stride, count);
    }
    return status;
}

jd_status jd__gather_to_all(const struct jd_gather *g)
{
    switch (g->way) {
    case JD_GATHER_AT_ONCE:
        return gather_at_once(g);
    case JD_GATHER_JOINED:
        return gather_joined(g);
    case JD_GATHER_RAGGED:
        return jd__gather_parts(g);
    case JD_GATHER_CHUNKS:
        return gather_chunks(g);
    default:
        return jd__gather_copy_own(g);
    }
}

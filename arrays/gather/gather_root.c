/* SPDX-License-Identifier: BSD-3-Clause */
/* gather_root.c - one process gets the whole array. */
#include "arrays/gather/gather.h"
#include "jd_collectives.h"

/* ---- by messages -------------------------------------------------------- */

static jd_status receive_ranges(const struct jd_gather *g, int member)
{
    const jd_array *a = g->array;
    struct jd_cursor cursor = { 0 };
    struct jd_block_range range;
    jd_status status = JD_OK;
    while (status == JD_OK &&
           jd__owners_next(&g->owners, a, member, &cursor, SIZE_MAX, &range)) {
        size_t offset = jd__gather_offset(a, &range);
        status = jd_recv(g->me, NULL, member,
                         (char *)g->out->data + offset * a->element,
                         range.count, a->dtype);
    }
    return status;
}

static jd_status send_ranges(const struct jd_gather *g)
{
    struct jd_cursor cursor = { 0 };
    struct jd_block_range range;
    jd_status status = JD_OK;
    while (status == JD_OK && jd__owners_next(&g->owners, g->array, g->index,
                                              &cursor, SIZE_MAX, &range))
        status = jd_send(g->me, NULL, g->root, jd__gather_own_range(g, &range),
                         range.count, g->array->dtype);
    return status;
}

static jd_status receive_all_ranges(const struct jd_gather *g)
{
    jd_status status = jd_group_begin(g->me);
    if (status != JD_OK)
        return status;
    for (int m = 0; m < g->owners.num_members && status == JD_OK; m++)
        status = receive_ranges(g, m);
    jd_status end = jd_group_end(g->me);
    return status == JD_OK ? end : status;
}

/* Those who send nothing have to be there the first time. */
static jd_status transfer_ranges(const struct jd_gather *g)
{
    jd_status status = jd_barrier(g->me, NULL);
    if (status != JD_OK)
        return status;
    return g->index == g->root ? receive_all_ranges(g) : send_ranges(g);
}

/* ---- a chunk of each at a time ------------------------------------------ */

static jd_status receive_chunks(const struct jd_gather *g)
{
    size_t stride = g->chunk * g->array->element;
    int members = g->owners.num_members;
    for (int m = 0; m < members; m++)
        g->lists.received[m] = (int64_t)jd__gather_measure(g, m, g->chunk);
    jd_status status =
        jd__gather_exchange(g, NULL, 0, g->chunks, (size_t)members * g->chunk);
    if (status == JD_OK)
        status = jd_shard_synchronize(g->me);
    for (int m = 0; m < members && status == JD_OK; m++)
        status =
            jd__gather_unpack(g, m, g->chunks + (size_t)m * stride, g->chunk);
    return status;
}

static jd_status send_chunk(const struct jd_gather *g)
{
    size_t count = jd__gather_measure(g, g->index, g->chunk);
    const void *chunk;
    jd_status status = jd__gather_pack(g, g->chunks, count, &chunk);
    g->lists.sent[g->root] = (int64_t)count;
    g->lists.to[g->root] = (int64_t)((size_t)g->index * g->chunk);
    if (status == JD_OK)
        status = jd__gather_exchange(g, chunk, count, NULL, 0);
    if (status == JD_OK)
        status = jd_shard_synchronize(g->me); /* the slot is free again */
    jd__gather_pass(g, count);
    return status;
}

static jd_status exchange_chunks(const struct jd_gather *g)
{
    jd_status status = JD_OK;
    for (size_t done = 0; done < g->load && status == JD_OK; done += g->chunk)
        status = g->index == g->root ? receive_chunks(g) : send_chunk(g);
    return status;
}

/* ---- all of it ---------------------------------------------------------- */

jd_status jd__gather_to_root(const struct jd_gather *g)
{
    jd_status status = JD_OK;
    if (g->index == g->root)
        status = jd__gather_copy_own(g);
    if (status != JD_OK)
        return status;
    switch (g->way) {
    case JD_GATHER_RAGGED:
        return jd__gather_parts(g);
    case JD_GATHER_RANGES:
        return transfer_ranges(g);
    case JD_GATHER_CHUNKS:
        return exchange_chunks(g);
    default:
        return JD_OK;
    }
}

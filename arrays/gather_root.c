/* SPDX-License-Identifier: BSD-3-Clause */
/* gather_root.c - one process gets the whole array. */
#include "arrays/gather.h"
#include "jd_collectives.h"

static jd_status receive_spans(const struct jd_gather *g, int member)
{
    const jd_array *a = g->array;
    struct jd_cursor cursor = { 0 };
    struct jd_span_of_block span;
    jd_status status = JD_OK;
    while (status == JD_OK &&
           jd__holders_next(&g->holders, a, member, &cursor, SIZE_MAX, &span)) {
        size_t offset = jd__gather_offset(a, &span);
        status = jd_recv(g->me, NULL, member,
                         (char *)g->out->data + offset * a->element, span.count,
                         a->dtype);
    }
    return status;
}

static jd_status send_spans(const struct jd_gather *g)
{
    struct jd_cursor cursor = { 0 };
    struct jd_span_of_block span;
    jd_status status = JD_OK;
    while (status == JD_OK && jd__holders_next(&g->holders, g->array, g->index,
                                               &cursor, SIZE_MAX, &span))
        status = jd_send(g->me, NULL, g->root, jd__gather_span(g, &span),
                         span.count, g->array->dtype);
    return status;
}

/* The root notes what one member sends. */
static jd_status receive_chunk(const struct jd_gather *g, int member)
{
    size_t place = (size_t)member * g->chunk * g->array->element;
    size_t count = jd__gather_measure(g, member, g->chunk);
    if (count == 0)
        return JD_OK;
    return jd_recv(g->me, NULL, member, g->chunks + place, count,
                   g->array->dtype);
}

/* From all members together. */
static jd_status
receive_from_all(const struct jd_gather *g,
                 jd_status (*receive)(const struct jd_gather *g, int member))
{
    jd_status status = jd_group_begin(g->me);
    if (status != JD_OK)
        return status;
    for (int m = 0; m < g->holders.num_members && status == JD_OK; m++)
        status = receive(g, m);
    jd_status end = jd_group_end(g->me);
    return status == JD_OK ? end : status;
}

static jd_status receive_chunks(const struct jd_gather *g)
{
    jd_status status = JD_OK;
    for (size_t done = 0; done < g->load && status == JD_OK; done += g->chunk) {
        status = receive_from_all(g, receive_chunk);
        if (status == JD_OK)
            status = jd_shard_synchronize(g->me);
        for (int m = 0; m < g->holders.num_members && status == JD_OK; m++)
            status = jd__gather_unpack(
                g, m, g->chunks + (size_t)m * g->chunk * g->array->element,
                g->chunk);
    }
    return status;
}

static jd_status send_chunks(const struct jd_gather *g)
{
    for (size_t done = 0; done < g->load; done += g->chunk) {
        size_t count = jd__gather_measure(g, g->index, g->chunk);
        if (count == 0)
            return JD_OK;
        const void *chunk;
        jd_status status = jd__gather_pack(g, g->chunks, count, &chunk);
        if (status == JD_OK)
            status =
                jd_send(g->me, NULL, g->root, chunk, count, g->array->dtype);
        if (status == JD_OK)
            status = jd_shard_synchronize(g->me); /* the slot is free again */
        if (status != JD_OK)
            return status;
        jd__gather_pass(g, count);
    }
    return JD_OK;
}

jd_status jd__gather_to_root(const struct jd_gather *g)
{
    bool is_root = g->index == g->root;
    jd_status status = JD_OK;
    if (is_root)
        status = jd__gather_copy_own(g);
    /* Those who send nothing have to be there the first time. */
    if (g->way != JD_GATHER_NONE)
        status = jd_barrier(g->me, NULL);
    if (status != JD_OK)
        return status;
    if (g->way == JD_GATHER_SPANS)
        return is_root ? receive_from_all(g, receive_spans) : send_spans(g);
    if (g->way == JD_GATHER_CHUNKS)
        return is_root ? receive_chunks(g) : send_chunks(g);
    return JD_OK;
}

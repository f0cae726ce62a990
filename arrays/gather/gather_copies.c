/* SPDX-License-Identifier: BSD-3-Clause */
/* gather_copies.c - what a process copies in a gather: its own blocks, and what
 * is on the way. */
#include "arrays/array/share.h"
#include "arrays/gather/gather.h"
#include "jd_memory.h"

/* ---- copies ------------------------------------------------------------- */

/* The memory of one of this process's blocks. */
static const char *block_data(const jd_array *array, int block)
{
    const jd_sharding *s = array->sharding;
    for (int i = 0; i < s->num_local; i++)
        if (s->blocks[s->local[i]] == block)
            return array->shards[i].data;
    return NULL;
}

const char *jd__gather_own_range(const struct jd_gather *g,
                                 const struct jd_block_range *range)
{
    return block_data(g->array, range->block) +
           range->begin * g->array->element;
}

size_t jd__gather_offset(const jd_array *array,
                         const struct jd_block_range *range)
{
    size_t offset = 0;
    for (int d = 0; d < array->ndim; d++)
        offset =
            offset * (size_t)array->shape[d] + (size_t)range->index[d].begin;
    return offset + range->begin;
}

/* The ranges of the whole array. */
static struct jd_box box_of_out(const struct jd_gather *g, jd_range *ret_whole)
{
    for (int d = 0; d < g->array->ndim; d++)
        ret_whole[d] = (jd_range){ 0, g->array->shape[d] };
    return (struct jd_box){ g->out->data, ret_whole, g->array->ndim,
                            g->array->element };
}

/* Of this process's devices none before has the same block. */
static bool is_first(const jd_sharding *sharding, int number)
{
    int block = sharding->blocks[sharding->local[number]];
    for (int i = 0; i < number; i++)
        if (sharding->blocks[sharding->local[i]] == block)
            return false;
    return true;
}

jd_status jd__gather_copy_own(const struct jd_gather *g)
{
    jd_range whole[JD_MAX_NDIM];
    jd_status status = JD_OK;
    struct jd_box to = box_of_out(g, whole);
    for (int i = 0; i < g->array->num_shards && status == JD_OK; i++) {
        const jd_array_shard *shard = &g->array->shards[i];
        struct jd_box from = { shard->data, shard->index, to.ndim, to.element };
        if (shard->count && is_first(g->array->sharding, i))
            status = jd__box_copy(&to, &from, shard->index);
    }
    return status;
}

jd_status jd__gather_pack(const struct jd_gather *g, char *slot, size_t count,
                          const void **ret_chunk)
{
    struct jd_cursor cursor = g->cursors[g->index];
    struct jd_block_range range;
    size_t element = g->array->element;
    jd_status status = JD_OK;
    *ret_chunk = slot;
    for (size_t done = 0; done < count && status == JD_OK;
         done += range.count) {
        if (!jd__owners_next(&g->owners, g->array, g->index, &cursor,
                             count - done, &range))
            break;
        if (range.count == count) {
            *ret_chunk = jd__gather_own_range(g, &range);
            break;
        }
        status = jd_device_copy(slot + done * element,
                                jd__gather_own_range(g, &range),
                                range.count * element);
    }
    return status;
}

void jd__gather_pass(const struct jd_gather *g, size_t count)
{
    struct jd_block_range range;
    for (size_t done = 0; done < count; done += range.count)
        if (!jd__owners_next(&g->owners, g->array, g->index,
                             &g->cursors[g->index], count - done, &range))
            return;
}

jd_status jd__gather_unpack(const struct jd_gather *g, int member,
                            const char *slot, size_t count)
{
    jd_range whole[JD_MAX_NDIM];
    struct jd_box to = box_of_out(g, whole);
    struct jd_block_range range;
    jd_status status = JD_OK;
    for (size_t done = 0; done < count && status == JD_OK;
         done += range.count) {
        if (!jd__owners_next(&g->owners, g->array, member, &g->cursors[member],
                             count - done, &range))
            break;
        status = jd__share_unpack(&to, range.index, (int64_t)range.begin,
                                  (int64_t)(range.begin + range.count),
                                  slot + done * to.element, NULL);
    }
    return status;
}

size_t jd__gather_measure(const struct jd_gather *g, int member, size_t count)
{
    struct jd_cursor cursor = g->cursors[member];
    struct jd_block_range range;
    size_t done = 0;
    while (done < count && jd__owners_next(&g->owners, g->array, member,
                                           &cursor, count - done, &range))
        done += range.count;
    return done;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * replicas_values.c - the values of blocks whose digests differ, compared.
 * References send theirs block by block, all in the order of the blocks, so
 * that nobody waits for one who waits for it.
 */
#include "arrays/array/replicas.h"
#include "collectives/platform/device_memory.h"
#include "jd_collectives.h"

#include <string.h>

enum { CHUNK = 1 << 16 }; /* bytes on the way at a time */

/* How a block gets from its reference to others. */
struct sending {
    struct jd_replicas *replicas;
    int block;
    int source; /* the reference's process */
    int num_receivers;
};

bool jd__replica_is_suspect(const struct jd_replicas *r, int place)
{
    int reference = r->references[r->array->sharding->blocks[place]];
    return memcmp(&r->digests[place], &r->digests[reference],
                  sizeof *r->digests) != 0;
}

/* Elements of a block, the number of whose first is given, and what they should
 * be; both where the host can read them. */
static void compare_here(struct jd_replicas *r, int64_t place, size_t first,
                         const char *have, const char *wanted, size_t count)
{
    size_t element = r->array->element;
    if (r->found.exists && r->found.place <= place)
        return;
    for (size_t i = 0; i < count; i++) {
        if (jd__equality_holds(&r->rules, r->array->dtype, have + i * element,
                               wanted + i * element))
            continue;
        r->found.exists = 1;
        r->found.place = place;
        r->found.element = (int64_t)(first + i);
        memcpy(r->found.value, have + i * element, element);
        memcpy(r->found.wanted, wanted + i * element, element);
        return;
    }
}

jd_status jd__replica_compare(struct jd_replicas *r, int local, size_t first,
                              const void *wanted, size_t count)
{
    char buffers[2][CHUNK];
    size_t element = r->array->element, most = CHUNK / element;
    int64_t place = r->array->sharding->local[local];
    const char *block = r->array->shards[local].data;
    const void *have, *other;
    jd_status status = JD_OK;
    for (size_t done = 0; done < count && status == JD_OK; done += most) {
        size_t left = count - done, n = left < most ? left : most;
        status = jd__device_memory_view(block + (first + done) * element,
                                        n * element, buffers[0], &have);
        if (status == JD_OK)
            status =
                jd__device_memory_view((const char *)wanted + done * element,
                                       n * element, buffers[1], &other);
        if (status == JD_OK)
            compare_here(r, place, first + done, have, other, n);
    }
    return status;
}

/* This process's suspects among those that have the block. */
static jd_status compare_own(const struct sending *s, size_t first,
                             const void *wanted, size_t count)
{
    const jd_sharding *sharding = s->replicas->array->sharding;
    jd_status status = JD_OK;
    for (int i = 0; i < sharding->num_local && status == JD_OK; i++)
        if (sharding->blocks[sharding->local[i]] == s->block &&
            jd__replica_is_suspect(s->replicas, sharding->local[i]))
            status = jd__replica_compare(s->replicas, i, first, wanted, count);
    return status;
}

static int member_of(const struct jd_owners *owners, int process)
{
    int m = 0;
    while (owners->members[m].device->process_index != process)
        m++;
    return m;
}

/* Who the block goes to; there may be none. */
static void find_receivers(struct sending *s)
{
    const jd_sharding *sharding = s->replicas->array->sharding;
    int reference = s->replicas->references[s->block];
    s->source = sharding->devices[reference]->process_index;
    s->num_receivers = 0;
    memset(s->replicas->is_receiver, 0,
           (size_t)s->replicas->owners.num_members *
               sizeof *s->replicas->is_receiver);
    for (int place = 0; place < sharding->num_devices; place++) {
        int process = sharding->devices[place]->process_index;
        if (sharding->blocks[place] != s->block || process == s->source ||
            !jd__replica_is_suspect(s->replicas, place))
            continue;
        int member = member_of(&s->replicas->owners, process);
        s->num_receivers += !s->replicas->is_receiver[member];
        s->replicas->is_receiver[member] = true;
    }
}

/* The block's memory on this process's first device that has it. */
static const jd_array_shard *find_block(const jd_array *array, int block)
{
    const jd_sharding *s = array->sharding;
    int i = 0;
    while (s->blocks[s->local[i]] != block)
        i++;
    return &array->shards[i];
}

/* ---- between processes -------------------------------------------------- */

static jd_status send_chunk(const struct sending *s, const void *data,
                            size_t count)
{
    jd_dtype dtype = s->replicas->array->dtype;
    jd_status status = jd_group_begin(s->replicas->me);
    if (status != JD_OK)
        return status;
    for (int m = 0; m < s->replicas->owners.num_members && status == JD_OK; m++)
        if (s->replicas->is_receiver[m])
            status = jd_send(s->replicas->me, NULL, m, data, count, dtype);
    jd_status end = jd_group_end(s->replicas->me);
    status = status == JD_OK ? end : status;
    return status == JD_OK ? jd_shard_synchronize(s->replicas->me) : status;
}

static jd_status receive_chunk(const struct sending *s, size_t first,
                               size_t count)
{
    char chunk[CHUNK];
    int from = member_of(&s->replicas->owners, s->source);
    jd_status status = jd_recv(s->replicas->me, NULL, from, chunk, count,
                               s->replicas->array->dtype);
    return status == JD_OK ? compare_own(s, first, chunk, count) : status;
}

static jd_status compare_block(struct sending *s)
{
    const jd_array *array = s->replicas->array;
    size_t most = CHUNK / array->element;
    bool is_source = s->source == jd_process_index();
    bool is_receiver = s->replicas->is_receiver[s->replicas->owners.own];
    jd_status status = JD_OK;
    if (!is_source && !is_receiver)
        return JD_OK;
    const jd_array_shard *block = find_block(array, s->block);
    if (is_source)
        status = compare_own(s, 0, block->data, block->count);
    if (s->num_receivers == 0 || status != JD_OK)
        return status;
    for (size_t done = 0; done < block->count && status == JD_OK;
         done += most) {
        size_t left = block->count - done, count = left < most ? left : most;
        status = is_source
                     ? send_chunk(
                           s, (const char *)block->data + done * array->element,
                           count)
                     : receive_chunk(s, done, count);
    }
    return status;
}

jd_status jd__replicas_compare_values(struct jd_replicas *r)
{
    struct sending s = { .replicas = r };
    /* Those who send nothing have to be there the first time. */
    jd_status status = jd_barrier(r->me, NULL);
    for (; s.block < r->array->sharding->ways && status == JD_OK; s.block++) {
        find_receivers(&s);
        status = compare_block(&s);
    }
    return status;
}

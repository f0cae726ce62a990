/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * replicas.c - jd_array_assert_replicas_equal: processes give each other the
 * digests of their blocks, compare values where these differ, and tell each
 * other what they found.
 */
#include "arrays/array/replicas.h"
#include "collectives/platform/device_memory.h"
#include "arrays/array/array_agree.h"
#include "arrays/array/mesh_cache.h"
#include "base/progress.h"
#include "collectives/kernels/elements.h"
#include "collectives/multihost/leaves.h"

#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPERATION "jd_array_assert_replicas_equal"

/* ---- what a process works out by itself --------------------------------- */

static jd_status allocate_digests(struct jd_replicas *r)
{
    size_t places = (size_t)r->array->sharding->num_devices;
    size_t ways = (size_t)r->array->sharding->ways;
    r->digests = calloc(places, sizeof *r->digests);
    r->references = malloc(ways * sizeof *r->references);
    r->is_receiver = malloc(places * sizeof *r->is_receiver);
    if (r->digests && r->references && r->is_receiver)
        return JD_OK;
    return jd__fail_no_memory(OPERATION, places * sizeof *r->digests);
}

static jd_status find_mesh(struct jd_replicas *r)
{
    jd_mesh *mesh;
    size_t count = (size_t)r->owners.num_members;
    const jd_device **devices = malloc(count * sizeof *devices);
    if (!devices)
        return jd__fail_no_memory(OPERATION, count * sizeof *devices);
    for (size_t m = 0; m < count; m++)
        devices[m] = r->owners.members[m].device;
    jd_status status =
        jd__mesh_cache_get(OPERATION, devices, (int)count, &mesh);
    free(devices);
    if (status == JD_OK)
        r->me = jd_mesh_shard(mesh);
    return status;
}

static jd_status digest_block(const char *data, size_t bytes,
                              struct jd_block_digest *digest)
{
    char piece[1 << 16];
    crypto_generichash_state state;
    jd_status status = JD_OK;
    crypto_generichash_init(&state, NULL, 0, sizeof digest->bytes);
    for (size_t done = 0; done < bytes && status == JD_OK;
         done += sizeof piece) {
        size_t left = bytes - done;
        size_t n = left < sizeof piece ? left : sizeof piece;
        const void *bytes_here;
        status = jd__device_memory_view(data + done, n, piece, &bytes_here);
        if (status == JD_OK)
            crypto_generichash_update(&state, bytes_here, n);
    }
    crypto_generichash_final(&state, digest->bytes, sizeof digest->bytes);
    return status;
}

/* And the digests of its own blocks. */
static jd_status prepare_digests(struct jd_replicas *r)
{
    const jd_sharding *sharding = r->array->sharding;
    jd_status status = allocate_digests(r);
    if (status == JD_OK)
        status = jd__owners_find(OPERATION, sharding, &r->owners);
    if (status == JD_OK)
        status = find_mesh(r);
    if (status != JD_OK)
        return status;
    for (int place = sharding->num_devices - 1; place >= 0; place--)
        r->references[sharding->blocks[place]] = place;
    for (int i = 0; i < sharding->num_local; i++) {
        const jd_array_shard *shard = &r->array->shards[i];
        struct jd_block_digest *digest = &r->digests[sharding->local[i]];
        if (shard->count && status == JD_OK)
            status = digest_block(shard->data, shard->count * r->array->element,
                                  digest);
    }
    return status;
}

static void finish_replicas(struct jd_replicas *r)
{
    jd__owners_finish(&r->owners);
    free(r->digests);
    free(r->references);
    free(r->is_receiver);
}

/* ---- digests ------------------------------------------------------------ */

/* Of each process as many as the one with most devices has. */
struct digests {
    int most;
    int *counts; /* by place in the list: of its devices */
    struct jd_block_digest *own;
    struct jd_block_digest *all;
};

/* The place of a process in the rising list. */
static int find_process(const struct jd_agree_list *array_agree, int process)
{
    int low = 0, high = array_agree->size - 1;
    while (low < high) {
        int middle = (low + high) / 2;
        if (array_agree->processes[middle] < process)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void count_devices(const struct jd_replicas *r,
                          const struct jd_agree_list *array_agree,
                          struct digests *d)
{
    const jd_sharding *sharding = r->array->sharding;
    memset(d->counts, 0, (size_t)array_agree->size * sizeof *d->counts);
    for (int place = 0; place < sharding->num_devices; place++) {
        int process = sharding->devices[place]->process_index;
        int *count = &d->counts[find_process(array_agree, process)];
        d->most = ++*count > d->most ? *count : d->most;
    }
}

static jd_status open_digests(const struct jd_replicas *r,
                              const struct jd_agree_list *array_agree,
                              struct digests *d)
{
    size_t size = (size_t)array_agree->size;
    d->counts = malloc(size * sizeof *d->counts);
    if (!d->counts)
        return jd__fail_no_memory(OPERATION, size * sizeof *d->counts);
    count_devices(r, array_agree, d);
    size_t most = (size_t)d->most;
    d->own = calloc(most, sizeof *d->own);
    d->all = malloc(size * most * sizeof *d->all);
    if (!d->own || !d->all)
        return jd__fail_no_memory(OPERATION, size * most * sizeof *d->all);
    for (int i = 0; i < r->array->sharding->num_local; i++)
        d->own[i] = r->digests[r->array->sharding->local[i]];
    return JD_OK;
}

/* A process's digests come in the order of its places. */
static void take_digests(struct jd_replicas *r,
                         const struct jd_agree_list *array_agree,
                         struct digests *d)
{
    const jd_sharding *sharding = r->array->sharding;
    memset(d->counts, 0, (size_t)array_agree->size * sizeof *d->counts);
    for (int place = 0; place < sharding->num_devices; place++) {
        int i =
            find_process(array_agree, sharding->devices[place]->process_index);
        r->digests[place] = d->all[i * d->most + d->counts[i]++];
    }
}

/* "F32[4,6] cut by \"data\" over 4 devices (bitwise)". */
static void describe_array(const struct jd_replicas *r, char *text, size_t size)
{
    const jd_array *a = r->array;
    const jd_leaf leaf = { NULL, a->dtype, a->ndim, a->shape };
    char shape[192], rules[160];
    jd__leaf_print(&leaf, shape, sizeof shape);
    jd__equality_print(&r->rules, rules, sizeof rules);
    snprintf(text, size, "%s cut by \"%s\" over %d devices%s", shape,
             a->sharding->spec, a->sharding->num_devices, rules);
}

static jd_status share_digests(struct jd_replicas *r, jd_status status,
                               struct jd_agree_list *array_agree)
{
    struct digests d = { .most = 0 };
    char what[512];
    if (status == JD_OK)
        status = open_digests(r, array_agree, &d);
    describe_array(r, what, sizeof what);
    status = jd__array_agree_share(array_agree, status, what, NULL, 0, NULL);
    if (status == JD_OK)
        status = jd__array_agree_share(array_agree, status, what, d.own,
                                       (size_t)d.most * sizeof *d.own, d.all);
    if (status == JD_OK)
        take_digests(r, array_agree, &d);
    free(d.counts);
    free(d.own);
    free(d.all);
    return status;
}

/* ---- differences -------------------------------------------------------- */

static jd_status fail_difference(const struct jd_replicas *r, const char *what,
                                 const struct jd_replica_difference *difference)
{
    const jd_array *a = r->array;
    const jd_sharding *s = a->sharding;
    int place = (int)difference->place, block = s->blocks[place];
    const jd_device *device = s->devices[place];
    const jd_device *reference = s->devices[r->references[block]];
    char value[96], wanted[96], index[256], rules[160];
    jd_range ranges[JD_MAX_NDIM];
    int64_t at[JD_MAX_NDIM], left = difference->element;
    jd__sharding_block(s, block, a->ndim, a->shape, ranges);
    for (int d = a->ndim - 1; d >= 0; d--) {
        int64_t length = ranges[d].end - ranges[d].begin;
        at[d] = ranges[d].begin + left % length;
        left /= length;
    }
    jd__sharding_shape_print(a->ndim, at, index, sizeof index);
    jd__element_print_apart(a->dtype, difference->value, value,
                            difference->wanted, wanted, sizeof value);
    jd__equality_print(&r->rules, rules, sizeof rules);
    return jd_fail(JD_FAILED_PRECONDITION,
                   "%s%s" OPERATION ": device %d of process %d (%s) has %s at "
                   "index %s, where replica 0, device %d of process %d, has "
                   "%s%s",
                   what ? what : "", what ? ": " : "", device->local_ordinal,
                   device->process_index, device->host, value, index,
                   reference->local_ordinal, reference->process_index, wanted,
                   rules);
}

static jd_status share_differences(const struct jd_replicas *r,
                                   const char *what,
                                   struct jd_agree_list *array_agree)
{
    int size = array_agree->size;
    size_t bytes = (size_t)size * sizeof r->found;
    struct jd_replica_difference *all = malloc(bytes), *first = NULL;
    jd_status status = all ? JD_OK : jd__fail_no_memory(OPERATION, bytes);
    status = jd__array_agree_share(array_agree, status, "what differs",
                                   &r->found, sizeof r->found, all);
    for (int i = 0; i < size && status == JD_OK; i++)
        if (all[i].exists && (!first || all[i].place < first->place))
            first = &all[i];
    if (first)
        status = fail_difference(r, what, first);
    free(all);
    return status;
}

/* Where no NaN is equal to itself, the same bits are not always equal. */
static jd_status compare_with_self(struct jd_replicas *r)
{
    jd_status status = JD_OK;
    for (int i = 0; i < r->array->num_shards && status == JD_OK; i++)
        status = jd__replica_compare(r, i, 0, r->array->shards[i].data,
                                     r->array->shards[i].count);
    return status;
}

static bool has_suspect(const struct jd_replicas *r)
{
    for (int place = 0; place < r->array->sharding->num_devices; place++)
        if (jd__replica_is_suspect(r, place))
            return true;
    return false;
}

static jd_status compare_replicas(struct jd_replicas *r, const char *what,
                                  struct jd_agree_list *array_agree)
{
    bool trusts = jd__equality_trusts_bits(&r->rules, r->array->dtype);
    bool suspects = has_suspect(r);
    jd_status status = JD_OK;
    if (!suspects && trusts)
        return JD_OK;
    if (!trusts)
        status = compare_with_self(r);
    if (suspects && status == JD_OK)
        status = jd__replicas_compare_values(r);
    if (status != JD_OK)
        return jd__fail_prefix(status, OPERATION ": ");
    return share_differences(r, what, array_agree);
}

jd_status jd_array_assert_replicas_equal(const jd_array *array,
                                         const char *what,
                                         const jd_equality *equality,
                                         size_t size)
{
    JD_NOTE_CALLER();
    struct jd_agree_list *array_agree;
    struct jd_replicas r = { .operation = OPERATION, .array = array };
    jd_status status = jd__array_check(array, OPERATION);
    if (status == JD_OK)
        status = jd__equality_read(equality, size, OPERATION, &r.rules);
    if (status != JD_OK)
        return status;
    struct jd_invited invited = { .a = array->sharding, .extra = -1 };
    status = jd__array_agree_enter(OPERATION, &invited, &array_agree);
    if (status != JD_OK || !array_agree)
        return status;
    status = share_digests(&r, prepare_digests(&r), array_agree);
    if (status == JD_OK)
        status = compare_replicas(&r, what, array_agree);
    finish_replicas(&r);
    return jd__array_agree_leave(array_agree, status);
}

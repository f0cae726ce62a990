/* SPDX-License-Identifier: BSD-3-Clause */
/* reshard.c - the public calls that give an array another sharding. */
#include "arrays/array/array_agree.h"
#include "arrays/array/block_cache.h"
#include "arrays/reshard/exchange.h"
#include "arrays/reshard/plan_cache.h"
#include "arrays/reshard/reshard.h"
#include "base/progress.h"
#include "collectives/multihost/leaves.h"
#include "runtime/process/runtime.h"

#include <inttypes.h>
#include <stdio.h>

/* Half of it is for memory that is kept, and half for packing: as much as goes
 * by at full speed, so that the rest stays in the caches. */
#define PACK_BYTES ((size_t)16 << 20)
#define PACK_BYTES_OF_MEMBER ((size_t)64 << 10)

static size_t packing_memory(const struct jd_reshard *r)
{
    size_t members = (size_t)r->from->sharding->num_devices +
                     (size_t)r->to->sharding->num_devices;
    size_t bytes = members * PACK_BYTES_OF_MEMBER;
    bytes = bytes > PACK_BYTES ? bytes : PACK_BYTES;
    return bytes < r->memory / 2 ? bytes : r->memory / 2;
}

/* ---- blocks ------------------------------------------------------------- */

/* Memory for the new blocks, but for those that are old ones and are given. */
static jd_status take_blocks(const struct jd_reshard *r,
                             const struct jd_plan *plan)
{
    jd_status status = JD_OK;
    for (int i = 0; i < plan->num_devices && status == JD_OK; i++) {
        const struct jd_plan_device *device = &plan->devices[i];
        if (device->to < 0 || (r->is_donated && device->keeps))
            continue;
        jd_array_shard *shard = &r->to->shards[device->to];
        struct jd_block_cache_request request = {
            .world = r->to->sharding->world,
            .limit = r->memory / 2,
            .device = shard->device,
            .bytes = shard->count * r->to->element,
        };
        status = jd__block_cache_take(&request, &shard->data);
    }
    return status == JD_OK ? JD_OK
                           : jd__fail_prefix(status, "%s: ", r->operation);
}

/* The old array is without blocks then. */
static void give_blocks(const struct jd_reshard *r, const struct jd_plan *plan)
{
    for (int i = 0; i < plan->num_devices; i++) {
        const struct jd_plan_device *device = &plan->devices[i];
        if (!device->keeps)
            continue;
        r->to->shards[device->to].data = r->from->shards[device->from].data;
        r->from->shards[device->from].data = NULL;
    }
    for (int i = 0; i < r->from->num_shards; i++) {
        jd_array_shard *shard = &r->from->shards[i];
        jd__block_cache_give(r->from->sharding->world, shard->device,
                             shard->count * r->from->element, shard->data);
        shard->data = NULL;
    }
    r->from->is_donated = true;
}

/* ---- the calls ---------------------------------------------------------- */

static jd_status specify_plan(struct jd_reshard *r,
                              struct jd_plan_spec *ret_spec)
{
    const struct jd_runtime *runtime;
    jd_status status = jd__runtime_get(&runtime, r->operation);
    if (status != JD_OK)
        return status;
    r->memory = (size_t)jd__options_integer(runtime->settings,
                                            JD_OPTION_RESHARD_MEMORY);
    *ret_spec = (struct jd_plan_spec){
        .operation = r->operation,
        .from = r->from->sharding,
        .to = r->to->sharding,
        .ndim = r->from->ndim,
        .shape = r->from->shape,
        .element = r->from->element,
        .packs = r->is_from_process,
        .memory = packing_memory(r),
        .process = runtime->world.index,
    };
    return JD_OK;
}

/* What it is for, in words; the same on all. */
static void describe_call(const struct jd_reshard *r, uint64_t digest,
                          char *text, size_t size)
{
    const jd_leaf value = { NULL, r->from->dtype, r->from->ndim,
                            r->from->shape };
    char leaf[JD_SHAPE_TEXT], from[256];
    jd__leaf_print(&value, leaf, sizeof leaf);
    if (r->is_from_process)
        snprintf(from, sizeof from, "process %d",
                 r->from->sharding->devices[0]->process_index);
    else
        snprintf(from, sizeof from, "\"%.200s\"", r->from->sharding->spec);
    snprintf(text, size, "%s from %s to \"%.200s\" (layouts %016" PRIx64 ")",
             leaf, from, r->to->sharding->spec, digest);
}

/* Comes with what became of this process's own part, so that all know; and
 * sees that all mean the same. */
static jd_status agree_on_call(const struct jd_reshard *r, uint64_t digest,
                               jd_status status)
{
    const struct jd_invited invited = { .a = r->from->sharding,
                                        .b = r->to->sharding,
                                        .extra = -1 };
    char what[JD_SHAPE_TEXT + 512];
    struct jd_agree_list *array_agree = NULL;
    jd_status entered =
        jd__array_agree_enter(r->operation, &invited, &array_agree);
    if (entered != JD_OK || !array_agree)
        return entered != JD_OK ? entered : status;
    describe_call(r, digest, what, sizeof what);
    status = jd__array_agree_share(array_agree, status, what, NULL, 0, NULL);
    return jd__array_agree_leave(array_agree, status);
}

/* The plan may be NULL, after a failure. */
static jd_status move_blocks(struct jd_reshard *r, const struct jd_plan *plan,
                             uint64_t digest, jd_status status)
{
    struct jd_exchange exchange = {
        r->operation, plan, r->from, r->to, r->memory / 2, r->is_donated
    };
    struct jd_exchange_part *parts = NULL;
    r->to->is_cached = true;
    if (status == JD_OK)
        status = take_blocks(r, plan);
    if (status == JD_OK)
        status = jd__exchange_open(&exchange, &parts);
    status = agree_on_call(r, digest, status);
    if (status == JD_OK)
        status = jd__exchange_run(&exchange, parts);
    jd__exchange_close(&exchange, parts);
    if (status == JD_OK && r->is_donated)
        give_blocks(r, plan);
    return status;
}

/* What all processes find out alike is returned at once; in what may befall
 * one of them the others take part. */
jd_status jd__reshard_run(struct jd_reshard *r, jd_status status)
{
    struct jd_cached_plan *cached = NULL;
    struct jd_plan_spec spec;
    jd_status planned = specify_plan(r, &spec);
    if (planned != JD_OK)
        return planned;
    if (status == JD_OK)
        status = planned = jd__plan_cache_get(&spec, &cached);
    if (planned == JD_UNIMPLEMENTED)
        return status;
    status = move_blocks(r, cached ? cached->plan : NULL,
                         cached ? cached->plan->digest : jd__plan_digest(&spec),
                         status);
    if (cached)
        jd__plan_cache_put(cached);
    return status;
}

static jd_status check_and_reshard(struct jd_reshard *r)
{
    jd_status status = jd__array_check(r->from, r->operation);
    if (status == JD_OK)
        status = jd__array_create_without_data(r->operation, r->sharding,
                                               r->from->dtype, r->from->ndim,
                                               r->from->shape, &r->to);
    if (status != JD_OK)
        return status;
    status = jd__reshard_run(r, JD_OK);
    if (status != JD_OK)
        jd_array_release(r->to);
    return status;
}

jd_status jd_array_reshard(jd_array **ret_array, const jd_array *array,
                           const jd_sharding *sharding)
{
    JD_NOTE_CALLER();
    struct jd_reshard r = { .operation = "jd_array_reshard",
                            .from = (jd_array *)array,
                            .sharding = sharding };
    if (!ret_array)
        return jd_fail(JD_INVALID_ARGUMENT, "%s: ret_array is NULL",
                       r.operation);
    jd_status status = check_and_reshard(&r);
    if (status == JD_OK)
        *ret_array = r.to;
    return status;
}

jd_status jd_array_reshard_donate(jd_array **array, const jd_sharding *sharding)
{
    JD_NOTE_CALLER();
    struct jd_reshard r = { .operation = "jd_array_reshard_donate",
                            .from = array ? *array : NULL,
                            .sharding = sharding,
                            .is_donated = true };
    jd_status status = check_and_reshard(&r);
    if (status != JD_OK)
        return status;
    jd_array_release(r.from);
    *array = r.to;
    return JD_OK;
}

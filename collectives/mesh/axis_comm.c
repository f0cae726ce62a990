/* SPDX-License-Identifier: BSD-3-Clause */
/* axis_comm.c - the members of a shard's collectives along a list of axes. */
#include "base/digest.h"
#include "collectives/mesh/shard.h"
#include "collectives/mesh/started.h"
#include "jd_memory.h"
#include "runtime/coordination/failure/failure_exit.h"
#include "runtime/recorder/queued.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- finding and making ------------------------------------------------- */

static void free_span(struct jd_axis_comm *axis_comm)
{
    jd__comm_cache_put(atomic_load(&axis_comm->end));
    jd__recorder_comm_put(axis_comm->recorded);
    free(axis_comm->text);
    free(axis_comm->axes_text);
    free(axis_comm->detail);
    free(axis_comm->routes.routes);
    free(axis_comm->routes.seen);
    free(axis_comm);
}

/* What of the mesh's options its communicators are made with. */
static struct jd_nccl_options options_of(const struct jd_mesh *mesh)
{
    static const struct jd_nccl_options none;
    return mesh->platform->has_nccl ? mesh->nccl : none;
}

/* Axes that calls name by another text too are printed alike, so that
 * processes which name them differently believe the same. Options are in the
 * detail alone: members who differ in them are to meet, and hear of it. */
static bool set_texts(struct jd_axis_comm *axis_comm, const char *text)
{
    const struct jd_grouping *grouping = axis_comm->shard->grouping;
    const struct jd_nccl_options options = options_of(axis_comm->shard->mesh);
    const char *word = axis_comm->axes.count == 1 ? "axis" : "axes";
    char *names = jd__axes_print(axis_comm->shard->mesh, &axis_comm->axes);
    char set[JD_NCCL_OPTIONS_BYTES];
    int length = -1, detail_length = -1;
    if (!names)
        return false;
    const char *started = axis_comm->shard->is_started ? ", started" : "";
    jd__nccl_options_print(&options, set, sizeof set);
    if (grouping) {
        length =
            asprintf(&axis_comm->axes_text, "%s in groups%s", names, started);
        detail_length = asprintf(
            &axis_comm->detail, " over %s %s, group %d of %d%s%s", word, names,
            grouping->group, grouping->num_groups, started, set);
    } else {
        length = asprintf(&axis_comm->axes_text, "%s%s", names, started);
        detail_length = asprintf(&axis_comm->detail, " over %s %s%s%s", word,
                                 names, started, set);
    }
    free(names);
    if (length < 0)
        axis_comm->axes_text = NULL;
    if (detail_length < 0)
        axis_comm->detail = NULL;
    axis_comm->text = text ? strdup(text) : NULL;
    return axis_comm->axes_text && axis_comm->detail &&
           (axis_comm->text || !text);
}

/* The same on all members: their devices, in order, and NCCL's options. */
static uint64_t number_of(const struct jd_axis_comm *axis_comm)
{
    const struct jd_shard *shard = axis_comm->shard;
    const struct jd_nccl_options options = options_of(shard->mesh);
    uint64_t digest = shard->is_started;
    if (options.is_set)
        digest = jd__digest(digest, &options, sizeof options);
    for (int i = 0; i < axis_comm->size; i++) {
        int position = jd__shard_member(shard, &axis_comm->axes, i);
        int64_t id = shard->mesh->devices[position]->id;
        digest = jd__digest(digest, &id, sizeof id);
    }
    return digest;
}

static void record_comm(struct jd_axis_comm *axis_comm)
{
    const char *over = axis_comm->detail + strlen(" over ");
    axis_comm->recorded = jd__recorder_comm_get(
        number_of(axis_comm), axis_comm->index, axis_comm->size, over);
    if (axis_comm->shard->mesh->platform->streams)
        jd__queued_mark(axis_comm->recorded);
}

static jd_status make_span(struct jd_shard *shard, const char *text,
                           const char *operation,
                           struct jd_axis_comm **ret_axis_comm)
{
    struct jd_axes axes;
    jd_status status = jd__shard_axes(shard, text, operation, &axes);
    if (status != JD_OK)
        return status;
    struct jd_axis_comm *axis_comm = calloc(1, sizeof *axis_comm);
    if (!axis_comm)
        return jd__fail_no_memory(operation, sizeof *axis_comm);
    axis_comm->shard = shard;
    axis_comm->axes = axes;
    axis_comm->size = jd__shard_size(shard, &axes);
    axis_comm->index = jd__shard_index(shard, &axes);
    if (!set_texts(axis_comm, text)) {
        free_span(axis_comm);
        return jd__fail_no_memory(operation, sizeof *axis_comm);
    }
    record_comm(axis_comm);
    axis_comm->next = atomic_load(&shard->axis_comms);
    atomic_store(&shard->axis_comms, axis_comm);
    *ret_axis_comm = axis_comm;
    return JD_OK;
}

static bool is_named(const struct jd_axis_comm *axis_comm, const char *text)
{
    return text && axis_comm->text ? strcmp(axis_comm->text, text) == 0
                                   : !text && !axis_comm->text;
}

jd_status jd__axis_comm_of(struct jd_shard *shard, const char *axes,
                           const char *operation,
                           struct jd_axis_comm **ret_axis_comm)
{
    struct jd_axis_comm *axis_comm = shard->last;
    if (!axis_comm || !is_named(axis_comm, axes))
        for (axis_comm = atomic_load(&shard->axis_comms);
             axis_comm && !is_named(axis_comm, axes);)
            axis_comm = axis_comm->next;
    if (!axis_comm) {
        jd_status status = make_span(shard, axes, operation, &axis_comm);
        if (status != JD_OK)
            return status;
    }
    shard->last = axis_comm;
    *ret_axis_comm = axis_comm;
    return JD_OK;
}

/* ---- shards' ends ------------------------------------------------------- */

void jd__shard_finish(struct jd_shard *shard)
{
    jd__started_finish(shard);
    struct jd_axis_comm *axis_comm = atomic_load(&shard->axis_comms);
    while (axis_comm) {
        struct jd_axis_comm *next = axis_comm->next;
        free_span(axis_comm);
        axis_comm = next;
    }
    struct jd_shard *derived = atomic_load(&shard->derived);
    while (derived) {
        struct jd_shard *next = derived->next;
        jd__shard_finish(derived);
        free(derived);
        derived = next;
    }
    if (shard->grouping && !shard->is_started) {
        free(shard->grouping->sizes);
        free(shard->grouping->indices);
        free(shard->grouping);
    }
    free(shard->group.transfers);
    if (shard->halo_memory)
        jd_device_free(shard->halo_memory);
}

void jd__shard_abort(struct jd_shard *shard)
{
    struct jd_shard *twin = atomic_load(&shard->twin);
    if (twin)
        jd__shard_abort(twin);
    for (struct jd_axis_comm *axis_comm = atomic_load(&shard->axis_comms);
         axis_comm; axis_comm = axis_comm->next)
        jd__comm_cache_abort(atomic_load(&axis_comm->end));
    for (struct jd_shard *derived = atomic_load(&shard->derived); derived;
         derived = derived->next)
        jd__shard_abort(derived);
}

/* ---- a collective ------------------------------------------------------- */

/* A deadline names processes, and the program counts by indices. */
static jd_status explain_numbers(const struct jd_axis_comm *axis_comm,
                                 jd_status status)
{
    if (status != JD_DEADLINE_EXCEEDED)
        return status;
    char *numbers = jd__axis_comm_numbers(axis_comm);
    if (numbers)
        jd__fail_suffix(status, "%s", numbers);
    free(numbers);
    return status;
}

static jd_status list_members(const struct jd_axis_comm *axis_comm,
                              const char *operation,
                              const jd_device ***ret_members)
{
    size_t bytes = (size_t)axis_comm->size * sizeof **ret_members;
    const jd_device **members = malloc(bytes);
    if (!members)
        return jd__fail_no_memory(operation, bytes);
    for (int i = 0; i < axis_comm->size; i++) {
        int position = jd__shard_member(axis_comm->shard, &axis_comm->axes, i);
        members[i] = axis_comm->shard->mesh->devices[position];
    }
    *ret_members = members;
    return JD_OK;
}

/* The first collective along the axis communicator: its end, and where no other
 * mesh has made it, its communicator. A body of another thread may fail
 * meanwhile: it sets its flag before it looks for communicators, and here it is
 * the other way round, so that one of the two sees the other. */
static jd_status connect_members(struct jd_axis_comm *axis_comm,
                                 const char *operation)
{
    struct jd_mesh *mesh = axis_comm->shard->mesh;
    const jd_device **members = NULL;
    jd_status status = list_members(axis_comm, operation, &members);
    if (status != JD_OK)
        return status;
    struct jd_comm_spec spec = {
        .runtime = mesh->runtime,
        .members = members,
        .size = axis_comm->size,
        .index = axis_comm->index,
        .axes = axis_comm->axes_text,
        .detail = axis_comm->detail,
        .operation = operation,
        .is_started = axis_comm->shard->is_started,
        .nccl = options_of(mesh),
        .recorded = number_of(axis_comm),
        .is_cancelled = &mesh->body_failure.happened,
    };
    struct jd_cached_comm *end = atomic_load(&axis_comm->end);
    if (!end) {
        status = jd__comm_cache_get(mesh->platform, &spec, &end);
        if (status == JD_OK)
            atomic_store(&axis_comm->end, end);
    }
    if (status == JD_OK)
        status = jd__comm_cache_enter(end, operation, axis_comm->detail);
    if (status == JD_OK) {
        status = jd__comm_cache_make(end, &spec);
        if (atomic_load(&mesh->body_failure.happened))
            jd__comm_cache_abort(end);
        status = jd__body_failure_explain(&mesh->body_failure, operation,
                                          axis_comm->detail, status);
        if (status != JD_OK)
            jd__comm_cache_leave(end, explain_numbers(axis_comm, status));
    }
    free(members);
    return status;
}

static jd_status begin_call(struct jd_axis_comm *axis_comm,
                            const char *operation)
{
    jd_status status = jd__failure_exit_check(operation);
    if (status == JD_OK)
        status = jd__body_failure_check(&axis_comm->shard->mesh->body_failure,
                                        operation, axis_comm->detail);
    if (status != JD_OK)
        return status;
    struct jd_cached_comm *end =
        atomic_load_explicit(&axis_comm->end, memory_order_relaxed);
    if (end && atomic_load_explicit(&end->comm, memory_order_relaxed))
        return jd__comm_cache_enter(end, operation, axis_comm->detail);
    return connect_members(axis_comm, operation);
}

static bool is_transfer(enum jd_activity activity)
{
    return activity == JD_ACTIVITY_SEND || activity == JD_ACTIVITY_RECV ||
           activity == JD_ACTIVITY_RECV_ANY_SIZE ||
           activity == JD_ACTIVITY_SENDRECV;
}

jd_status jd__axis_comm_enter(struct jd_axis_comm *axis_comm,
                              const struct jd_collective *call, uint64_t rest)
{
    const char *operation = jd__signature_activity_name(call->activity);
    jd__recorder_enter(&(struct jd_recorder_call){
        .operation = operation,
        .comm = axis_comm->recorded,
        .count = call->count,
        .rest = rest,
        .dtype = (uint8_t)jd__collective_dtype(call),
        .is_transfer = is_transfer(call->activity),
    });
    jd_status status = begin_call(axis_comm, operation);
    return status == JD_OK ? JD_OK : jd__recorder_leave(status);
}

jd_status jd__axis_comm_leave(struct jd_axis_comm *axis_comm,
                              enum jd_activity activity, jd_status status)
{
    jd__recorder_leave(status);
    if (status != JD_OK)
        status = jd__body_failure_explain(&axis_comm->shard->mesh->body_failure,
                                          jd__signature_activity_name(activity),
                                          axis_comm->detail, status);
    return jd__comm_cache_leave(
        atomic_load_explicit(&axis_comm->end, memory_order_relaxed),
        explain_numbers(axis_comm, status));
}

struct jd_comm *jd__axis_comm_handle(const struct jd_axis_comm *axis_comm)
{
    struct jd_cached_comm *end =
        atomic_load_explicit(&axis_comm->end, memory_order_relaxed);
    return atomic_load_explicit(&end->comm, memory_order_relaxed);
}

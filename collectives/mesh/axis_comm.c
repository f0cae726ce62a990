/* SPDX-License-Identifier: BSD-3-Clause */
/* axis_comm.c - the members of a shard's collectives along a list of axes. */
#include "base/progress.h"
#include "collectives/mesh/shard.h"
#include "runtime/coordination/failure/failure_exit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- finding and making ------------------------------------------------- */

static void free_span(struct jd_span *span)
{
    jd__clique_put(atomic_load(&span->end));
    free(span->text);
    free(span->axes_text);
    free(span->detail);
    free(span->routes.routes);
    free(span->routes.seen);
    free(span);
}

/* Axes that calls name by another text too are printed alike, so that
 * processes which name them differently believe the same. */
static bool set_texts(struct jd_span *span, const char *text)
{
    const struct jd_grouping *grouping = span->shard->grouping;
    const char *word = span->axes.count == 1 ? "axis" : "axes";
    char *names = jd__axes_print(span->shard->mesh, &span->axes);
    int length = -1, detail_length = -1;
    if (!names)
        return false;
    if (grouping) {
        length = asprintf(&span->axes_text, "%s in groups", names);
        detail_length =
            asprintf(&span->detail, " over %s %s, group %d of %d", word, names,
                     grouping->group, grouping->num_groups);
    } else {
        length = asprintf(&span->axes_text, "%s", names);
        detail_length = asprintf(&span->detail, " over %s %s", word, names);
    }
    free(names);
    if (length < 0)
        span->axes_text = NULL;
    if (detail_length < 0)
        span->detail = NULL;
    span->text = text ? strdup(text) : NULL;
    return span->axes_text && span->detail && (span->text || !text);
}

static jd_status make_span(struct jd_shard *shard, const char *text,
                           const char *operation, struct jd_span **ret_span)
{
    struct jd_axes axes;
    jd_status status = jd__shard_axes(shard, text, operation, &axes);
    if (status != JD_OK)
        return status;
    struct jd_span *span = calloc(1, sizeof *span);
    if (!span)
        return jd__fail_no_memory(operation, sizeof *span);
    span->shard = shard;
    span->axes = axes;
    span->size = jd__shard_size(shard, &axes);
    span->index = jd__shard_index(shard, &axes);
    if (!set_texts(span, text)) {
        free_span(span);
        return jd__fail_no_memory(operation, sizeof *span);
    }
    span->next = atomic_load(&shard->spans);
    atomic_store(&shard->spans, span);
    *ret_span = span;
    return JD_OK;
}

static bool is_named(const struct jd_span *span, const char *text)
{
    return text && span->text ? strcmp(span->text, text) == 0
                              : !text && !span->text;
}

jd_status jd__shard_span(struct jd_shard *shard, const char *axes,
                         const char *operation, struct jd_span **ret_span)
{
    struct jd_span *span = shard->last;
    if (!span || !is_named(span, axes))
        for (span = atomic_load(&shard->spans); span && !is_named(span, axes);)
            span = span->next;
    if (!span) {
        jd_status status = make_span(shard, axes, operation, &span);
        if (status != JD_OK)
            return status;
    }
    shard->last = span;
    *ret_span = span;
    return JD_OK;
}

/* ---- shards' ends ------------------------------------------------------- */

void jd__shard_finish(struct jd_shard *shard)
{
    struct jd_span *span = atomic_load(&shard->spans);
    while (span) {
        struct jd_span *next = span->next;
        free_span(span);
        span = next;
    }
    struct jd_shard *derived = atomic_load(&shard->derived);
    while (derived) {
        struct jd_shard *next = derived->next;
        jd__shard_finish(derived);
        free(derived);
        derived = next;
    }
    if (shard->grouping) {
        free(shard->grouping->sizes);
        free(shard->grouping->indices);
        free(shard->grouping);
    }
    free(shard->group.transfers);
}

void jd__shard_abort(struct jd_shard *shard)
{
    for (struct jd_span *span = atomic_load(&shard->spans); span;
         span = span->next)
        jd__clique_abort(atomic_load(&span->end));
    for (struct jd_shard *derived = atomic_load(&shard->derived); derived;
         derived = derived->next)
        jd__shard_abort(derived);
}

/* ---- a collective ------------------------------------------------------- */

/* A deadline names processes, and the program counts by indices. */
static jd_status explain_numbers(const struct jd_span *span, jd_status status)
{
    if (status != JD_DEADLINE_EXCEEDED)
        return status;
    char *numbers = jd__span_numbers(span);
    if (numbers)
        jd__fail_suffix(status, "%s", numbers);
    free(numbers);
    return status;
}

static jd_status list_members(const struct jd_span *span, const char *operation,
                              const jd_device ***ret_members)
{
    size_t bytes = (size_t)span->size * sizeof **ret_members;
    const jd_device **members = malloc(bytes);
    if (!members)
        return jd__fail_no_memory(operation, bytes);
    for (int i = 0; i < span->size; i++) {
        int position = jd__shard_member(span->shard, &span->axes, i);
        members[i] = span->shard->mesh->devices[position];
    }
    *ret_members = members;
    return JD_OK;
}

/* The first collective along the span: its end, and where no other mesh has
 * made it, its clique. A body of another thread may fail meanwhile: it sets
 * its flag before it looks for cliques, and here it is the other way round, so
 * that one of the two sees the other. */
static jd_status connect(struct jd_span *span, const char *operation)
{
    struct jd_mesh *mesh = span->shard->mesh;
    const jd_device **members = NULL;
    jd_status status = list_members(span, operation, &members);
    if (status != JD_OK)
        return status;
    struct jd_clique_spec spec = {
        .runtime = mesh->runtime,
        .members = members,
        .size = span->size,
        .index = span->index,
        .axes = span->axes_text,
        .detail = span->detail,
        .operation = operation,
        .is_cancelled = &mesh->body_failure.happened,
    };
    struct jd_clique_end *end = atomic_load(&span->end);
    if (!end) {
        status = jd__clique_get(mesh->platform, &spec, &end);
        if (status == JD_OK)
            atomic_store(&span->end, end);
    }
    if (status == JD_OK)
        status = jd__clique_enter(end, operation, span->detail);
    if (status == JD_OK) {
        status = jd__clique_make(end, &spec);
        if (atomic_load(&mesh->body_failure.happened))
            jd__clique_abort(end);
        status = jd__body_failure_explain(&mesh->body_failure, operation,
                                          span->detail, status);
        if (status != JD_OK)
            jd__clique_leave(end, explain_numbers(span, status));
    }
    free(members);
    return status;
}

static jd_status begin(struct jd_span *span, const char *operation)
{
    jd_status status = jd__ending_check(operation);
    if (status == JD_OK)
        status = jd__body_failure_check(&span->shard->mesh->body_failure,
                                        operation, span->detail);
    if (status != JD_OK)
        return status;
    struct jd_clique_end *end =
        atomic_load_explicit(&span->end, memory_order_relaxed);
    if (end && atomic_load_explicit(&end->clique, memory_order_relaxed))
        return jd__clique_enter(end, operation, span->detail);
    return connect(span, operation);
}

jd_status jd__span_enter(struct jd_span *span, enum jd_activity activity)
{
    const char *operation = jd__activity_name(activity);
    jd__progress_enter(operation);
    jd_status status = begin(span, operation);
    if (status != JD_OK)
        jd__progress_leave();
    return status;
}

jd_status jd__span_leave(struct jd_span *span, enum jd_activity activity,
                         jd_status status)
{
    jd__progress_leave();
    if (status != JD_OK)
        status = jd__body_failure_explain(&span->shard->mesh->body_failure,
                                          jd__activity_name(activity),
                                          span->detail, status);
    return jd__clique_leave(
        atomic_load_explicit(&span->end, memory_order_relaxed),
        explain_numbers(span, status));
}

struct jd_clique *jd__span_clique(const struct jd_span *span)
{
    struct jd_clique_end *end =
        atomic_load_explicit(&span->end, memory_order_relaxed);
    return atomic_load_explicit(&end->clique, memory_order_relaxed);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* permutes.c - the public collectives that move data from one member to
 * another by a list that all of them know, and from one to all. */
#include "base/progress.h"
#include "collectives/api/checks.h"
#include "collectives/mesh/routes.h"
#include "jd_collectives.h"

#include <stdlib.h>
#include <string.h>

/* ---- permutations ------------------------------------------------------- */

/* Room for a route from each member, made at the axis communicator's first
 * permutation. */
static jd_status prepare_routes(struct jd_axis_comm *axis_comm,
                                const char *operation)
{
    struct jd_route_memory *memory = &axis_comm->routes;
    size_t members = (size_t)axis_comm->size;
    if (!memory->routes)
        memory->routes = calloc(members, sizeof *memory->routes);
    if (!memory->seen)
        memory->seen = calloc(2 * members, sizeof *memory->seen);
    if (memory->routes && memory->seen)
        return JD_OK;
    return jd__fail_no_memory(operation, members * sizeof *memory->routes);
}

static jd_status check_route(const struct jd_axis_comm *axis_comm,
                             const char *operation, const jd_route *routes,
                             int i)
{
    int bad = routes[i].from < 0 || routes[i].from >= axis_comm->size
                  ? routes[i].from
                  : routes[i].to;
    if (bad < 0 || bad >= axis_comm->size)
        return jd_fail(JD_INVALID_ARGUMENT,
                       "%s: routes[%d] is from %d to %d, and the members are 0 "
                       "to %d",
                       operation, i, routes[i].from, routes[i].to,
                       axis_comm->size - 1);
    return JD_OK;
}

/* seen has the number of the first route from, then to, each member, plus 1. */
static jd_status check_unique(struct jd_axis_comm *axis_comm,
                              const char *operation, const jd_route *routes,
                              int i)
{
    int *from = &axis_comm->routes.seen[routes[i].from];
    int *to = &axis_comm->routes.seen[axis_comm->size + routes[i].to];
    if (*from || *to)
        return jd_fail(JD_INVALID_ARGUMENT,
                       "%s: routes[%d] and routes[%d] are both %s member %d; a "
                       "member sends once and receives once",
                       operation, (*from ? *from : *to) - 1, i,
                       *from ? "from" : "to",
                       *from ? routes[i].from : routes[i].to);
    *from = *to = i + 1;
    return JD_OK;
}

static jd_status check_routes(struct jd_axis_comm *axis_comm,
                              const char *operation, const jd_route *routes,
                              int count)
{
    jd_status status = JD_OK;
    memset(axis_comm->routes.seen, 0,
           2 * (size_t)axis_comm->size * sizeof *axis_comm->routes.seen);
    for (int i = 0; i < count && status == JD_OK; i++) {
        status = check_route(axis_comm, operation, routes, i);
        if (status == JD_OK)
            status = check_unique(axis_comm, operation, routes, i);
    }
    return status;
}

/* Keeps a list that is right, and what this member has to know of it. */
static void remember_routes(struct jd_axis_comm *axis_comm,
                            const jd_route *routes, int count)
{
    struct jd_route_memory *memory = &axis_comm->routes;
    struct jd_permute permute = { .to = -1, .from = -1 };
    permute.digest = jd__routes_digest(routes, count);
    for (int i = 0; i < count; i++) {
        if (routes[i].from == axis_comm->index)
            permute.to = routes[i].to;
        if (routes[i].to == axis_comm->index)
            permute.from = routes[i].from;
    }
    if (count)
        memmove(memory->routes, routes, (size_t)count * sizeof *routes);
    permute.routes = memory->routes;
    permute.num_routes = count;
    memory->count = count;
    memory->permute = permute;
    memory->is_known = true;
}

static bool is_remembered(const struct jd_axis_comm *axis_comm,
                          const jd_route *routes, int count)
{
    const struct jd_route_memory *memory = &axis_comm->routes;
    return memory->is_known && memory->count == count &&
           (count == 0 || memcmp(memory->routes, routes,
                                 (size_t)count * sizeof *routes) == 0);
}

static jd_status permute_buffers(struct jd_axis_comm *axis_comm,
                                 struct jd_collective *call,
                                 const struct jd_permute *permute)
{
    const struct jd_buffers buffers = { call->count, call->count, 0,
                                        JD_SAME_BUFFER };
    jd_status status = jd__checks_buffers(call, &buffers);
    if (status == JD_OK)
        status = jd__axis_comm_enter(axis_comm, call, permute->digest);
    if (status != JD_OK)
        return status;
    call->permute = permute;
    status = axis_comm->shard->mesh->platform->permute(
        jd__axis_comm_handle(axis_comm), call, permute);
    return jd__axis_comm_leave(axis_comm, call->activity, status);
}

static jd_status permute_remembered(struct jd_axis_comm *axis_comm,
                                    struct jd_collective *call)
{
    struct jd_permute known = axis_comm->routes.permute;
    known.keeps = call->activity == JD_ACTIVITY_PPERMUTE_KEEP;
    return permute_buffers(axis_comm, call, &known);
}

static jd_status check_list(const char *operation, const jd_route *routes,
                            int num_routes)
{
    if (num_routes < 0)
        return jd_fail(JD_INVALID_ARGUMENT,
                       "%s: num_routes is %d; it is at least 0", operation,
                       num_routes);
    if (num_routes > 0 && !routes)
        return jd_fail(JD_INVALID_ARGUMENT,
                       "%s: routes is NULL and num_routes is %d", operation,
                       num_routes);
    return JD_OK;
}

static jd_status permute_by_routes(jd_shard *shard, const char *axes,
                                   struct jd_collective *call,
                                   const jd_route *routes, int num_routes)
{
    const char *operation = jd__signature_activity_name(call->activity);
    struct jd_axis_comm *axis_comm;
    jd_status status = jd__checks_call(shard, axes, call, 1, &axis_comm);
    if (status == JD_OK)
        status = check_list(operation, routes, num_routes);
    if (status != JD_OK)
        return status;
    if (!is_remembered(axis_comm, routes, num_routes)) {
        status = prepare_routes(axis_comm, operation);
        if (status == JD_OK)
            status = check_routes(axis_comm, operation, routes, num_routes);
        if (status != JD_OK)
            return status;
        remember_routes(axis_comm, routes, num_routes);
    }
    return permute_remembered(axis_comm, call);
}

jd_status jd_ppermute(jd_shard *shard, const char *axes, const void *in,
                      void *out, size_t count, jd_dtype dtype,
                      const jd_route *routes, int num_routes)
{
    JD_NOTE_CALLER();
    struct jd_collective call = { .activity = JD_ACTIVITY_PPERMUTE,
                                  .in = in,
                                  .out = out,
                                  .count = count,
                                  .dtype = dtype };
    return permute_by_routes(shard, axes, &call, routes, num_routes);
}

jd_status jd_ppermute_keep(jd_shard *shard, const char *axes, const void *in,
                           void *out, size_t count, jd_dtype dtype,
                           const jd_route *routes, int num_routes)
{
    JD_NOTE_CALLER();
    struct jd_collective call = { .activity = JD_ACTIVITY_PPERMUTE_KEEP,
                                  .in = in,
                                  .out = out,
                                  .count = count,
                                  .dtype = dtype };
    return permute_by_routes(shard, axes, &call, routes, num_routes);
}

/* ---- shuffles ----------------------------------------------------------- */

static bool is_shuffle_remembered(const struct jd_axis_comm *axis_comm,
                                  const int *permutation)
{
    const struct jd_route_memory *memory = &axis_comm->routes;
    if (!memory->is_known || memory->count != axis_comm->size)
        return false;
    for (int i = 0; i < axis_comm->size; i++)
        if (memory->routes[i].to != i ||
            memory->routes[i].from != permutation[i])
            return false;
    return true;
}

static jd_status check_source(struct jd_axis_comm *axis_comm,
                              const int *permutation, int i)
{
    if (permutation[i] < 0 || permutation[i] >= axis_comm->size)
        return jd_fail(JD_INVALID_ARGUMENT,
                       "jd_pshuffle: permutation[%d] is %d; the members are 0 "
                       "to %d",
                       i, permutation[i], axis_comm->size - 1);
    int *seen = &axis_comm->routes.seen[permutation[i]];
    if (*seen)
        return jd_fail(JD_INVALID_ARGUMENT,
                       "jd_pshuffle: permutation[%d] and permutation[%d] are "
                       "both %d; each member's in goes to one",
                       *seen - 1, i, permutation[i]);
    *seen = i + 1;
    return JD_OK;
}

/* The routes of a permutation that is right, in the order of their ends. */
static jd_status read_shuffle(struct jd_axis_comm *axis_comm,
                              const int *permutation)
{
    struct jd_route_memory *memory = &axis_comm->routes;
    jd_status status = prepare_routes(axis_comm, "jd_pshuffle");
    if (status != JD_OK)
        return status;
    memset(memory->seen, 0, (size_t)axis_comm->size * sizeof *memory->seen);
    for (int i = 0; i < axis_comm->size && status == JD_OK; i++)
        status = check_source(axis_comm, permutation, i);
    if (status != JD_OK)
        return status;
    for (int i = 0; i < axis_comm->size; i++)
        memory->routes[i] = (jd_route){ .from = permutation[i], .to = i };
    remember_routes(axis_comm, memory->routes, axis_comm->size);
    return JD_OK;
}

jd_status jd_pshuffle(jd_shard *shard, const char *axes, const void *in,
                      void *out, size_t count, jd_dtype dtype,
                      const int *permutation)
{
    JD_NOTE_CALLER();
    struct jd_collective call = { .activity = JD_ACTIVITY_PSHUFFLE,
                                  .in = in,
                                  .out = out,
                                  .count = count,
                                  .dtype = dtype };
    struct jd_axis_comm *axis_comm;
    jd_status status = jd__checks_call(shard, axes, &call, 1, &axis_comm);
    if (status == JD_OK && !permutation)
        status = jd_fail(JD_INVALID_ARGUMENT,
                         "jd_pshuffle: permutation is NULL; it has a number "
                         "for each of the %d members",
                         axis_comm->size);
    if (status == JD_OK && !is_shuffle_remembered(axis_comm, permutation))
        status = read_shuffle(axis_comm, permutation);
    return status == JD_OK ? permute_remembered(axis_comm, &call) : status;
}

/* ---- shifts ------------------------------------------------------------- */

static jd_status check_edge(jd_edge edge)
{
    if (edge == JD_EDGE_WRAP || edge == JD_EDGE_ZERO || edge == JD_EDGE_KEEP)
        return JD_OK;
    return jd_fail(JD_INVALID_ARGUMENT,
                   "jd_shift: edge is %d; it is JD_EDGE_WRAP, JD_EDGE_ZERO or "
                   "JD_EDGE_KEEP",
                   (int)edge);
}

/* The member so far along; -1 where that is beyond an edge. */
static int member_beside(const struct jd_axis_comm *axis_comm, int64_t by,
                         jd_edge edge)
{
    int64_t size = axis_comm->size, at = axis_comm->index + by;
    if (edge == JD_EDGE_WRAP)
        return (int)((at % size + size) % size);
    return at >= 0 && at < size ? (int)at : -1;
}

jd_status jd_shift(jd_shard *shard, const char *axes, int by, const void *in,
                   void *out, size_t count, jd_dtype dtype, jd_edge edge)
{
    JD_NOTE_CALLER();
    struct jd_collective call = { .activity = JD_ACTIVITY_SHIFT,
                                  .in = in,
                                  .out = out,
                                  .count = count,
                                  .dtype = dtype };
    struct jd_axis_comm *axis_comm;
    jd_status status = jd__checks_call(shard, axes, &call, 1, &axis_comm);
    if (status == JD_OK)
        status = check_edge(edge);
    if (status != JD_OK)
        return status;
    const struct jd_permute permute = {
        .to = member_beside(axis_comm, by, edge),
        .from = member_beside(axis_comm, -(int64_t)by, edge),
        .keeps = edge == JD_EDGE_KEEP,
        .digest = jd__signature_shift(by, edge),
    };
    return permute_buffers(axis_comm, &call, &permute);
}

/* ---- from one to all ---------------------------------------------------- */

jd_status jd_pbroadcast(jd_shard *shard, const char *axes, int source,
                        const void *in, void *out, size_t count, jd_dtype dtype)
{
    JD_NOTE_CALLER();
    struct jd_collective call = { .activity = JD_ACTIVITY_PBROADCAST,
                                  .in = in,
                                  .out = out,
                                  .count = count,
                                  .dtype = dtype };
    struct jd_axis_comm *axis_comm;
    jd_status status = jd__checks_call(shard, axes, &call, 1, &axis_comm);
    if (status == JD_OK)
        status = jd__checks_member(axis_comm, &call, "source", source);
    if (status != JD_OK)
        return status;
    const struct jd_buffers buffers = { axis_comm->index == source ? count : 0,
                                        count, 0, JD_SAME_BUFFER };
    status = jd__checks_buffers(&call, &buffers);
    if (status == JD_OK)
        status = jd__axis_comm_enter(axis_comm, &call, (uint64_t)source);
    if (status != JD_OK)
        return status;
    status = shard->mesh->platform->broadcast(jd__axis_comm_handle(axis_comm),
                                              &call, source);
    return jd__axis_comm_leave(axis_comm, call.activity, status);
}

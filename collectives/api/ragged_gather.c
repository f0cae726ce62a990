/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ragged_gather.c - jd_ragged_all_gather: a ragged_all_to_all in which each
 * member gives all of its in to each, and knows beforehand what comes. All have
 * the same counts, which the meeting compares by a digest: no size is told.
 * Where the counts are equal it is an all_gather, on platforms whose members
 * compare their calls in any case.
 */
#include "base/digest.h"
#include "base/progress.h"
#include "collectives/api/checks.h"
#include "jd_collectives.h"

#include <inttypes.h>
#include <stdlib.h>

/* Members whose lists need no allocation. */
enum { FEW = 64 };

/* Of each member what this one gives it, and what it gets from it. */
struct part_lists {
    int64_t *zeros, *given, *places;
    struct jd_ragged_entry *taken;
    int64_t few[6 * FEW];
    void *many;
};

struct ragged_gather {
    struct jd_axis_comm *axis_comm;
    struct jd_collective call;
    const int64_t *counts;
    size_t total;     /* of all members */
    size_t place;     /* this one's, in out */
    bool is_in_place; /* the own part is there already */
};

/* ---- what is given ------------------------------------------------------ */

static jd_status check_count(const struct ragged_gather *g, int member,
                             size_t most)
{
    const char *name = jd__signature_activity_name(g->call.activity);
    int64_t count = g->counts[member];
    if (count < 0)
        return jd_fail(JD_INVALID_ARGUMENT,
                       "%s%s: counts[%d] is %" PRId64
                       "; a member gives 0 elements or more",
                       name, g->axis_comm->detail, member, count);
    if ((uint64_t)count > most - g->total)
        return jd_fail(JD_INVALID_ARGUMENT,
                       "%s%s: counts[%d] is %" PRId64
                       "; %s of all members' number do not fit into an address "
                       "space",
                       name, g->axis_comm->detail, member, count,
                       jd_dtype_name(g->call.dtype));
    return JD_OK;
}

static jd_status check_own(const struct ragged_gather *g)
{
    int index = g->axis_comm->index;
    if ((uint64_t)g->counts[index] == g->call.count)
        return JD_OK;
    return jd_fail(JD_INVALID_ARGUMENT,
                   "%s%s: count is %zu and counts[%d], which is this member's, "
                   "is %" PRId64 "; they are the same",
                   jd__signature_activity_name(g->call.activity),
                   g->axis_comm->detail, g->call.count, index,
                   g->counts[index]);
}

/* And adds the counts up. */
static jd_status check_counts(struct ragged_gather *g)
{
    size_t most = PTRDIFF_MAX / jd_dtype_size(g->call.dtype);
    jd_status status = JD_OK;
    if (!g->counts)
        return jd_fail(JD_INVALID_ARGUMENT,
                       "%s%s: counts is NULL; it has a number for each of the "
                       "%d members",
                       jd__signature_activity_name(g->call.activity),
                       g->axis_comm->detail, g->axis_comm->size);
    for (int i = 0; i < g->axis_comm->size && status == JD_OK; i++) {
        if (i == g->axis_comm->index)
            g->place = g->total;
        status = check_count(g, i, most);
        g->total += status == JD_OK ? (size_t)g->counts[i] : 0;
    }
    return status == JD_OK ? check_own(g) : status;
}

static jd_status check_buffers(struct ragged_gather *g)
{
    const struct jd_buffers buffers = {
        .in = g->call.count,
        .out = g->total,
        .place = (ptrdiff_t)g->place,
        .rule = "or in == out + the counts of the members before",
    };
    size_t size = jd_dtype_size(g->call.dtype);
    g->is_in_place = (uintptr_t)g->call.in ==
                     (uintptr_t)g->call.out + (uintptr_t)(g->place * size);
    return jd__checks_buffers(&g->call, &buffers);
}

/* ---- members of unlike counts ------------------------------------------- */

static jd_status make_lists(const struct ragged_gather *g,
                            struct part_lists *lists)
{
    size_t n = (size_t)g->axis_comm->size;
    size_t bytes = n * (3 * sizeof(int64_t) + sizeof *lists->taken);
    int64_t *memory = lists->few;
    lists->many = n > FEW ? malloc(bytes) : NULL;
    if (n > FEW && !lists->many)
        return jd__fail_no_memory(jd__signature_activity_name(g->call.activity),
                                  bytes);
    if (lists->many)
        memory = lists->many;
    lists->zeros = memory;
    lists->given = memory + n;
    lists->places = memory + 2 * n;
    lists->taken = (struct jd_ragged_entry *)(void *)(memory + 3 * n);
    return JD_OK;
}

/* What is in place is not given to oneself. */
static void fill_lists(const struct ragged_gather *g, struct part_lists *lists)
{
    int64_t place = 0;
    for (int i = 0; i < g->axis_comm->size; i++) {
        bool stays = g->is_in_place && i == g->axis_comm->index;
        lists->zeros[i] = 0;
        lists->given[i] = stays ? 0 : (int64_t)g->call.count;
        lists->places[i] = (int64_t)g->place;
        lists->taken[i] =
            (struct jd_ragged_entry){ .size = stays ? 0 : g->counts[i],
                                      .to = place };
        place += g->counts[i];
    }
}

/* The rows are of one element. */
static jd_status gather_unlike(const struct ragged_gather *g,
                               const struct part_lists *lists, uint64_t digest)
{
    const struct jd_ragged ragged = { .input_offsets = lists->zeros,
                                      .send_sizes = lists->given,
                                      .output_offsets = lists->places,
                                      .recv_sizes = g->counts,
                                      .per_member = 1,
                                      .in_rows = g->call.count,
                                      .out_rows = g->total,
                                      .rest = digest,
                                      .known = lists->taken };
    struct jd_collective call = g->call;
    call.count = 1;
    return g->axis_comm->shard->mesh->platform->ragged_all_to_all(
        jd__axis_comm_handle(g->axis_comm), &call, &ragged);
}

/* ---- both --------------------------------------------------------------- */

static bool are_alike(const struct ragged_gather *g)
{
    for (int i = 1; i < g->axis_comm->size; i++)
        if (g->counts[i] != g->counts[0])
            return false;
    return true;
}

static jd_status gather_by_platform(const struct ragged_gather *g,
                                    const struct part_lists *lists,
                                    uint64_t digest)
{
    const struct jd_platform *platform = g->axis_comm->shard->mesh->platform;
    return !platform->streams && are_alike(g)
               ? platform->all_gather(jd__axis_comm_handle(g->axis_comm),
                                      &g->call, 1)
               : gather_unlike(g, lists, digest);
}

static jd_status gather_parts(const struct ragged_gather *g)
{
    struct part_lists lists;
    struct jd_collective noted = g->call;
    uint64_t digest = jd__digest(
        0, g->counts, (size_t)g->axis_comm->size * sizeof *g->counts);
    jd_status status = make_lists(g, &lists);
    if (status != JD_OK)
        return status;
    fill_lists(g, &lists);
    noted.count = g->total; /* the same on all */
    status = jd__axis_comm_enter(g->axis_comm, &noted, digest);
    if (status == JD_OK)
        status = jd__axis_comm_leave(g->axis_comm, g->call.activity,
                                     gather_by_platform(g, &lists, digest));
    free(lists.many);
    return status;
}

jd_status jd_ragged_all_gather(jd_shard *shard, const char *axes,
                               const void *in, size_t count, void *out,
                               const int64_t *counts, jd_dtype dtype)
{
    JD_NOTE_CALLER();
    struct ragged_gather g = { .call = { .activity =
                                             JD_ACTIVITY_RAGGED_ALL_GATHER,
                                         .in = in,
                                         .out = out,
                                         .count = count,
                                         .dtype = dtype,
                                         .counts = counts },
                               .counts = counts };
    jd_status status = jd__checks_call(shard, axes, &g.call, 1, &g.axis_comm);
    if (status == JD_OK)
        status = check_counts(&g);
    if (status == JD_OK)
        status = check_buffers(&g);
    return status == JD_OK ? gather_parts(&g) : status;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* shard_groups.c - shards whose collectives stay within a group. */
#include "collectives/mesh/shard.h"

#include <stdlib.h>
#include <string.h>

#define GROUPS "jd_shard_groups"

/* The caller's lists. */
struct lists {
    int num_groups;
    const int *sizes;
    const int *indices;
    int total; /* the size of the axes */
};

static jd_status check_null(jd_shard **ret_shard, const jd_shard *shard,
                            const int *sizes, const int *indices)
{
    const char *null = !ret_shard ? "ret_shard"
                       : !sizes   ? "group_sizes"
                       : !indices ? "indices"
                                  : NULL;
    if (!shard)
        return jd__shard_fail_null(GROUPS);
    if (null)
        return jd_fail(JD_INVALID_ARGUMENT, GROUPS ": %s is NULL", null);
    if (shard->grouping)
        return jd_fail(JD_INVALID_ARGUMENT,
                       GROUPS ": the shard is itself one of groups; make "
                              "groups from the mesh's shard");
    return JD_OK;
}

static jd_status check_sizes(const struct lists *lists)
{
    int64_t sum = 0;
    if (lists->num_groups < 1)
        return jd_fail(JD_INVALID_ARGUMENT,
                       GROUPS ": num_groups is %d; there is at least one",
                       lists->num_groups);
    for (int i = 0; i < lists->num_groups; i++) {
        if (lists->sizes[i] < 1)
            return jd_fail(JD_INVALID_ARGUMENT,
                           GROUPS ": group_sizes[%d] is %d; a group has at "
                                  "least one member",
                           i, lists->sizes[i]);
        sum += lists->sizes[i];
    }
    if (sum != lists->total)
        return jd_fail(JD_INVALID_ARGUMENT,
                       GROUPS ": the groups have %lld members, and the axes "
                              "%d; each index from 0 to %d is in one group",
                       (long long)sum, lists->total, lists->total - 1);
    return JD_OK;
}

/* seen has total zeros. */
static jd_status check_indices(const struct lists *lists, int *seen)
{
    for (int i = 0; i < lists->total; i++) {
        int index = lists->indices[i];
        if (index < 0 || index >= lists->total)
            return jd_fail(JD_INVALID_ARGUMENT,
                           GROUPS ": indices[%d] is %d; the axes' indices are "
                                  "0 to %d",
                           i, index, lists->total - 1);
        if (seen[index])
            return jd_fail(JD_INVALID_ARGUMENT,
                           GROUPS ": indices[%d] and indices[%d] are both %d; "
                                  "each index is in one group, once",
                           seen[index] - 1, i, index);
        seen[index] = i + 1;
    }
    return JD_OK;
}

static jd_status check_lists(const struct lists *lists)
{
    jd_status status = check_sizes(lists);
    if (status != JD_OK)
        return status;
    int *seen = calloc((size_t)lists->total, sizeof *seen);
    if (!seen)
        return jd__fail_no_memory(GROUPS, (size_t)lists->total * sizeof *seen);
    status = check_indices(lists, seen);
    free(seen);
    return status;
}

static bool is_same(const struct jd_grouping *grouping,
                    const struct jd_axes *axes, const struct lists *lists)
{
    return jd__axes_equal(&grouping->axes, axes) &&
           grouping->num_groups == lists->num_groups &&
           memcmp(grouping->sizes, lists->sizes,
                  (size_t)lists->num_groups * sizeof *lists->sizes) == 0 &&
           memcmp(grouping->indices, lists->indices,
                  (size_t)lists->total * sizeof *lists->indices) == 0;
}

/* Which group the index is in, and where. */
static void find_own(struct jd_grouping *grouping, int index)
{
    const int *members = grouping->indices;
    for (int group = 0; group < grouping->num_groups; group++) {
        for (int i = 0; i < grouping->sizes[group]; i++) {
            if (members[i] != index)
                continue;
            grouping->group = group;
            grouping->members = members;
            grouping->size = grouping->sizes[group];
            grouping->index = i;
        }
        members += grouping->sizes[group];
    }
}

static void *copy_of(const int *numbers, int count)
{
    int *copy = malloc((size_t)count * sizeof *copy);
    if (copy)
        memcpy(copy, numbers, (size_t)count * sizeof *copy);
    return copy;
}

static struct jd_shard *derive_shard(struct jd_shard *from,
                                     const struct jd_axes *axes,
                                     const struct lists *lists)
{
    struct jd_shard *shard = calloc(1, sizeof *shard);
    struct jd_grouping *grouping = calloc(1, sizeof *grouping);
    if (!shard || !grouping) {
        free(shard);
        free(grouping);
        return NULL;
    }
    shard->mesh = from->mesh;
    shard->position = from->position;
    shard->stream = from->stream;
    shard->grouping = grouping;
    grouping->axes = *axes;
    grouping->num_groups = lists->num_groups;
    grouping->sizes = copy_of(lists->sizes, lists->num_groups);
    grouping->indices = copy_of(lists->indices, lists->total);
    if (!grouping->sizes || !grouping->indices) {
        jd__shard_finish(shard);
        free(shard);
        return NULL;
    }
    find_own(grouping, jd__axes_index(from->mesh, axes, from->position));
    return shard;
}

jd_status jd_shard_groups(jd_shard **ret_shard, jd_shard *shard,
                          const char *axes, int num_groups,
                          const int *group_sizes, const int *indices)
{
    struct jd_axes parsed;
    jd_status status = check_null(ret_shard, shard, group_sizes, indices);
    if (status == JD_OK)
        status = jd__mesh_check_world(shard->mesh, GROUPS);
    if (status == JD_OK)
        status = jd__shard_axes(shard, axes, GROUPS, &parsed);
    if (status != JD_OK)
        return status;
    struct lists lists = { num_groups, group_sizes, indices,
                           jd__axes_size(shard->mesh, &parsed) };
    status = check_lists(&lists);
    if (status != JD_OK)
        return status;
    struct jd_shard *found = atomic_load(&shard->derived);
    while (found && !is_same(found->grouping, &parsed, &lists))
        found = found->next;
    if (!found) {
        found = derive_shard(shard, &parsed, &lists);
        if (!found)
            return jd__fail_no_memory(GROUPS, sizeof *found);
        found->next = atomic_load(&shard->derived);
        atomic_store(&shard->derived, found);
    }
    *ret_shard = found;
    return JD_OK;
}

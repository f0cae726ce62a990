/* SPDX-License-Identifier: BSD-3-Clause */
/* shard.c - one local device's place in a mesh. */
#include "collectives/mesh/shard.h"

#include <stdlib.h>

jd_shard *jd_mesh_shard(jd_mesh *mesh)
{
    if (!mesh) {
        jd_fail(JD_INVALID_ARGUMENT, "jd_mesh_shard: mesh is NULL");
        return NULL;
    }
    if (jd__mesh_check_world(mesh, "jd_mesh_shard") != JD_OK)
        return NULL;
    if (mesh->num_shards == 1)
        return &mesh->shards[0];
    if (mesh->num_shards > 1)
        jd_fail(JD_INVALID_ARGUMENT,
                "jd_mesh_shard: this process has %d devices in the mesh, and "
                "jd_mesh_shard() is for processes that have one; "
                "jd_shard_map() serves several (or set JD_NUM_CPU_DEVICES=1)",
                mesh->num_shards);
    else
        jd_fail(JD_INVALID_ARGUMENT,
                "jd_mesh_shard: this process (%d) has no device in the mesh; "
                "only processes that have one call its collectives",
                mesh->runtime->world.index);
    return NULL;
}

/* Which mesh gave the NULL is not known any more; how many devices this
 * process has tells the likely reason. */
jd_status jd__shard_fail_null(const char *operation)
{
    const struct jd_runtime *runtime;
    jd_status status = jd__runtime_get(&runtime, operation);
    if (status != JD_OK)
        return status;
    int devices = runtime->topology->platforms[0].num_local;
    if (devices > 1)
        return jd_fail(JD_INVALID_ARGUMENT,
                       "%s: shard is NULL: this process has %d devices, and "
                       "jd_mesh_shard() is for processes that have one in the "
                       "mesh; jd_shard_map() gives each of several its shard "
                       "(or set JD_NUM_CPU_DEVICES=1)",
                       operation, devices);
    return jd_fail(JD_INVALID_ARGUMENT,
                   "%s: shard is NULL: this process (%d) has no device in the "
                   "mesh, or jd_mesh_shard() was not called; only processes "
                   "that have a device in a mesh call its collectives, with "
                   "the shard of jd_mesh_shard() or jd_shard_map()",
                   operation, runtime->world.index);
}

/* ---- along axes --------------------------------------------------------- */

jd_status jd__shard_axes(const struct jd_shard *shard, const char *text,
                         const char *operation, struct jd_axes *ret_axes)
{
    struct jd_axes axes;
    const struct jd_grouping *grouping = shard->grouping;
    if (grouping && !text) {
        *ret_axes = grouping->axes;
        return JD_OK;
    }
    jd_status status = jd__axes_parse(shard->mesh, text, operation, &axes);
    if (status != JD_OK)
        return status;
    if (grouping && !jd__axes_equal(&axes, &grouping->axes)) {
        char *names = jd__axes_print(shard->mesh, &grouping->axes);
        status = jd_fail(JD_INVALID_ARGUMENT,
                         "%s: the axes are \"%s\", and the shard is one of "
                         "groups along %s; name these, in this order, or none "
                         "(NULL), or take the shard that the groups were made "
                         "from",
                         operation, text, names ? names : "others");
        free(names);
        return status;
    }
    *ret_axes = axes;
    return JD_OK;
}

int jd__shard_index(const struct jd_shard *shard, const struct jd_axes *axes)
{
    return shard->grouping ? shard->grouping->index
                           : jd__axes_index(shard->mesh, axes, shard->position);
}

int jd__shard_size(const struct jd_shard *shard, const struct jd_axes *axes)
{
    return shard->grouping ? shard->grouping->size
                           : jd__axes_size(shard->mesh, axes);
}

int jd__shard_member(const struct jd_shard *shard, const struct jd_axes *axes,
                     int index)
{
    if (shard->grouping)
        index = shard->grouping->members[index];
    return jd__axes_position(shard->mesh, axes, shard->position, index);
}

/* The axes that a question is about; false where there is no answer. */
static bool read_axes(const jd_shard *shard, const char *text,
                      const char *operation, struct jd_axes *ret_axes)
{
    if (!shard) {
        jd__shard_fail_null(operation);
        return false;
    }
    return jd__shard_axes(shard, text, operation, ret_axes) == JD_OK;
}

int jd_axis_index(const jd_shard *shard, const char *axes)
{
    struct jd_axes parsed;
    if (!read_axes(shard, axes, "jd_axis_index", &parsed))
        return -1;
    return jd__shard_index(shard, &parsed);
}

int jd_axis_size(const jd_shard *shard, const char *axes)
{
    struct jd_axes parsed;
    if (!read_axes(shard, axes, "jd_axis_size", &parsed))
        return -1;
    return jd__shard_size(shard, &parsed);
}

/* ---- its place ---------------------------------------------------------- */

jd_status jd_shard_coordinates(const jd_shard *shard, int ndim,
                               int *ret_coordinates)
{
    static const char operation[] = "jd_shard_coordinates";
    if (!shard)
        return jd__shard_fail_null(operation);
    if (!ret_coordinates)
        return jd_fail(JD_INVALID_ARGUMENT, "%s: ret_coordinates is NULL",
                       operation);
    if (ndim != shard->mesh->ndim)
        return jd_fail(JD_INVALID_ARGUMENT,
                       "%s: ndim is %d, and the mesh has %d ax%s (%s)",
                       operation, ndim, shard->mesh->ndim,
                       shard->mesh->ndim == 1 ? "is" : "es", shard->mesh->axes);
    for (int i = 0; i < ndim; i++)
        ret_coordinates[i] =
            jd__mesh_coordinate(shard->mesh, shard->position, i);
    return JD_OK;
}

const jd_device *jd_shard_device(const jd_shard *shard)
{
    if (!shard) {
        jd__shard_fail_null("jd_shard_device");
        return NULL;
    }
    if (jd__mesh_check_world(shard->mesh, "jd_shard_device") != JD_OK)
        return NULL;
    return shard->mesh->devices[shard->position];
}

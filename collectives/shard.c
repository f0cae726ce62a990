/* SPDX-License-Identifier: BSD-3-Clause */
/* shard.c - one local device's place in a mesh. */
#include "jd_shard.h"
#include "collectives/mesh.h"

static jd_status fail_not_one(const struct jd_mesh *mesh)
{
    if (mesh->num_shards > 1)
        return jd_fail(JD_INVALID_ARGUMENT,
                       "jd_mesh_shard: this process has %d devices in the "
                       "mesh; jd_mesh_shard() is for processes that have one; "
                       "set JD_NUM_CPU_DEVICES=1 (jd_shard_map(), which "
                       "serves several, is not in this version)",
                       mesh->num_shards);
    return jd_fail(JD_INVALID_ARGUMENT,
                   "jd_mesh_shard: this process (%d) has no device in the "
                   "mesh; only processes that have one call its collectives",
                   mesh->runtime->world.index);
}

jd_shard *jd_mesh_shard(jd_mesh *mesh)
{
    if (!mesh)
        jd_fail(JD_INVALID_ARGUMENT, "jd_mesh_shard: mesh is NULL");
    else if (jd__mesh_check_world(mesh, "jd_mesh_shard") == JD_OK) {
        if (mesh->num_shards == 1)
            return &mesh->shards[0];
        fail_not_one(mesh);
    }
    return NULL;
}

/* Which mesh gave the NULL is not known any more; how many devices this
 * process has tells the likely reason. */
jd_status jd__fail_null_shard(const char *operation)
{
    const struct jd_runtime *runtime;
    jd_status status = jd__runtime_get(&runtime, operation);
    if (status != JD_OK)
        return status;
    int devices = runtime->topology->platforms[0].num_local;
    if (devices > 1)
        return jd_fail(JD_INVALID_ARGUMENT,
                       "%s: shard is NULL: this process has %d devices in the "
                       "mesh; jd_mesh_shard() is for processes that have one; "
                       "set JD_NUM_CPU_DEVICES=1 (jd_shard_map(), which serves "
                       "several, is not in this version)",
                       operation, devices);
    return jd_fail(JD_INVALID_ARGUMENT,
                   "%s: shard is NULL: this process (%d) has no device in the "
                   "mesh, or jd_mesh_shard() was not called; only processes "
                   "that have a device in a mesh call its collectives",
                   operation, runtime->world.index);
}

/* The axes that a question is about; false where there is no answer. */
static bool read_axes(const jd_shard *shard, const char *text,
                      const char *operation, struct jd_axes *ret_axes)
{
    if (!shard) {
        jd__fail_null_shard(operation);
        return false;
    }
    return jd__axes_parse(shard->mesh, text, operation, ret_axes) == JD_OK;
}

int jd_axis_index(const jd_shard *shard, const char *axes)
{
    struct jd_axes parsed;
    if (!read_axes(shard, axes, "jd_axis_index", &parsed))
        return -1;
    return jd__axes_index(shard->mesh, &parsed, shard->position);
}

int jd_axis_size(const jd_shard *shard, const char *axes)
{
    struct jd_axes parsed;
    if (!read_axes(shard, axes, "jd_axis_size", &parsed))
        return -1;
    return jd__axes_size(shard->mesh, &parsed);
}

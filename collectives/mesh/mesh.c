/* SPDX-License-Identifier: BSD-3-Clause */
/* mesh.c - devices arranged along named axes. */
#include "base/forked.h"
#include "collectives/mesh/cores.h"
#include "collectives/mesh/mesh.h"
#include "collectives/mesh/shard.h"

#include <stdlib.h>
#include <string.h>

#define CREATE "jd_mesh_create"

static jd_status check_null(jd_mesh **ret_mesh, const int *shape,
                            const char *const *axis_names)
{
    const char *null = !ret_mesh     ? "ret_mesh"
                       : !shape      ? "shape"
                       : !axis_names ? "axis_names"
                                     : NULL;
    if (null)
        return jd_fail(JD_INVALID_ARGUMENT, CREATE ": %s is NULL", null);
    return JD_OK;
}

static jd_status set_names(struct jd_mesh *mesh, const char *const *names)
{
    struct jd_axes all = { .count = mesh->ndim };
    size_t bytes = 0;
    for (int i = 0; i < mesh->ndim; i++) {
        all.axis[i] = i;
        bytes += strlen(names[i]) + 1;
        mesh->axis_names[i] = strdup(names[i]);
        if (!mesh->axis_names[i])
            return jd__fail_no_memory(CREATE, bytes);
    }
    mesh->axes = jd__axes_print(mesh, &all);
    return mesh->axes ? JD_OK : jd__fail_no_memory(CREATE, bytes);
}

static jd_status set_devices(struct jd_mesh *mesh,
                             const jd_device *const *devices)
{
    const struct jd_topology *topology = mesh->runtime->topology;
    size_t bytes = (size_t)mesh->size * sizeof *mesh->devices;
    mesh->devices = malloc(bytes);
    if (!mesh->devices)
        return jd__fail_no_memory(CREATE, bytes);
    if (!devices)
        return jd__mesh_order_devices(topology, mesh->ndim, mesh->devices);
    jd_status status = jd__mesh_check_devices(topology, devices, mesh->size);
    if (status == JD_OK)
        memcpy(mesh->devices, devices, bytes);
    return status;
}

static jd_status set_platform(struct jd_mesh *mesh)
{
    const char *name = mesh->devices[0]->platform;
    mesh->platform = jd__platform_find(name);
    if (mesh->platform)
        return JD_OK;
    return jd_fail(JD_UNIMPLEMENTED,
                   CREATE ": this build has no collectives on platform %s",
                   name);
}

static jd_status open_streams(struct jd_mesh *mesh)
{
    const struct jd_stream_table *streams = mesh->platform->streams;
    jd_status status = JD_OK;
    for (int i = 0; streams && status == JD_OK && i < mesh->num_shards; i++) {
        struct jd_shard *shard = &mesh->shards[i];
        status = streams->create(mesh->runtime, mesh->devices[shard->position],
                                 &shard->stream);
    }
    return status;
}

/* What is queued is done before the communicators go that it needs. */
static void close_streams(struct jd_mesh *mesh)
{
    const struct jd_runtime *runtime = NULL;
    if (!mesh->platform || !mesh->platform->streams)
        return;
    if (jd__runtime_get(&runtime, "jd_mesh_destroy") != JD_OK ||
        runtime->number != mesh->world)
        runtime = NULL;
    for (int i = 0; i < mesh->num_shards; i++)
        mesh->platform->streams->destroy(mesh->shards[i].stream, runtime);
}

/* Room for one more: none is no NULL. */
static jd_status allocate_shards(struct jd_mesh *mesh, int own)
{
    size_t places = 1;
    for (int i = 0; i < mesh->size; i++)
        places += mesh->devices[i]->process_index == own;
    mesh->shards = calloc(places, sizeof *mesh->shards);
    mesh->local_devices = calloc(places, sizeof *mesh->local_devices);
    if (!mesh->shards || !mesh->local_devices)
        return jd__fail_no_memory(CREATE, places * sizeof *mesh->shards);
    return JD_OK;
}

static jd_status make_shards(struct jd_mesh *mesh)
{
    int own = mesh->runtime->world.index, count = 0;
    jd_status status = allocate_shards(mesh, own);
    if (status != JD_OK)
        return status;
    for (int i = 0; i < mesh->size; i++) {
        if (mesh->devices[i]->process_index != own)
            continue;
        mesh->local_devices[count] = mesh->devices[i];
        mesh->shards[count].mesh = mesh;
        mesh->shards[count++].position = i;
    }
    mesh->num_shards = count;
    return open_streams(mesh);
}

static jd_status fill_mesh(struct jd_mesh *mesh, const char *const *names,
                           const jd_device *const *devices)
{
    jd_status status = set_names(mesh, names);
    if (status == JD_OK)
        status = set_devices(mesh, devices);
    if (status == JD_OK)
        status = set_platform(mesh);
    if (status == JD_OK)
        status = make_shards(mesh);
    if (status == JD_OK && mesh->platform->streams)
        jd__cores_warn_of_gpus(mesh);
    return status;
}

jd_status jd_mesh_create(jd_mesh **ret_mesh, int ndim, const int *shape,
                         const char *const *axis_names,
                         const jd_device *const *devices)
{
    const struct jd_runtime *runtime;
    jd_status status = check_null(ret_mesh, shape, axis_names);
    if (status == JD_OK)
        status = jd__mesh_check_names(ndim, axis_names);
    if (status == JD_OK)
        status = jd__runtime_get(&runtime, CREATE);
    if (status != JD_OK)
        return status;
    struct jd_mesh *mesh = calloc(1, sizeof *mesh);
    if (!mesh)
        return jd__fail_no_memory(CREATE, sizeof *mesh);
    int available = devices ? -1 : runtime->topology->platforms[0].count;
    struct jd_mesh_sizes sizes = { ndim, shape, axis_names, available };
    jd__topology_list(runtime->topology);
    mesh->runtime = runtime;
    mesh->world = runtime->number;
    mesh->ndim = ndim;
    status = jd__mesh_resolve_sizes(&sizes, mesh->shape, &mesh->size);
    if (status == JD_OK)
        status = fill_mesh(mesh, axis_names, devices);
    if (status == JD_OK)
        *ret_mesh = mesh;
    else
        jd_mesh_destroy(mesh);
    return status;
}

/* A forked child leaves everything as its parent has it. */
void jd_mesh_destroy(jd_mesh *mesh)
{
    if (!mesh || jd__forked_is_child)
        return;
    close_streams(mesh);
    for (int i = 0; i < mesh->num_shards; i++)
        jd__shard_finish(&mesh->shards[i]);
    for (int i = 0; i < mesh->ndim; i++)
        free(mesh->axis_names[i]);
    jd__body_failure_finish(&mesh->body_failure);
    free(mesh->axes);
    free(mesh->devices);
    free(mesh->shards);
    free(mesh->local_devices);
    free(mesh);
}

jd_status jd__mesh_check_world(const struct jd_mesh *mesh,
                               const char *operation)
{
    return jd__runtime_check_world(mesh->world, operation, "the mesh");
}

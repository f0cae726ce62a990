/* SPDX-License-Identifier: BSD-3-Clause */
/* mesh.c - devices arranged along named axes. */
#include "collectives/mesh.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CREATE "jd_mesh_create"

/* The commas, pluses and dashes are those of axis lists and sharding specs. */
static jd_status check_name(const char *name)
{
    if (!name || !*name)
        return jd_fail(JD_INVALID_ARGUMENT,
                       CREATE ": axis_names[0] is %s; give the axis a name",
                       name ? "empty" : "NULL");
    if (strpbrk(name, ",+") || strcmp(name, "-") == 0)
        return jd_fail(JD_INVALID_ARGUMENT,
                       CREATE ": the axis name \"%s\" has a ',' or '+', or is "
                              "\"-\": these have a meaning where axes are "
                              "listed; use letters, digits and '_'",
                       name);
    return JD_OK;
}

static jd_status check_arguments(jd_mesh **ret_mesh, int ndim, const int *shape,
                                 const char *const *axis_names)
{
    const char *null = !ret_mesh     ? "ret_mesh"
                       : !shape      ? "shape"
                       : !axis_names ? "axis_names"
                                     : NULL;
    if (null)
        return jd_fail(JD_INVALID_ARGUMENT, CREATE ": %s is NULL", null);
    if (ndim < 1)
        return jd_fail(JD_INVALID_ARGUMENT,
                       CREATE ": ndim is %d; a mesh has at least one axis",
                       ndim);
    if (ndim > 1)
        return jd_fail(JD_UNIMPLEMENTED,
                       CREATE ": ndim is %d; meshes of this version have one "
                              "axis",
                       ndim);
    return check_name(axis_names[0]);
}

/* The first size, with -1 replaced; available is the number of all devices,
 * or -1 where the devices are given. */
static jd_status resolve_size(int size, const char *name, int available,
                              int *ret_size)
{
    if (size == -1 && available >= 0)
        size = available;
    else if (size == -1)
        return jd_fail(JD_INVALID_ARGUMENT,
                       CREATE ": the size of axis \"%s\" is -1, and devices "
                              "are given; say how many they are",
                       name);
    if (size < 1)
        return jd_fail(JD_INVALID_ARGUMENT,
                       CREATE ": the size of axis \"%s\" is %d; a size is "
                              "positive, or -1 for what is left of all devices",
                       name, size);
    if (available >= 0 && size != available)
        return jd_fail(JD_INVALID_ARGUMENT,
                       CREATE ": the mesh has %d place%s (axis \"%s\"), and "
                              "the job has %d device%s; make the size %d or "
                              "-1, or give the devices that are to be used",
                       size, size == 1 ? "" : "s", name, available,
                       available == 1 ? "" : "s", available);
    *ret_size = size;
    return JD_OK;
}

void jd__mesh_order_devices(const struct jd_topology *topology,
                            const jd_device **ret_devices)
{
    const struct jd_device_list *list = &topology->platforms[0];
    int count = 0;
    for (int host = 0; host < topology->num_hosts; host++)
        for (int i = 0; i < list->count; i++) {
            int process = list->devices[i]->process_index;
            if (topology->processes[process].host == host)
                ret_devices[count++] = list->devices[i];
        }
}

/* The number of one of the topology's own structs, or -1. */
static int device_number(const struct jd_topology *topology,
                         const jd_device *device)
{
    for (int i = 0; i < topology->num_devices; i++)
        if (device == &topology->devices[i])
            return i;
    return -1;
}

static jd_status check_given(const struct jd_topology *topology,
                             const jd_device *const *devices, int i, int *seen)
{
    int number = device_number(topology, devices[i]);
    if (number < 0)
        return jd_fail(JD_INVALID_ARGUMENT,
                       CREATE ": devices[%d] is %s; take the pointers from "
                              "jd_devices() or jd_platform_devices()",
                       i, devices[i] ? "no device of this job" : "NULL");
    if (seen[number])
        return jd_fail(JD_INVALID_ARGUMENT,
                       CREATE ": devices[%d] and devices[%d] are the same "
                              "device, %lld; a device is in a mesh once",
                       seen[number] - 1, i, (long long)devices[i]->id);
    if (strcmp(devices[i]->platform, devices[0]->platform) != 0)
        return jd_fail(JD_INVALID_ARGUMENT,
                       CREATE ": devices[0] is of platform %s and devices[%d] "
                              "of %s; a mesh is of one platform",
                       devices[0]->platform, i, devices[i]->platform);
    seen[number] = i + 1;
    return JD_OK;
}

static jd_status fill_given(struct jd_mesh *mesh,
                            const struct jd_topology *topology,
                            const jd_device *const *devices)
{
    size_t places = (size_t)topology->num_devices + 1;
    int *seen = calloc(places, sizeof *seen);
    jd_status status = JD_OK;
    if (!seen)
        return jd__fail_no_memory(CREATE, places * sizeof *seen);
    for (int i = 0; i < mesh->size && status == JD_OK; i++) {
        status = check_given(topology, devices, i, seen);
        mesh->devices[i] = devices[i];
    }
    free(seen);
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

static jd_status make_shards(struct jd_mesh *mesh)
{
    int own = mesh->runtime->world.index, count = 0;
    for (int i = 0; i < mesh->size; i++)
        mesh->num_shards += mesh->devices[i]->process_index == own;
    size_t places = (size_t)mesh->num_shards + 1;
    mesh->shards = calloc(places, sizeof *mesh->shards);
    if (!mesh->shards)
        return jd__fail_no_memory(CREATE, places * sizeof *mesh->shards);
    for (int i = 0; i < mesh->size; i++) {
        if (mesh->devices[i]->process_index != own)
            continue;
        mesh->shards[count].mesh = mesh;
        mesh->shards[count++].position = i;
    }
    return JD_OK;
}

/* The names as sentences have them. */
static jd_status set_texts(struct jd_mesh *mesh, const char *name)
{
    mesh->axis_names[0] = strdup(name);
    if (asprintf(&mesh->axes, "\"%s\"", name) < 0)
        mesh->axes = NULL;
    if (asprintf(&mesh->detail, " over axis \"%s\"", name) < 0)
        mesh->detail = NULL;
    if (mesh->axis_names[0] && mesh->axes && mesh->detail)
        return JD_OK;
    return jd__fail_no_memory(CREATE, 3 * strlen(name));
}

static jd_status fill_mesh(struct jd_mesh *mesh, const char *name,
                           const jd_device *const *devices)
{
    jd_status status = set_texts(mesh, name);
    if (status != JD_OK)
        return status;
    mesh->devices = malloc((size_t)mesh->size * sizeof *mesh->devices);
    if (!mesh->devices)
        return jd__fail_no_memory(CREATE,
                                  (size_t)mesh->size * sizeof *mesh->devices);
    if (devices)
        status = fill_given(mesh, mesh->runtime->topology, devices);
    else
        jd__mesh_order_devices(mesh->runtime->topology, mesh->devices);
    if (status == JD_OK)
        status = set_platform(mesh);
    return status == JD_OK ? make_shards(mesh) : status;
}

jd_status jd_mesh_create(jd_mesh **ret_mesh, int ndim, const int *shape,
                         const char *const *axis_names,
                         const jd_device *const *devices)
{
    const struct jd_runtime *runtime;
    int size = 0;
    jd_status status = check_arguments(ret_mesh, ndim, shape, axis_names);
    if (status == JD_OK)
        status = jd__runtime_get(&runtime, CREATE);
    if (status != JD_OK)
        return status;
    int available = devices ? -1 : runtime->topology->platforms[0].count;
    status = resolve_size(shape[0], axis_names[0], available, &size);
    if (status != JD_OK)
        return status;
    struct jd_mesh *mesh = calloc(1, sizeof *mesh);
    if (!mesh)
        return jd__fail_no_memory(CREATE, sizeof *mesh);
    mesh->runtime = runtime;
    mesh->world = runtime->number;
    mesh->ndim = 1;
    mesh->shape[0] = mesh->size = size;
    status = fill_mesh(mesh, axis_names[0], devices);
    if (status == JD_OK)
        *ret_mesh = mesh;
    else
        jd_mesh_destroy(mesh);
    return status;
}

void jd_mesh_destroy(jd_mesh *mesh)
{
    if (!mesh)
        return;
    for (int i = 0; mesh->shards && i < mesh->num_shards; i++) {
        mesh->platform->clique_destroy(mesh->shards[i].clique);
        jd__failure_finish(&mesh->shards[i].failure);
    }
    for (int i = 0; i < mesh->ndim; i++)
        free(mesh->axis_names[i]);
    free(mesh->axes);
    free(mesh->detail);
    free(mesh->devices);
    free(mesh->shards);
    free(mesh);
}

jd_status jd__mesh_check_world(const struct jd_mesh *mesh,
                               const char *operation)
{
    const struct jd_runtime *runtime;
    jd_status status = jd__runtime_get(&runtime, operation);
    if (status != JD_OK || runtime->number == mesh->world)
        return status;
    return jd_fail(JD_FAILED_PRECONDITION,
                   "%s: the mesh was made before jd_shutdown() ended its "
                   "world; make it again",
                   operation);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* mesh_questions.c - what a program asks a mesh for. */
#include "collectives/mesh/mesh.h"

/* True for a NULL, which is named. */
static bool refuse_null(const jd_mesh *mesh, const char *operation)
{
    if (!mesh)
        jd_fail(JD_INVALID_ARGUMENT, "%s: mesh is NULL", operation);
    return !mesh;
}

int jd_mesh_ndim(const jd_mesh *mesh)
{
    return refuse_null(mesh, "jd_mesh_ndim") ? -1 : mesh->ndim;
}

const char *const *jd_mesh_axis_names(const jd_mesh *mesh)
{
    return refuse_null(mesh, "jd_mesh_axis_names")
               ? NULL
               : (const char *const *)mesh->axis_names;
}

const int *jd_mesh_axis_sizes(const jd_mesh *mesh)
{
    return refuse_null(mesh, "jd_mesh_axis_sizes") ? NULL : mesh->shape;
}

/* ---- devices ------------------------------------------------------------ */

/* The devices are the world's, and end with it. */
static bool has_devices(const jd_mesh *mesh, const char *operation)
{
    return !refuse_null(mesh, operation) &&
           jd__mesh_check_world(mesh, operation) == JD_OK;
}

static const jd_device *const *hand_out(const jd_device *const *devices,
                                        int count, int *ret_count)
{
    if (ret_count)
        *ret_count = count;
    return devices;
}

const jd_device *const *jd_mesh_devices(const jd_mesh *mesh, int *ret_count)
{
    if (!has_devices(mesh, "jd_mesh_devices"))
        return hand_out(NULL, -1, ret_count);
    return hand_out(mesh->devices, mesh->size, ret_count);
}

const jd_device *const *jd_mesh_local_devices(const jd_mesh *mesh,
                                              int *ret_count)
{
    if (!has_devices(mesh, "jd_mesh_local_devices"))
        return hand_out(NULL, -1, ret_count);
    return hand_out(mesh->local_devices, mesh->num_shards, ret_count);
}

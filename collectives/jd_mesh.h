/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * jd_mesh.h - devices arranged along named axes.
 *
 *     jd_mesh *mesh;
 *     JD_CHECK(jd_mesh_create(&mesh, 1, (int[]){ -1 },
 *                             (const char *[]){ "data" }, NULL));
 *     ...
 *     jd_mesh_destroy(mesh);
 */
#ifndef JD_MESH_H
#define JD_MESH_H

#include "jd_device.h"
#include "jd_status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct jd_mesh jd_mesh;

/*
 * Makes a mesh of ndim axes with the given sizes and names over the devices,
 * row-major, or (NULL) over all devices of the default platform, host by
 * host. One size may be -1: what is left of all devices; not with devices
 * given: their number is that of the places. This version has meshes of one
 * axis.
 *
 * Collective: no communication; but all processes of the mesh make the same
 *   meshes in the same order.
 * Threads: any. Owns: the caller, who gives it to jd_mesh_destroy(); names
 *   and sizes are copied.
 * Returns: JD_OK; INVALID_ARGUMENT for a NULL, a size that is not positive,
 *   sizes whose product is not the number of devices, a name that is empty,
 *   "-", or has a ',' or '+', a device that is there twice, is none of this
 *   job's, or is of another platform than the first; UNIMPLEMENTED for
 *   ndim other than 1; FAILED_PRECONDITION where jd_initialize() was needed
 *   and not called; RESOURCE_EXHAUSTED.
 * Source: jax.make_mesh, jax.sharding.Mesh.
 */
JD_API jd_status jd_mesh_create(jd_mesh **ret_mesh, int ndim, const int *shape,
                                const char *const *axis_names,
                                const jd_device *const *devices);

/*
 * Frees the mesh and its shards; NULL is allowed, and so is a mesh from
 * before jd_shutdown().
 * Collective: all processes of the mesh; no collective of it is under way.
 */
JD_API void jd_mesh_destroy(jd_mesh *mesh);

#ifdef __cplusplus
}
#endif

#endif

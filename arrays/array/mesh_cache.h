/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mesh_cache.h - meshes that the calls on arrays use among themselves: one axis
 * of the devices that a call needs. The same devices in the same order give
 * the same mesh again: a mesh's collectives have to be met by all when it goes,
 * and no call on an array waits for that. They are kept as long as the world.
 *
 *     jd_mesh *mesh;
 *     status = jd__mesh_cache_get("jd_process_allgather_array", devices, n,
 * &mesh);
 *     ... jd_all_gather(jd_mesh_shard(mesh), NULL, ...) ...
 *
 * All processes of the devices ask for the same meshes in the same order.
 * Threads: any.
 */
#ifndef ARRAYS_ARRAY_MESH_CACHE_H
#define ARRAYS_ARRAY_MESH_CACHE_H

#include "base/status.h"
#include "jd_mesh.h"

/* Returns JD_OK; what jd_mesh_create() says, after the operation. The mesh
 * stays this file's. */
jd_status jd__mesh_cache_get(const char *operation,
                             const jd_device *const *devices, int count,
                             jd_mesh **ret_mesh);

/* The same with the devices in rows, whose axis "all" is the last of two: its
 * collectives are each row's. */
jd_status jd__mesh_cache_of_rows(const char *operation,
                                 const jd_device *const *devices, int count,
                                 int row, jd_mesh **ret_mesh);

#endif

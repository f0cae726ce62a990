/* SPDX-License-Identifier: BSD-3-Clause */
/* shard_map.h - what jd_shard_map() says of the cores that there are. */
#ifndef COLLECTIVES_MESH_SHARD_MAP_H
#define COLLECTIVES_MESH_SHARD_MAP_H

#include "collectives/mesh/mesh.h"

/*
 * Warns, once in a world and by the lowest process that it is true of, where a
 * process has more devices in the mesh than cores that it may use, and its
 * host has more.
 */
void jd__shard_map_warn_of_cores(const struct jd_mesh *mesh);

#endif

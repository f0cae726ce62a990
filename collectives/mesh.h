/* SPDX-License-Identifier: BSD-3-Clause */
/* mesh.h - what a mesh and a shard are, for the files that serve them. */
#ifndef COLLECTIVES_MESH_H
#define COLLECTIVES_MESH_H

#include "collectives/failure.h"
#include "collectives/platform.h"
#include "jd_mesh.h"
#include "jd_shard.h"

#include <stdbool.h>
#include <stddef.h>

#define JD_MAX_AXES 8

struct jd_shard {
    struct jd_mesh *mesh;
    int position;             /* its device's, row-major */
    struct jd_clique *clique; /* made by the first collective */
    struct jd_failure failure;
};

struct jd_mesh {
    const struct jd_runtime *runtime; /* while its number is world */
    uint64_t world;
    const struct jd_platform *platform;
    int ndim;
    int shape[JD_MAX_AXES];
    char *axis_names[JD_MAX_AXES];
    char *axes;   /* for sentences: "\"data\"" */
    char *detail; /* " over axis \"data\"" */
    int size;
    const jd_device **devices; /* row-major; the structs are the runtime's */
    int num_shards;            /* devices of this process */
    struct jd_shard *shards;
};

/* All devices of the default platform, host by host, into an array with a
 * place for each. */
void jd__mesh_order_devices(const struct jd_topology *topology,
                            const jd_device **ret_devices);

/* FAILED_PRECONDITION where the mesh is of a world that has ended, and what
 * jd__runtime_get says where there is no world. */
jd_status jd__mesh_check_world(const struct jd_mesh *mesh,
                               const char *operation);

/* A choice of a mesh's axes, the most significant first. */
struct jd_axes {
    int count;
    int axis[JD_MAX_AXES];
};

/*
 * Reads "data", "data,model", or NULL for all axes.
 * Returns: JD_OK; INVALID_ARGUMENT naming operation, the name that is unknown,
 *   empty or there twice, and the names that the mesh has.
 */
jd_status jd__axes_parse(const struct jd_mesh *mesh, const char *text,
                         const char *operation, struct jd_axes *ret_axes);

/* The position of a device along the axes, and how many positions there are. */
int jd__axes_index(const struct jd_mesh *mesh, const struct jd_axes *axes,
                   int position);
int jd__axes_size(const struct jd_mesh *mesh, const struct jd_axes *axes);

/* INVALID_ARGUMENT that says why a process may have no shard. */
jd_status jd__fail_null_shard(const char *operation);

#endif

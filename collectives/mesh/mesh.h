/* SPDX-License-Identifier: BSD-3-Clause */
/* mesh.h - what a mesh is, for the files that serve it. */
#ifndef COLLECTIVES_MESH_MESH_H
#define COLLECTIVES_MESH_MESH_H

#include "collectives/mesh/body_failure.h"
#include "collectives/platform/platform.h"
#include "jd_mesh.h"
#include "jd_shard.h"

#include <stdbool.h>
#include <stddef.h>

#define JD_MAX_AXES 8

struct jd_mesh {
    const struct jd_runtime *runtime; /* while its number is world */
    uint64_t world;
    const struct jd_platform *platform;
    int ndim;
    int shape[JD_MAX_AXES];
    char *axis_names[JD_MAX_AXES];
    char *axes; /* for sentences: "\"data\", \"model\"" */
    int size;
    const jd_device **devices; /* row-major; the structs are the runtime's */
    int num_shards;            /* devices of this process */
    struct jd_shard *shards;
    const jd_device **local_devices; /* the shards' */
    struct jd_body_failure body_failure;
    struct jd_nccl_options nccl; /* that are set */
};

/* ---- making ------------------------------------------------------------- */

/* INVALID_ARGUMENT naming what is wrong with the number of axes, or with a
 * name: NULL, empty, there twice, or with a character that has a meaning. */
jd_status jd__mesh_check_names(int ndim, const char *const *axis_names);

/* Sizes as jd_mesh_create is given them. */
struct jd_mesh_sizes {
    int ndim;
    const int *shape;
    const char *const *axis_names;
    int available; /* how many devices there are; -1: devices are given */
};

/*
 * The sizes with -1 replaced, and their product.
 * Returns: JD_OK; INVALID_ARGUMENT naming the axis, or all sizes and what
 *   their product should be.
 */
jd_status jd__mesh_resolve_sizes(const struct jd_mesh_sizes *sizes,
                                 int *ret_shape, int *ret_size);

/* INVALID_ARGUMENT where one of the devices is NULL, no device of the job,
 * there twice (both places are named), or of another platform. */
jd_status jd__mesh_check_devices(const struct jd_topology *topology,
                                 const jd_device *const *devices, int count);

/*
 * All devices of the default platform, into an array with a place for each. In
 * a mesh of one dimension: by process, wherever the processes are. In one of
 * several: host by host (a slice's hosts follow each other), within a host by
 * process.
 * Returns: JD_OK; RESOURCE_EXHAUSTED.
 */
jd_status jd__mesh_order_devices(const struct jd_topology *topology, int ndim,
                                 const jd_device **ret_devices);

/* FAILED_PRECONDITION where the mesh is of a world that has ended. */
jd_status jd__mesh_check_world(const struct jd_mesh *mesh,
                               const char *operation);

/* ---- axes and positions ------------------------------------------------- */

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

bool jd__axes_equal(const struct jd_axes *a, const struct jd_axes *b);

/* "\"data\", \"model\"", malloc'ed; NULL where there is no memory. */
char *jd__axes_print(const struct jd_mesh *mesh, const struct jd_axes *axes);

/* Where a place of the mesh is along one axis. */
int jd__mesh_coordinate(const struct jd_mesh *mesh, int position, int axis);

/* The index of a place along the axes, how many there are, and the place that
 * has another index and is the same along all other axes. */
int jd__axes_index(const struct jd_mesh *mesh, const struct jd_axes *axes,
                   int position);
int jd__axes_size(const struct jd_mesh *mesh, const struct jd_axes *axes);
int jd__axes_position(const struct jd_mesh *mesh, const struct jd_axes *axes,
                      int position, int index);

#endif

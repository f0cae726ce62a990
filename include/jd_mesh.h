/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * jd_mesh.h - devices arranged along named axes.
 *
 *     jd_mesh *mesh;
 *     const int shape[] = { 2, -1 };
 *     const char *const axes[] = { "data", "model" };
 *     JD_CHECK(jd_mesh_create(&mesh, 2, shape, axes, NULL));
 *     JD_CHECK(jd_mesh_visualize(mesh, stdout));
 *     ...
 *     jd_mesh_destroy(mesh);
 */
#ifndef JD_MESH_H
#define JD_MESH_H

#include "jd_device.h"
#include "jd_status.h"

#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct jd_mesh jd_mesh;

/*
 * Makes a mesh of ndim axes (1 to 8) with the given sizes and names, and puts
 * the devices at its places, row-major: the last axis is the one whose
 * neighbours follow each other in the list.
 *
 * devices has as many as the product of the sizes: all of the job's, or some,
 * in any order. NULL stands for all devices of the default platform. In a mesh
 * of one axis they are in process order, wherever the processes are: with one
 * device in each process, index i along the axis is process i. In one of
 * several axes they are host by host (a slice's hosts together), so that the
 * last axis stays inside a host where its size divides the number of devices
 * there: where a launcher deals processes to hosts by turns (srun -m cyclic,
 * mpirun --map-by node), an index along the axes is then no process index, and
 * jd_axis_index() is the one that collectives count by. One size may be -1:
 * what is left of all devices. Several slices, and hosts with unlike numbers
 * of devices, are as good as any.
 *
 * Collective: no communication; but all processes of the mesh must make the
 *   same meshes in the same order.
 * Threads: any. Owns: the caller, who gives it to jd_mesh_destroy(); names,
 *   sizes and the list of devices are copied.
 * Returns: JD_OK; INVALID_ARGUMENT for a NULL, a size that is not positive,
 *   sizes whose product is not the number of devices, a name that is empty,
 *   "-", there twice, or has a ',' or '+', a device that is there twice, is
 *   none of this job's, or is of another platform than the first;
 *   UNIMPLEMENTED where this build has no collectives on the platform;
 *   FAILED_PRECONDITION where jd_initialize() was needed and not called;
 *   RESOURCE_EXHAUSTED.
 * Source: jax.make_mesh, jax.sharding.Mesh.
 */
JD_API jd_status jd_mesh_create(jd_mesh **ret_mesh, int ndim, const int *shape,
                                const char *const *axis_names,
                                const jd_device *const *devices);

/*
 * Sets an option of NCCL for the mesh's collectives, by the name that NCCL's
 * ncclConfig_t has for it; what is not set is as NCCL has it. Where there is
 * other work on the GPUs
 *
 *     JD_CHECK(jd_mesh_set_nccl(mesh, "maxCTAs", 8));
 *
 * leaves it more of their multiprocessors than NCCL would.
 *
 *     minCTAs, maxCTAs   how many blocks of threads a collective has, from 1
 *                        on; NCCL cuts what is beyond its most
 *     CTAPolicy          0: NCCL's default; 1: few, for efficiency; 2: none
 *                        where NCCL can do without them (2.28)
 *     trafficClass       of the network, from 0 on: what it means is the
 *                        network's (on InfiniBand the service level)
 *
 * They are of the collectives on the mesh's shards and on those that
 * jd_shard_groups() derives. Meshes of the same devices with other options have
 * communicators of their own. Calls on arrays have none of them, nor has a mesh
 * of jd_sharding_mesh(). Set again, the last value counts. Where the NCCL that
 * is used has no such option, a warning says so once; a variable of NCCL's
 * (NCCL_MAX_CTAS) goes before. On a mesh of cpu devices options are checked and
 * kept, and have no effect.
 *
 * Collective: no communication; but all processes of the mesh must set the
 *   same, before its first collective. Where they do not, the first one is
 *   INVALID_ARGUMENT on all of them, and names two processes and what they set.
 * Threads: one, while none uses the mesh.
 * Returns: JD_OK; INVALID_ARGUMENT for a NULL, another name, a value that the
 *   option has not, and minCTAs above maxCTAs; FAILED_PRECONDITION where a
 *   collective of the mesh was called, and for a mesh from before
 *   jd_shutdown(). What was set stays then.
 * Source: ncclConfig_t; MPI_Comm_set_info.
 */
JD_API jd_status jd_mesh_set_nccl(jd_mesh *mesh, const char *name, int value);

/*
 * Cuts n into the sizes of ndim axes (1 to 8), as evenly as it can be done:
 * sizes of shape that are 0 are filled in, the others stay. Of 12 devices
 *
 *     int shape[] = { 0, 0 };
 *     JD_CHECK(jd_mesh_shape(jd_device_count(), 2, shape));
 *
 * makes 4 x 3.
 *
 * The product of all is n. Those that are filled in become no greater from one
 * to the next, and the first and the last of them differ as little as they can;
 * where several choices are as good, it is that whose first is least, then
 * whose second is.
 *
 * Collective: no; the same numbers give the same sizes on every process. Needs
 *   no jd_initialize().
 * Threads: any. Returns: JD_OK; INVALID_ARGUMENT for a NULL, an n below 1,
 *   another ndim, a negative size, and sizes whose product does not divide n,
 *   or is not n where none is 0.
 * Source: MPI_Dims_create.
 */
JD_API jd_status jd_mesh_shape(int n, int ndim, int *shape);

/*
 * The number of the mesh's axes, and their names and sizes in its order: what
 * jd_mesh_create() was given, with the size that a -1 became. They are the
 * mesh's, after jd_shutdown() too. Of a NULL it is -1, NULL and NULL, with the
 * reason in jd_error_message().
 *
 * Collective: no. Threads: any. Source: Mesh.axis_names, Mesh.axis_sizes.
 */
JD_API int jd_mesh_ndim(const jd_mesh *mesh);
JD_API const char *const *jd_mesh_axis_names(const jd_mesh *mesh);
JD_API const int *jd_mesh_axis_sizes(const jd_mesh *mesh);

/*
 * The devices at the mesh's places, row-major, and those of them that are this
 * process's, each of which has a shard; *ret_count gets their number (NULL
 * allowed). A process without a device in the mesh has 0 of its own. The lists
 * are the mesh's. NULL and -1 for a NULL, for a mesh from before jd_shutdown()
 * and in a forked child, with the reason in jd_error_message().
 *
 * Collective: no. Threads: any. Source: Mesh.devices, Mesh.local_devices.
 */
JD_API const jd_device *const *jd_mesh_devices(const jd_mesh *mesh,
                                               int *ret_count);
JD_API const jd_device *const *jd_mesh_local_devices(const jd_mesh *mesh,
                                                     int *ret_count);

/* clang-format off */
/*
 * Writes the mesh for a person: its axes, and at each place the host, the
 * process, and that process's number of the device. A table of the last two
 * axes, for each index of those before. Long axes are cut in the middle.
 *
 *     mesh "data" 2 x "model" 2: 4 cpu devices of 4 processes on 2 hosts
 *     (host process:device)
 *             model 0  model 1
 *     data 0  n0 0:0   n0 1:0
 *     data 1  n1 2:0   n1 3:0
 *
 * In colour, one for each host, where jd_visualize_sharding() has colours.
 *
 * Collective: no; usually process 0 alone does it.
 * Threads: any. Returns: JD_OK; INVALID_ARGUMENT for a NULL;
 *   FAILED_PRECONDITION for a mesh from before jd_shutdown();
 *   RESOURCE_EXHAUSTED; DATA_LOSS where out cannot be written.
 * Source: jax.debug.visualize_sharding.
 */
/* clang-format on */
JD_API jd_status jd_mesh_visualize(const jd_mesh *mesh, FILE *out);

/*
 * Writes what jd_mesh_visualize() writes as a picture in SVG, which needs no
 * other file: a box at each place, in the colour of its host. Letters are dark
 * on light, or light on dark where the reader asks for it.
 *
 *     FILE *out = fopen("mesh.svg", "w");
 *     JD_CHECK(jd_mesh_visualize_svg(mesh, out));
 *
 * Collective: no. Threads: any. Returns: as jd_mesh_visualize().
 */
JD_API jd_status jd_mesh_visualize_svg(const jd_mesh *mesh, FILE *out);

/*
 * Frees the mesh, its shards, and what only its collectives have used; NULL is
 * allowed, and so is a mesh from before jd_shutdown().
 * Collective: all processes of the mesh, in the same order as the collectives
 *   on its devices; none of the mesh's is under way.
 */
JD_API void jd_mesh_destroy(jd_mesh *mesh);

#ifdef __cplusplus
}
#endif

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cores.h - warnings where a process may use too few of its host's cores,
 * though there are more: a launcher has bound it. Once in a world each, by the
 * lowest process that it is true of.
 */
#ifndef COLLECTIVES_MESH_CORES_H
#define COLLECTIVES_MESH_CORES_H

#include "collectives/mesh/mesh.h"

/* Fewer than it has devices in the mesh, whose bodies take turns then. */
bool jd__cores_are_fewer_than_devices(const struct jd_mesh *mesh, int process);
void jd__cores_warn_of_devices(const struct jd_mesh *mesh);

/* Fewer than the threads of a process on GPUs want, its own, NCCL's and CUDA's,
 * where its host has as many for each of its processes. */
bool jd__cores_are_few_for_gpus(const struct jd_mesh *mesh, int process);
void jd__cores_warn_of_gpus(const struct jd_mesh *mesh);

#endif

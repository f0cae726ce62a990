/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * jd_shard.h - one local device's place in a mesh: what a collective is
 * called on.
 *
 *     jd_shard *me = jd_mesh_shard(mesh);
 *     int i = jd_axis_index(me, "data"), n = jd_axis_size(me, "data");
 */
#ifndef JD_SHARD_H
#define JD_SHARD_H

#include "jd_mesh.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct jd_shard jd_shard;

/*
 * The shard of a process that has exactly one device in the mesh; NULL where
 * it has none or several (each call on a NULL shard is then INVALID_ARGUMENT
 * with the reason).
 * Threads: any. Owns: the mesh.
 */
JD_API jd_shard *jd_mesh_shard(jd_mesh *mesh);

/*
 * The shard's position along the axes, row-major where there are several,
 * and their size. axes is one name, several ("data,model", the first most
 * significant) or NULL for all. -1 for a NULL shard or an unknown name, with
 * the reason in jd_error_message().
 * Threads: any. Source: jax.lax.axis_index, jax.lax.axis_size.
 */
JD_API int jd_axis_index(const jd_shard *shard, const char *axes);
JD_API int jd_axis_size(const jd_shard *shard, const char *axes);

#ifdef __cplusplus
}
#endif

#endif

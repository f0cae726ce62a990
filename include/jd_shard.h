/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * jd_shard.h - one local device's place in a mesh: what a collective is
 * called on.
 *
 *     static jd_status body(jd_shard *me, void *arg)
 *     {
 *         int i = jd_axis_index(me, "data"), n = jd_axis_size(me, "data");
 *         return jd_psum(me, "data", ...);
 *     }
 *     JD_CHECK(jd_shard_map(mesh, body, NULL));
 *
 * A process with one device in the mesh needs no body:
 *
 *     jd_shard *me = jd_mesh_shard(mesh);
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
 * Runs body(shard, arg) for every device that this process has in the mesh, a
 * thread each, all at the same time, and waits for them; where there is one,
 * on the calling thread, and where there is none, not at all.
 *
 * A body that does not return JD_OK (jd_fail_with() says why) ends the others:
 * their collectives on the mesh return ABORTED with its sentence, those under
 * way too. The other processes hear of it as by jd_report_error(), and end.
 * Nothing can be called on the mesh any more but jd_mesh_destroy().
 *
 * A body calls no jd_shard_map() of its own mesh: in a process with one device
 * it would run, and with several two threads would call for one device, which
 * is FAILED_PRECONDITION.
 *
 * Where this process may use fewer cores than it has devices and its host has
 * more, a warning says so once: mpirun's --bind-to none changes it.
 *
 * Collective: the processes of the mesh, where the bodies are.
 * Blocks: until all bodies have returned; what they wait for has deadlines.
 *   After another process's failure it does not return: the process ends, with
 *   a callback of jd_on_peer_failure() when that has returned.
 * Threads: one at a time for each mesh. The shards are the mesh's.
 * Returns: JD_OK; the status of the first body that failed, with its sentence
 *   in jd_error_message(), after the device that it was for;
 *   FAILED_PRECONDITION where a body returns JD_OK between jd_group_begin()
 *   and jd_group_end(), and for a mesh from before jd_shutdown();
 *   INVALID_ARGUMENT for a NULL; RESOURCE_EXHAUSTED where a thread cannot be
 *   started (bodies that were, are ended).
 * Source: jax.shard_map.
 */
JD_API jd_status jd_shard_map(jd_mesh *mesh,
                              jd_status (*body)(jd_shard *shard, void *arg),
                              void *arg);

/*
 * The shard's index along the axes, row-major where there are several, and
 * their size. axes is one name, several ("data,model" or "data+model", the
 * first most significant) or NULL for all. -1 for a NULL shard or an unknown
 * name, with the reason in jd_error_message(). Threads: any. Source:
 * jax.lax.axis_index, jax.lax.axis_size.
 */
JD_API int jd_axis_index(const jd_shard *shard, const char *axes);
JD_API int jd_axis_size(const jd_shard *shard, const char *axes);

/*
 * The shard's index along each axis of its mesh, in the mesh's order; ndim is
 * their number.
 * Threads: any. Returns: JD_OK; INVALID_ARGUMENT for a NULL or another ndim.
 */
JD_API jd_status jd_shard_coordinates(const jd_shard *shard, int ndim,
                                      int *ret_coordinates);

/* The shard's device; NULL for a NULL shard and for one from before
 * jd_shutdown(), with the reason in jd_error_message(). Threads: any. */
JD_API const jd_device *jd_shard_device(const jd_shard *shard);

/*
 * Cuts the axes into groups: collectives along these axes on the derived shard
 * are among the members of its group only, in the order in which the group
 * lists them, which is also their index and their rank order in results.
 *
 *     const int sizes[] = { 2, 2 }, indices[] = { 0, 1, 3, 2 };
 *     jd_shard *half;
 *     JD_CHECK(jd_shard_groups(&half, me, "data", 2, sizes, indices));
 *     JD_CHECK(jd_psum(half, "data", ...));
 *
 * These are the groups of the members 0 and 1, and 3 and 2.
 *
 * group_sizes has num_groups numbers; indices has the first group's indices
 * along the axes, then the second's, and so on: each of them once. Groups may
 * be of unlike sizes. The derived shard knows these axes alone, named in this
 * order, and they are what NULL means on it; its device and its coordinates are
 * the shard's. The same groups give the same derived shard again.
 *
 * Collective: no communication; but all members along the axes make the same
 *   groups.
 * Threads: as a collective on the shard. Owns: the mesh.
 * Returns: JD_OK; INVALID_ARGUMENT for a NULL, an unknown axis, a derived
 *   shard, a group without members, and where the groups do not hold each
 *   index once, naming it; RESOURCE_EXHAUSTED.
 * Source: axis_index_groups of jax.lax's collectives.
 */
JD_API jd_status jd_shard_groups(jd_shard **ret_shard, jd_shard *shard,
                                 const char *axes, int num_groups,
                                 const int *group_sizes, const int *indices);

#ifdef __cplusplus
}
#endif

#endif

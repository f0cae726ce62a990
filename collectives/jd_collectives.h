/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * jd_collectives.h - collectives over named mesh axes, with the meaning of
 * jax.lax, on contiguous buffers.
 *
 *     JD_CHECK(jd_psum(me, "data", gradient, gradient, n, JD_F64));
 *
 * What holds for all of them:
 * axes        one name, several ("data,model", first most significant), or
 *             NULL for all.
 * count       elements, not bytes; 0 is allowed, needs no buffers, and still
 *             meets the others (a message to each).
 * buffers     any alignment, in host memory.
 * Collective: all members along the axes, in the same order, with the same
 *             count and type. Where they differ, every member gets
 *             INVALID_ARGUMENT naming two processes and what they called, and
 *             the job can go on. A call that is refused for its own arguments
 *             sends nothing: the others wait for it.
 * Blocks:     until in may be written and out may be read; at most
 *             collective_timeout, then DEADLINE_EXCEEDED says whom it waited
 *             for. After a failure the buffers are undefined, MPI may still
 *             touch them, and each later call on the shard is ABORTED with
 *             what failed first: the job should end. A mesh's first
 *             collective is where its processes meet for the first time.
 * Threads:    one shard, one thread at a time; in this version also one
 *             thread of the process at a time, as MPI_THREAD_SERIALIZED asks.
 * In place:   in == out, except all_gather (in == out + index * count); any
 *             other overlap is INVALID_ARGUMENT.
 * Returns:    JD_OK; INVALID_ARGUMENT (NULL shard, unknown axis or type, NULL
 *             buffer with a count, overlap, count too large, members that
 *             differ); UNIMPLEMENTED for a type without that operation, or
 *             where a process has several devices in the mesh;
 *             FAILED_PRECONDITION for a mesh from before jd_shutdown();
 *             DEADLINE_EXCEEDED; ABORTED; INTERNAL when MPI fails;
 *             RESOURCE_EXHAUSTED.
 */
#ifndef JD_COLLECTIVES_H
#define JD_COLLECTIVES_H

#include "jd_dtype.h"
#include "jd_shard.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Adds element by element, in the order of the members; out[0..count) is the
 * same on every member, bit for bit. Integers wrap. This version has sums of
 * all integers, F32, F64, C64 and C128. Source: jax.lax.psum.
 */
JD_API jd_status jd_psum(jd_shard *shard, const char *axes, const void *in,
                         void *out, size_t count, jd_dtype dtype);

/*
 * Concatenates: out[i * count..(i + 1) * count) is member i's in[0..count).
 * Any type. Source: jax.lax.all_gather (tiled, leading axis).
 */
JD_API jd_status jd_all_gather(jd_shard *shard, const char *axes,
                               const void *in, void *out, size_t count,
                               jd_dtype dtype);

/*
 * Gives every member the member source's in[0..count). in is read on source
 * alone, and may be NULL elsewhere. Any type. Source: jax.lax.pbroadcast.
 */
JD_API jd_status jd_pbroadcast(jd_shard *shard, const char *axes, int source,
                               const void *in, void *out, size_t count,
                               jd_dtype dtype);

#ifdef __cplusplus
}
#endif

#endif

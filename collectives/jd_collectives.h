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
 * count       elements, not bytes; 0 is allowed and still meets the others.
 * Collective: all members along the axes, in the same order, with the same
 *             count and type.
 * Blocks:     until in may be written and out may be read; at most
 *             collective_timeout, then DEADLINE_EXCEEDED says whom it waited
 *             for. After a failure the buffers are undefined, and MPI may
 *             still touch them: the job should end.
 * Threads:    one shard, one thread at a time.
 * In place:   in == out, except all_gather (in == out + index * count); any
 *             other overlap is INVALID_ARGUMENT.
 * Returns:    JD_OK; INVALID_ARGUMENT (NULL shard, unknown axis or type, NULL
 *             buffer with a count, overlap, count too large); UNIMPLEMENTED
 *             for a type without that operation; DEADLINE_EXCEEDED; INTERNAL
 *             when MPI fails; RESOURCE_EXHAUSTED.
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
 * Adds element by element; out[0..count) is the same on every member, bit
 * for bit. Integers wrap. Source: jax.lax.psum.
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
 * alone. Any type. Source: jax.lax.pbroadcast.
 */
JD_API jd_status jd_pbroadcast(jd_shard *shard, const char *axes, int source,
                               const void *in, void *out, size_t count,
                               jd_dtype dtype);

#ifdef __cplusplus
}
#endif

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * jd_halo.h - the halos of a block: what a stencil reads of its neighbours'.
 *
 *     const jd_halo_dim dims[] = { { 10, 1, 1, "y", 0 },
 *                                  { 64, 1, 1, "x", 1 } };
 *     JD_CHECK(jd_halo_exchange(me, values, JD_F64, 2, dims, 0));
 */
#ifndef JD_HALO_H
#define JD_HALO_H

#include "jd_dtype.h"
#include "jd_shard.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A dimension of a block: size elements, of which the first `before` and the
 * last `after` are halo, and the others the member's own. Where it has an axis,
 * those of the neighbours along that follow on: one name, or several. periodic:
 * the last member's neighbour is the first; without an axis, the block's own
 * ends meet.
 */
typedef struct jd_halo_dim {
    int64_t size;
    int64_t before;
    int64_t after;
    const char *axis; /* NULL: the dimension is not cut */
    int periodic;
} jd_halo_dim;

/*
 * Fills the halos of a row-major block out of the blocks of the neighbours, all
 * sides at once: `before` elements of each row are the last own ones of the
 * member before, `after` the first own ones of that behind. At a wall, where
 * there is no neighbour, the halo stays as it is. Without corners what lies in
 * the halo of two dimensions stays as it is too; with them it comes from the
 * neighbour across the corner, and the halo at a wall counts as the domain: it
 * comes along with the neighbours' rows. Any type.
 *
 * Collective: all members along the axes together, with the same ndim, before,
 *   after, axes, periodic, corners and type. Sizes may differ along a
 *   dimension's own axis.
 * Blocks: until the block may be read and written; on cuda too, where faces in
 *   device memory are packed by copies behind what is on the shard's stream. A
 *   graph that is captured cannot have it.
 * Threads, failures: as jd_collectives.h says. The memory to pack faces in
 * stays with the shard. Returns: JD_OK; INVALID_ARGUMENT for a NULL block with
 * elements, no dimension with an axis, an axis that is unknown or there twice,
 * halos that leave a member less of its own than they are wide, naming the
 * dimension and its axis, and on both of two neighbours whose halos, sizes,
 * ndim or corners differ, naming the dimension, its axis and what the two have;
 * where one has no halo at that side, or a wall, the other waits for it until
 * the deadline; the failures of a collective. Source: MPI_Neighbor_alltoallw of
 * subarrays.
 */
JD_API jd_status jd_halo_exchange(jd_shard *shard, void *block, jd_dtype dtype,
                                  int ndim, const jd_halo_dim *dims,
                                  int corners);

#ifdef __cplusplus
}
#endif

#endif

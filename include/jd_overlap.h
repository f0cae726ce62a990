/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * jd_overlap.h - calls that go on while the program computes.
 *
 *     jd_request *sum;
 *     JD_CHECK(jd_psum_start(me, "data", gradient, total, n, JD_F32, &sum));
 *     compute_meanwhile();
 *     JD_CHECK(jd_wait(&sum));
 *
 * What holds for all jd_..._start():
 * meaning     that of the call without _start (jd_collectives.h, jd_halo.h).
 *             They take its arguments, return when it is queued, and
 *             *ret_request is the call; jd_wait() returns when it is done, with
 *             its status.
 * order       the calls that are started for one device run one after another,
 *             in the order in which they were started, whichever of its meshes
 *             they are for. All members start them in the same order; calls
 *             that are not started may come anywhere between them, but not on
 *             cuda, where all are queued on one stream.
 * buffers     of the call until jd_wait() has returned: in is not written, out
 *             is neither read nor written. Texts and lists are copied.
 * Blocks:     for no other process, but where progress says so. On cuda the
 *             call is queued on the shard's stream, as jd_psum() is, and blocks
 *             where that does: with host memory, and jd_halo_start() until the
 *             halos are there.
 * progress    a thread of the process's own runs them on cpu, from the first
 *             one on. It needs a core, or what others leave of one. Where MPI
 *             was initialised with less than MPI_THREAD_SERIALIZED there is
 *             none: each call is done when its jd_..._start() returns.
 * Threads:    as the call: one device, one thread at a time.
 * Returns:    JD_OK; INVALID_ARGUMENT for a NULL shard or ret_request;
 *             FAILED_PRECONDITION for a mesh from before jd_shutdown() and in a
 *             forked child; RESOURCE_EXHAUSTED. All else jd_wait() returns.
 *
 * jd_shutdown() is FAILED_PRECONDITION while a call is started and not done.
 */
#ifndef JD_OVERLAP_H
#define JD_OVERLAP_H

#include "jd_dtype.h"
#include "jd_halo.h"
#include "jd_shard.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A call that was started, until jd_wait() or jd_test() ends it. */
typedef struct jd_request jd_request;

/*
 * Waits for a call that was started, frees *request and makes it NULL; where it
 * is NULL already there is nothing to wait for.
 *
 * Blocks: until the call is done, and those that were started for the device
 *   before it; each has the deadline of the call itself, from when it runs. On
 *   cuda until the shard's stream is done.
 * Threads: any; each request, one. Returns: what the call without _start
 *   returns, with its sentence; INVALID_ARGUMENT for a NULL.
 * Source: MPI_Wait, torch.distributed's Work.wait.
 */
JD_API jd_status jd_wait(jd_request **request);

/*
 * Looks whether a call that was started is done, and ends it where it is: then
 * *ret_is_done is 1 and all is as after jd_wait(), *request NULL and the
 * status the call's own. Else *ret_is_done is 0, and the status JD_OK.
 *
 *     int is_done = 0;
 *     while (!is_done) {
 *         JD_CHECK(jd_test(&sum, &is_done));
 *         compute_meanwhile();
 *     }
 *
 * Blocks: never. It does not push the call: the thread that runs it does; where
 *   there is none the call was done when it was started. On cuda the shard's
 *   stream is asked, and the call is done when all is that is queued there; a
 *   peer that does not come is found by jd_wait(), which has a deadline.
 * Threads: as jd_wait(). Returns: as jd_wait(), of a call that is done, where
 *   *ret_is_done is 1 after a failure too; INVALID_ARGUMENT for a NULL, where
 *   the request stays.
 * Source: MPI_Test.
 */
JD_API jd_status jd_test(jd_request **request, int *ret_is_done);

/* ---- collectives -------------------------------------------------------- */

/*
 * jd_psum(), jd_pmean(), jd_pmax(), jd_pmin(), jd_pprod().
 * Source: MPI_Iallreduce.
 */
JD_API jd_status jd_psum_start(jd_shard *shard, const char *axes,
                               const void *in, void *out, size_t count,
                               jd_dtype dtype, jd_request **ret_request);
JD_API jd_status jd_pmean_start(jd_shard *shard, const char *axes,
                                const void *in, void *out, size_t count,
                                jd_dtype dtype, jd_request **ret_request);
JD_API jd_status jd_pmax_start(jd_shard *shard, const char *axes,
                               const void *in, void *out, size_t count,
                               jd_dtype dtype, jd_request **ret_request);
JD_API jd_status jd_pmin_start(jd_shard *shard, const char *axes,
                               const void *in, void *out, size_t count,
                               jd_dtype dtype, jd_request **ret_request);
JD_API jd_status jd_pprod_start(jd_shard *shard, const char *axes,
                                const void *in, void *out, size_t count,
                                jd_dtype dtype, jd_request **ret_request);

/* jd_pand(), jd_por(), jd_pxor(). Source: MPI_Iallreduce. */
JD_API jd_status jd_pand_start(jd_shard *shard, const char *axes,
                               const void *in, void *out, size_t count,
                               jd_dtype dtype, jd_request **ret_request);
JD_API jd_status jd_por_start(jd_shard *shard, const char *axes, const void *in,
                              void *out, size_t count, jd_dtype dtype,
                              jd_request **ret_request);
JD_API jd_status jd_pxor_start(jd_shard *shard, const char *axes,
                               const void *in, void *out, size_t count,
                               jd_dtype dtype, jd_request **ret_request);

/*
 * jd_psum_scatter(), jd_all_gather(), jd_all_to_all(): count is of each block.
 * Source: MPI_Ireduce_scatter_block, MPI_Iallgather, MPI_Ialltoall.
 */
JD_API jd_status jd_psum_scatter_start(jd_shard *shard, const char *axes,
                                       const void *in, void *out, size_t count,
                                       jd_dtype dtype,
                                       jd_request **ret_request);
JD_API jd_status jd_all_gather_start(jd_shard *shard, const char *axes,
                                     const void *in, void *out, size_t count,
                                     jd_dtype dtype, jd_request **ret_request);
JD_API jd_status jd_all_to_all_start(jd_shard *shard, const char *axes,
                                     const void *in, void *out, size_t count,
                                     jd_dtype dtype, jd_request **ret_request);

/*
 * jd_pbroadcast() of member source's in, and jd_barrier().
 * Source: MPI_Ibcast, MPI_Ibarrier.
 */
JD_API jd_status jd_pbroadcast_start(jd_shard *shard, const char *axes,
                                     int source, const void *in, void *out,
                                     size_t count, jd_dtype dtype,
                                     jd_request **ret_request);
JD_API jd_status jd_barrier_start(jd_shard *shard, const char *axes,
                                  jd_request **ret_request);

/* ---- sends, receives, halos --------------------------------------------- */

/*
 * Ends the group of sends and receives that jd_group_begin() opened, as
 * jd_group_end() does, and starts what is in it. Its other ends may be in
 * jd_group_start() alone: what is started finds what is started.
 *
 *     JD_CHECK(jd_group_begin(me));
 *     JD_CHECK(jd_recv(me, "x", left, halo, n, JD_F64));
 *     JD_CHECK(jd_send(me, "x", right, edge, n, JD_F64));
 *     JD_CHECK(jd_group_start(me, &moves));
 *     compute_meanwhile();
 *     JD_CHECK(jd_wait(&moves));
 *
 * Returns besides: FAILED_PRECONDITION where no group is open. Where it fails
 *   for want of memory the group stays open.
 * Source: MPI_Irecv, MPI_Isend, MPI_Waitall.
 */
JD_API jd_status jd_group_start(jd_shard *shard, jd_request **ret_request);

/*
 * jd_halo_exchange(): until jd_wait() the block's halos are neither read nor
 * written, and its own elements not written: what is computed meanwhile goes
 * into another block. Source: MPI_Ineighbor_alltoallw.
 */
JD_API jd_status jd_halo_start(jd_shard *shard, void *block, jd_dtype dtype,
                               int ndim, const jd_halo_dim *dims, int corners,
                               jd_request **ret_request);

#ifdef __cplusplus
}
#endif

#endif

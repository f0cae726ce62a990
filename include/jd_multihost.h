/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * jd_multihost.h - what processes (not devices) do together, on lists of
 * leaves. A pytree of JAX is an array of leaves here; all leaves travel in
 * as few messages as they allow.
 *
 *     const int64_t matrix[] = { 64, 10 }, vector[] = { 10 };
 *     jd_leaf model[] = {
 *         { weights, JD_F64, 2, matrix },
 *         { bias, JD_F64, 1, vector },
 *     };
 *     JD_CHECK(jd_broadcast_one_to_all(model, 2, 0));
 *
 * What holds for all of them:
 * Collective: every process of the job, in the same order. Where processes
 *             pass different lists (number, types, shapes) or make different
 *             calls, every one gets INVALID_ARGUMENT that names two processes
 *             and what each called. A call that is refused for its own
 *             arguments sends nothing: the others wait for it.
 * Blocks:     at most collective_timeout, then DEADLINE_EXCEEDED says whom it
 *             waited for, and each later call is ABORTED: the job should end.
 * Threads:    one at a time, and no collective at the same time.
 * Returns:    JD_OK; INVALID_ARGUMENT; FAILED_PRECONDITION where
 *             jd_initialize() was needed and not called; DEADLINE_EXCEEDED;
 *             ABORTED; INTERNAL when MPI fails; RESOURCE_EXHAUSTED.
 */
#ifndef JD_MULTIHOST_H
#define JD_MULTIHOST_H

#include "jd_dtype.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One array in host memory, row-major. ndim 0 is a scalar (shape unused). */
typedef struct jd_leaf {
    void *data;
    jd_dtype dtype;
    int ndim;
    const int64_t *shape;
} jd_leaf;

/*
 * A leaf for a call that only reads it, as those of jd_device_put() and of
 * jd_process_allgather()'s in are, of data that may be const; the leaf's own
 * pointer is not, as other calls write there.
 *
 *     model[0] = jd_leaf_in(in, JD_F64, 1, shape); // const double in[]
 *
 * Not collective; never waits. Threads: any.
 */
JD_API jd_leaf jd_leaf_in(const void *data, jd_dtype dtype, int ndim,
                          const int64_t *shape);

/*
 * Gives every process the leaves of process source, bit for bit (-0.0 and
 * NaNs too), in place.
 * Source: multihost_utils.broadcast_one_to_all.
 */
JD_API jd_status jd_broadcast_one_to_all(const jd_leaf *leaves,
                                         size_t num_leaves, int source);

/*
 * Gathers every process's leaves, by process index. P processes, a leaf of
 * shape S: out's leaf has shape (P, *S); with tiled != 0, (P * S0, *S[1:]),
 * except that scalars give (P,), or () with one process. The caller provides
 * out's data and says its type and shape, which are checked. in and out do
 * not overlap.
 * Source: multihost_utils.process_allgather.
 */
JD_API jd_status jd_process_allgather(const jd_leaf *in, const jd_leaf *out,
                                      size_t num_leaves, int tiled);

/*
 * Waits until all processes have come here with the same name (at most 4096
 * bytes, compared whole), by the coordination service: it may be called
 * beside collectives, and its failure leaves nothing out of step.
 * Blocks: at most JD_BARRIER_TIMEOUT (600 s); collective_timeout is nothing
 *   to it.
 * Returns: as above; DEADLINE_EXCEEDED naming every missing process, its
 *   host, when it was last heard and what it was doing; INVALID_ARGUMENT on
 *   every process where names differ, naming one process and both names;
 *   ABORTED where a process has failed or left.
 * Source: multihost_utils.sync_global_devices.
 */
JD_API jd_status jd_sync_global_devices(const char *name);

/*
 * Checks that all processes hold the same leaves. Elements are equal where
 * their values are (-0.0 and +0.0 are; a NaN equals a NaN). Where some
 * differ, every process gets FAILED_PRECONDITION that names the lowest
 * differing process, the leaf, the index, its value and process 0's; what
 * (may be NULL) begins the sentence.
 * Source: multihost_utils.assert_equal.
 */
JD_API jd_status jd_assert_equal(const jd_leaf *leaves, size_t num_leaves,
                                 const char *what);

/*
 * When jd_assert_equal_with() takes two elements for equal; all zeros: as
 * jd_assert_equal() does. A tolerance is for floating and complex elements,
 * as in numpy.allclose: integers and truth values are equal where they are the
 * same, and an infinity is equal to itself alone.
 */
typedef struct jd_equality {
    int bitwise;     /* not 0: where their bits are the same; it stands alone */
    int nan_differs; /* not 0: a NaN is equal to nothing, not even to itself */

    /* |a - b| <= absolute + relative * |b|; b is process 0's. At least 0. */
    double absolute;
    double relative;
} jd_equality;

/*
 * The same with other rules, alike on all processes; size is that of
 * jd_equality. NULL and 0 are all zeros. With an absolute and a relative
 * tolerance:
 *
 *     jd_equality about = { 0, 0, 1e-8, 1e-5 };
 *     JD_CHECK(jd_assert_equal_with(model, 2, "the model", &about,
 *                                   sizeof about));
 *
 * Returns: also INVALID_ARGUMENT for a tolerance that is negative or not
 *   finite, for bitwise together with another rule, and for a size that ends
 *   inside a member.
 * Source: numpy.testing.assert_allclose.
 */
JD_API jd_status jd_assert_equal_with(const jd_leaf *leaves, size_t num_leaves,
                                      const char *what,
                                      const jd_equality *equality, size_t size);

/*
 * 1 where the job is being preempted and step is the one at which all stop,
 * or a later one; else 0. A program calls it once in each step with the
 * step's number, before the step's collectives:
 *
 *     for (int64_t step = first; step < last; step++) {
 *         if (jd_reached_preemption_sync_point(step)) {
 *             ... save, then jd_acknowledge_preemption() ...
 *             break;
 *         }
 *         ...
 *     }
 *
 * Any process may receive the signal (JD_PREEMPTION_SIGNAL, SIGTERM unless
 * it says another); all are told, and agree on the highest step that any of
 * them has polled, plus one. So the first 1 comes at the same step on every
 * process, and stays until jd_acknowledge_preemption(), after which the next
 * signal begins anew. Steps count up, from 0 on, alike on all processes; they
 * may leave gaps. A process that polls nothing (in a long evaluation, say)
 * keeps nobody waiting for the agreement, but comes to the step late.
 *
 * The first call installs the signal's handler: until then the signal does
 * what it did before. The handler that was there runs too. A second signal
 * before jd_acknowledge_preemption() ends the process.
 *
 * Collective: every process polls the same steps; none waits for another's.
 * Blocks:     not, and under 100 ns where nothing has happened; from the news
 *             of the signal until the agreement (milliseconds), at most 30 s,
 *             then a warning says what is missing and it is 0.
 * Threads:    any, one at a time.
 * Returns:    0 or 1; 0 also where jd_initialize() was needed and not called
 *             (a warning says so, once), and where another process fails before
 *             the agreement.
 * Source:     multihost_utils.reached_preemption_sync_point.
 */
JD_API int jd_reached_preemption_sync_point(int64_t step);

#ifdef __cplusplus
}
#endif

#endif

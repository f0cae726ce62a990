/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * jd_collectives.h - collectives over named mesh axes, with the meaning of
 * jax.lax, on contiguous buffers.
 *
 *     JD_CHECK(jd_psum(me, "data", gradient, gradient, n, JD_F64));
 *
 * What holds for all of them:
 * axes        one name, several ("data,model" or "data+model", as specs join
 *             them; the first is the most significant), or NULL for all. The
 * members are the devices that differ in these axes alone, numbered as
 * jd_axis_index() says; on a shard of jd_shard_groups(), those of its group.
 * count       elements, not bytes; 0 is allowed, needs no buffers, and still
 *             meets the others, as far as the call does (on cuda, see below).
 * buffers     any alignment, in host memory or from jd_device_alloc(). Results
 *             that jax.lax calls tiled and untiled are the same bytes: a new
 *             leading axis of n, or a first axis n times as long.
 * bits        NaNs and -0.0 travel unchanged in all that is not arithmetic. On
 *             cuda sums, means and products of floating numbers that NCCL has
 *             are its own, F16 and BF16 among them; JD_DETERMINISTIC=1 adds up
 *             in the members' order there too.
 * Collective: all members along the axes, in the same order, with the same
 *             count and type. Where they differ, every member gets
 *             INVALID_ARGUMENT naming two of them and what they called, and
 *             the job can go on; on cuda only with JD_CHECK_CALLS=1, which
 *             has them meet on the host first, and else a deadline tells that
 *             something is amiss. A call that is refused for its own arguments
 *             sends nothing and changes nothing: the others wait for it.
 * Blocks:     until in may be written and out may be read; at most
 *             collective_timeout, then DEADLINE_EXCEEDED says whom it waited
 *             for. After a failure the buffers are undefined, MPI may still
 *             read and write them, so they are to stay as they are, and each
 *             later call among the same devices is ABORTED with what failed
 *             first: the job should end. Where members share no memory, one
 *             that comes after the others gave up, and left theirs alone, gets
 *             JD_OK, and the right result, where all that it needs had been
 *             sent to it; its next call waits and fails by itself. The first
 *             collective along some axes is where its members meet for the
 *             first time; meshes of the same devices share what is made then.
 *             On cuda, a call whose buffers are device memory returns when it
 *             is queued on the shard's stream, behind what is there;
 *             jd_shard_synchronize() waits, and returns these failures. One
 *             with a buffer in host memory is staged, and returns when the
 *             result is there.
 * Threads:    one device, one thread at a time, whichever of its meshes is
 *             used; different devices at the same time.
 * In place:   in == out, except all_gather (in == out + index * count),
 *             psum_scatter (out == in + index * count), and where it is said
 *             otherwise; any other overlap is INVALID_ARGUMENT.
 * Returns:    JD_OK; INVALID_ARGUMENT (NULL shard, unknown axis or type, NULL
 *             buffer with a count, overlap, count too large, members that
 *             differ); UNIMPLEMENTED for a type without that operation;
 *             FAILED_PRECONDITION for a mesh from before jd_shutdown(), for
 *             another collective than jd_send() and jd_recv() in a group of
 *             these, and where another thread is in a collective among the
 *             same devices; DEADLINE_EXCEEDED; ABORTED; INTERNAL when MPI
 *             fails; RESOURCE_EXHAUSTED.
 */
#ifndef JD_COLLECTIVES_H
#define JD_COLLECTIVES_H

#include "jd_dtype.h"
#include "jd_shard.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- reductions --------------------------------------------------------- */

/*
 * Reduce element by element: out[0..count) is the sum, the mean, the greatest,
 * the least, the product of the members' in[0..count), the same bits on every
 * member. The mean is of the members that there are: of a group's own.
 * Integers wrap; a NaN wins in pmax and pmin, and -0.0 is less than +0.0. PRED
 * has pmax (any) and pmin (all); integers have no mean, complex numbers no
 * greatest and least.
 * Source: jax.lax.psum, pmean, pmax, pmin; pprod is XLA's product.
 */
JD_API jd_status jd_psum(jd_shard *shard, const char *axes, const void *in,
                         void *out, size_t count, jd_dtype dtype);
JD_API jd_status jd_pmean(jd_shard *shard, const char *axes, const void *in,
                          void *out, size_t count, jd_dtype dtype);
JD_API jd_status jd_pmax(jd_shard *shard, const char *axes, const void *in,
                         void *out, size_t count, jd_dtype dtype);
JD_API jd_status jd_pmin(jd_shard *shard, const char *axes, const void *in,
                         void *out, size_t count, jd_dtype dtype);
JD_API jd_status jd_pprod(jd_shard *shard, const char *axes, const void *in,
                          void *out, size_t count, jd_dtype dtype);

/*
 * The members' in[0..count) joined bit by bit into out[0..count): by and, or,
 * exclusive or, the same on every member. Of integer types; of PRED the logical
 * ones: all, any, an odd number. jax.lax has none of them.
 *
 *     JD_CHECK(jd_por(me, "data", in, out, 8, JD_U64));
 *
 * Returns: as jd_psum; UNIMPLEMENTED for floating and complex types.
 * Source: MPI_BAND, MPI_BOR, MPI_BXOR; of PRED MPI_LAND, MPI_LOR, MPI_LXOR.
 */
JD_API jd_status jd_pand(jd_shard *shard, const char *axes, const void *in,
                         void *out, size_t count, jd_dtype dtype);
JD_API jd_status jd_por(jd_shard *shard, const char *axes, const void *in,
                        void *out, size_t count, jd_dtype dtype);
JD_API jd_status jd_pxor(jd_shard *shard, const char *axes, const void *in,
                         void *out, size_t count, jd_dtype dtype);

/*
 * The greatest, or the least, and whose it is: out[i] is what jd_pmax() or
 * jd_pmin() gives of the members' in[i], and out_index[i] the index that came
 * with it: of equal values, and of several NaNs, the least. in_index NULL: each
 * member's jd_axis_index() along the axes. The members may differ in that, not
 * in count and type.
 *
 *     JD_CHECK(jd_pminloc(me, "data", &cost, NULL, &least, &owner, 1, JD_F64));
 *     JD_CHECK(jd_pbroadcast(me, "data", (int)owner, x, x, n, JD_F64));
 *
 * In place: in == out, in_index == out_index; no other two of the four overlap.
 * Up to 64 elements nothing is allocated, of more 16 bytes each for as long as
 * the call lasts. On cuda buffers go by way of the host, which compares: the
 * call returns when out is there, and cannot be captured into a graph.
 * Returns: as jd_pmax.
 * Source: MPI_MAXLOC, MPI_MINLOC.
 */
JD_API jd_status jd_pmaxloc(jd_shard *shard, const char *axes, const void *in,
                            const int64_t *in_index, void *out,
                            int64_t *out_index, size_t count, jd_dtype dtype);
JD_API jd_status jd_pminloc(jd_shard *shard, const char *axes, const void *in,
                            const int64_t *in_index, void *out,
                            int64_t *out_index, size_t count, jd_dtype dtype);

/* What a jd_scan() reduces by: MPI_SUM, MPI_PROD, MPI_MAX, MPI_MIN, MPI_BAND,
 * MPI_BOR, MPI_BXOR, with the meaning of jd_psum(), jd_pprod() and so on. */
typedef enum jd_op {
    JD_OP_SUM = 0,
    JD_OP_PROD = 1,
    JD_OP_MAX = 2,
    JD_OP_MIN = 3,
    JD_OP_AND = 4,
    JD_OP_OR = 5,
    JD_OP_XOR = 6
} jd_op;

typedef enum jd_scan_kind {
    JD_SCAN_INCLUSIVE = 0, /* MPI_Scan */
    JD_SCAN_EXCLUSIVE = 1  /* MPI_Exscan, but for member 0's out */
} jd_scan_kind;

/*
 * Reduces the members up to each one: member i's out[0..count) is the
 * reduction, element by element, of the in of members 0 to i, or, exclusive, of
 * those before i. Member 0's out is then what changes no other value: 0 of
 * sum, or and xor; 1 of prod; of max the least value there is, of min the
 * greatest, an infinity where the type has one; of and all bits.
 *
 *     JD_CHECK(jd_scan(me, "data", &mine, &first, 1, JD_S64, JD_OP_SUM,
 *                      JD_SCAN_EXCLUSIVE));
 *
 * Floating sums and products are added up in an order that the members' number,
 * the type and the count alone decide: the same bits in each run and on any
 * hosts, but those of a loop over the members only where their parts are short
 * (2 KiB of all together), and with JD_DETERMINISTIC=1, which hands them from
 * each member to the next. A long scan needs three times out's memory while it
 * lasts, or more of types of 8 and 16 bits, which travel as F32. On cuda as
 * jd_pmaxloc().
 * Returns: as jd_psum; INVALID_ARGUMENT for an op or a kind that is none;
 *   UNIMPLEMENTED for a type without the operation.
 * Source: MPI_Scan, MPI_Exscan. It is not jax.lax.scan, which is a loop.
 */
JD_API jd_status jd_scan(jd_shard *shard, const char *axes, const void *in,
                         void *out, size_t count, jd_dtype dtype, jd_op op,
                         jd_scan_kind kind);

/*
 * Gives member i block i of the sum: out[0..count) is the sum of the members'
 * in[i * count..(i + 1) * count); in has count elements for each member. As
 * jd_psum otherwise. Source: jax.lax.psum_scatter (leading dimension).
 */
JD_API jd_status jd_psum_scatter(jd_shard *shard, const char *axes,
                                 const void *in, void *out, size_t count,
                                 jd_dtype dtype);

/*
 * The same along a later dimension: in is rows x (members * count), out rows x
 * count, where of an array of shape S that is cut along axis k rows is
 * prod(S[:k]) and members * count prod(S[k:]): row r of member i's out is the
 * sum of the members' in[r][i * count..(i + 1) * count). In place only where
 * rows is 1. Source: jax.lax.psum_scatter (scatter_dimension 1).
 */
JD_API jd_status jd_psum_scatter_2d(jd_shard *shard, const char *axes,
                                    const void *in, void *out, size_t rows,
                                    size_t count, jd_dtype dtype);

/* ---- reductions by a function of the program's --------------------------- */

/* Joins count elements of a member's with those of the members before it:
 * into[i] becomes into[i] and from[i]. */
typedef void (*jd_reduce_f)(void *into, const void *from, size_t count,
                            void *context);

/*
 * Reduces count elements of element_bytes, of any kind, by the program's own
 * function: out[i] is the members' in[i] joined in the members' order, the same
 * bits on every member. The function has to be associative, and need not
 * commute. It is called on each member's own thread, with at most a megabyte's
 * elements at a time, at addresses that suit any type where element_bytes is
 * its size; every member folds a part of what all get, so that it has to be the
 * same on all, and it calls nothing of jd. context is handed to it. On cuda as
 * jd_pmaxloc(): the function runs on the host, on memory of the host.
 *
 *     JD_CHECK(jd_preduce(me, "data", in, out, 8, sizeof *in, join, NULL));
 *
 * Returns: as jd_psum; INVALID_ARGUMENT for no function, and element_bytes that
 *   are not 1 to 65535; on all members where they or the counts differ;
 *   UNIMPLEMENTED on a mesh of cpu devices for memory of a GPU.
 * Source: MPI_Op_create and MPI_Allreduce.
 */
JD_API jd_status jd_preduce(jd_shard *shard, const char *axes, const void *in,
                            void *out, size_t count, size_t element_bytes,
                            jd_reduce_f function, void *context);

/* ---- gathering and exchanging ------------------------------------------- */

/*
 * Concatenates: out[i * count..(i + 1) * count) is member i's in[0..count).
 * Any type. Source: jax.lax.all_gather (leading axis).
 */
JD_API jd_status jd_all_gather(jd_shard *shard, const char *axes,
                               const void *in, void *out, size_t count,
                               jd_dtype dtype);

/*
 * The same along a later dimension: in is rows x count, out rows x (members *
 * count), where of an array of shape S that is joined along axis k rows is
 * prod(S[:k]) and count prod(S[k:]): out[r][i * count..(i + 1) * count) is row
 * r of member i's in. In place only where rows is 1. Source: jax.lax.all_gather
 * (axis 1).
 */
JD_API jd_status jd_all_gather_2d(jd_shard *shard, const char *axes,
                                  const void *in, void *out, size_t rows,
                                  size_t count, jd_dtype dtype);

/*
 * Gives each member a block of its own: out[i * count..(i + 1) * count) of
 * member j is member i's in[j * count..(j + 1) * count). Any type.
 * Source: jax.lax.all_to_all (split and concat axis 0).
 */
JD_API jd_status jd_all_to_all(jd_shard *shard, const char *axes,
                               const void *in, void *out, size_t count,
                               jd_dtype dtype);

/*
 * The same of a matrix: in, rows x columns, is cut along split_axis (0: rows,
 * 1: columns) into a part for each member; what comes from them is joined
 * along concat_axis in their order. Where the axes differ, out has the split
 * one divided by the members and the other multiplied by them; in place only
 * where they are one. split_axis has to divide by the members.
 * Source: jax.lax.all_to_all (tiled).
 */
JD_API jd_status jd_all_to_all_2d(jd_shard *shard, const char *axes,
                                  const void *in, void *out, size_t rows,
                                  size_t columns, int split_axis,
                                  int concat_axis, jd_dtype dtype);

/*
 * The same of any number of dimensions, 1 to 64: in has the shape of ndim
 * lengths, in C's order (the last lies side by side), and the axes are 0 to
 * ndim - 1. out has the split length divided by the members and the other
 * multiplied by them; in place only where the axes are one. Where they differ,
 * it takes an exchange for each index of what lies before both.
 * Source: jax.lax.all_to_all (tiled), MPI_Alltoallw of subarrays.
 */
JD_API jd_status jd_all_to_all_nd(jd_shard *shard, const char *axes,
                                  const void *in, void *out, int ndim,
                                  const int64_t *shape, int split_axis,
                                  int concat_axis, jd_dtype dtype);

/*
 * Exchanges blocks of unlike lengths, counted in rows of row_count elements.
 * Each list has `entries` numbers, as many for each member: entry k is for
 * member k / (entries / members). Rows input_offsets[k].. of in, send_sizes[k]
 * of them, go to that member, to row output_offsets[k] of its out;
 * recv_sizes[k] rows come from that member. Rows of out that nothing comes to
 * stay as they are, and rows that two pieces come to have no defined bytes:
 * that is not looked for. in has in_rows rows and out out_rows, which may
 * differ from member to member; they do not overlap at all. On cuda the members
 * meet on the host before anything is queued, and a graph that captures the
 * call has the sizes of the capture.
 * Returns: also INVALID_ARGUMENT, on all members, in the same words and before
 *   anything is written, where sizes do not match the others', rows do not fit
 *   or a number in a list is negative: the job goes on. NULL, `entries` that do
 *   not divide by the members and buffers that overlap are refused on that
 *   member alone, before it meets the others.
 * Source: jax.lax.ragged_all_to_all.
 */
JD_API jd_status jd_ragged_all_to_all(
    jd_shard *shard, const char *axes, const void *in, size_t in_rows,
    void *out, size_t out_rows, size_t row_count, const int64_t *input_offsets,
    const int64_t *send_sizes, const int64_t *output_offsets,
    const int64_t *recv_sizes, int entries, jd_dtype dtype);

/*
 * Concatenates blocks of unlike lengths: member i gives counts[i] elements, and
 * out is all of them in the members' order, counts[0] + counts[1] + ...
 * elements. counts has a number for each member, 0 is one, and is the same on
 * all; count is this member's own. In place: in == out + the counts of the
 * members before. Any type. On cuda as jd_ragged_all_to_all().
 *
 *     const int64_t counts[] = { 3, 0, 5 }; // and on the third member:
 *     JD_CHECK(jd_ragged_all_gather(me, "data", in, 5, out, counts, JD_F64));
 *
 * Returns: also INVALID_ARGUMENT, on all members and on cuda too, where counts
 *   differ, naming two members and the first number of which each has another:
 *   the job goes on. NULL, a negative number, and a count that is not this
 *   member's of counts are refused on that member alone, before it meets the
 *   others.
 * Source: MPI_Allgatherv.
 */
JD_API jd_status jd_ragged_all_gather(jd_shard *shard, const char *axes,
                                      const void *in, size_t count, void *out,
                                      const int64_t *counts, jd_dtype dtype);

/* ---- moving ------------------------------------------------------------- */

/* From one member to another, by their indices along the axes. */
typedef struct jd_route {
    int from;
    int to;
} jd_route;

/*
 * Sends each route's in to its out: out[0..count) is the in of the route that
 * ends here, or zeros where none does. A member sends once and receives once
 * at most; the list is the same on all members, in any order. A list that
 * comes again is not looked through again. Any type.
 * Returns: also INVALID_ARGUMENT naming two routes that begin, or end, at one
 *   member. Source: jax.lax.ppermute.
 */
JD_API jd_status jd_ppermute(jd_shard *shard, const char *axes, const void *in,
                             void *out, size_t count, jd_dtype dtype,
                             const jd_route *routes, int num_routes);

/*
 * The same, but where no route ends here out stays as it is, as a receive from
 * MPI_PROC_NULL leaves it: at the wall of a domain the halo keeps its boundary
 * value. As jd_ppermute otherwise; all members must make the same of the two
 * calls.
 * Source: MPI_Sendrecv with MPI_PROC_NULL.
 */
JD_API jd_status jd_ppermute_keep(jd_shard *shard, const char *axes,
                                  const void *in, void *out, size_t count,
                                  jd_dtype dtype, const jd_route *routes,
                                  int num_routes);

/*
 * Shuffles: member i's out is member permutation[i]'s in; permutation has each
 * member once. Any type. Source: jax.lax.pshuffle.
 */
JD_API jd_status jd_pshuffle(jd_shard *shard, const char *axes, const void *in,
                             void *out, size_t count, jd_dtype dtype,
                             const int *permutation);

/* What a shift does where it has no member to come from: goes around the ends
 * of the axis; zeros, as jd_ppermute(); or out as it was, as
 * jd_ppermute_keep(). */
typedef enum jd_edge { JD_EDGE_WRAP, JD_EDGE_ZERO, JD_EDGE_KEEP } jd_edge;

/*
 * Shifts: each member's in goes to the member `by` places further along the
 * axes, and out is the in of the member `by` places before. by may be negative,
 * 0 (out is the own in) or beyond the number of members; it and edge are the
 * same on all members. Any type.
 *
 *     JD_CHECK(jd_shift(me, "x", 1, in, out, 8, JD_F64, JD_EDGE_KEEP));
 *
 * Returns: also INVALID_ARGUMENT for what is no edge.
 * Source: jnp.roll over a mesh axis; MPI_Cart_shift and MPI_Sendrecv.
 */
JD_API jd_status jd_shift(jd_shard *shard, const char *axes, int by,
                          const void *in, void *out, size_t count,
                          jd_dtype dtype, jd_edge edge);

/*
 * Gives every member the member source's in[0..count). in is read on source
 * alone, and may be NULL elsewhere. Any type. Source: jax.lax.pbroadcast.
 */
JD_API jd_status jd_pbroadcast(jd_shard *shard, const char *axes, int source,
                               const void *in, void *out, size_t count,
                               jd_dtype dtype);

/* ---- sends and receives ------------------------------------------------- */

/*
 * Sends in[0..count) to a member, or receives out[0..count) from one. Between
 * two members, sends and receives match in the order of the calls, in a group
 * too; the pair has the same count and type. A send may wait for its receive;
 * on cpu one of up to 8 KiB along axes whose members share a host does not,
 * unless eight of the pair are there already, or 64 of up to 24 bytes: in is
 * free when it returns, and what it sent arrives, also after jd_mesh_destroy(),
 * but not once the job has failed. Any type.
 *
 * Collective: the two. But the first collective along the axes, which a send
 *   may be, waits for all members along them, as always: where some members
 *   neither send nor receive, let all call jd_barrier() before. On cuda the
 *   first transfer of two members connects them, and NCCL connects those of a
 *   group one after another: where a group has several members that are new to
 *   it, and they first call each other in other orders, they may wait for each
 *   other in a circle, which a deadline tells; a jd_all_to_all() along the axes
 *   before connects all.
 * Returns: INVALID_ARGUMENT on both where count or type differ; where the send
 *   has returned before, on the sender in its next transfer with that member,
 *   which is done nevertheless; for a transfer to oneself outside of a group.
 * Source: jax.lax.psend, jax.lax.precv; ncclSend, ncclRecv.
 */
JD_API jd_status jd_send(jd_shard *shard, const char *axes, int to,
                         const void *in, size_t count, jd_dtype dtype);
JD_API jd_status jd_recv(jd_shard *shard, const char *axes, int from, void *out,
                         size_t count, jd_dtype dtype);

/*
 * The same with a tag, any number; jd_send() and jd_recv() have tag 0. Within a
 * group the transfers between two members are put into the order of their tags
 * (those of one tag stay in that of the calls), and then match one after the
 * other: so two messages to one neighbour, as on a periodic axis of one or two
 * members, find their receives whatever the order in which both ends noted
 * them. A tag chooses among the transfers of a group, and not among calls: two
 * ends match the same number of transfers with the same tags in a group, and
 * where one of them calls one by one, it does so in the order of the tags.
 * Returns: as jd_send; also INVALID_ARGUMENT on both, naming the tags, where a
 *   send and its receive have unlike ones; on cuda with JD_CHECK_CALLS=1.
 * Source: the tags of MPI_Isend and MPI_Irecv.
 */
JD_API jd_status jd_send_tagged(jd_shard *shard, const char *axes, int to,
                                int32_t tag, const void *in, size_t count,
                                jd_dtype dtype);
JD_API jd_status jd_recv_tagged(jd_shard *shard, const char *axes, int from,
                                int32_t tag, void *out, size_t count,
                                jd_dtype dtype);

/*
 * Receives what a member's jd_send() sends, without knowing how much that is:
 * *ret_count elements, capacity of them at most, into the begin of out; the
 * rest of out stays. It matches as jd_recv() does, with tag 0 among tags. In a
 * group *ret_count is known when the group's end, or jd_wait() of
 * jd_group_start(), has returned JD_OK, and its memory lives until then. On cpu
 * alone.
 *
 * Collective: as jd_send.
 * Returns: INVALID_ARGUMENT on both, naming them, the count and the capacity,
 *   where more than capacity is sent, and naming the types where these differ:
 *   nothing of that pair is written, and the job goes on; UNIMPLEMENTED on
 * cuda, where the sender sends the count first, and then so many. Source:
 * MPI_Recv with MPI_Get_count; MPI_Probe before an MPI_Recv.
 */
JD_API jd_status jd_recv_any_size(jd_shard *shard, const char *axes, int from,
                                  void *out, size_t capacity, size_t *ret_count,
                                  jd_dtype dtype);

/*
 * Sends in[0..in_count) to a member and receives out[0..out_count) from
 * one, which proceed together: in a ring nobody waits for his neighbour to
 * receive first. A peer that is -1 is nobody: then nothing is sent, or out
 * stays as it is. Both may be one member, and this one itself. in and out do
 * not overlap. The other end of each half is a jd_sendrecv(), or a jd_send(),
 * jd_recv() or a group of them; not within a group.
 * Returns: as jd_send. Source: MPI_Sendrecv; -1 is MPI_PROC_NULL.
 */
JD_API jd_status jd_sendrecv(jd_shard *shard, const char *axes, int to,
                             const void *in, size_t in_count, int from,
                             void *out, size_t out_count, jd_dtype dtype);

/*
 * The sends and receives between the two are only noted, and proceed together
 * in jd_group_end(), which returns when all of them are done: neighbours that
 * send to each other do not wait for each other, and a member may send to
 * itself. They are along one list of axes, and what comes in has memory of its
 * own. A send or receive that is refused is left out, and the group goes on.
 * On cuda with JD_CHECK_CALLS=1 a group is compared whole: where its other ends
 * are calls one by one, their buffers are the device's, not the host's. And
 * where a group on cuda has several members at its other ends, they make theirs
 * in groups too: NCCL calls other mixtures undefined.
 * Returns: JD_OK; FAILED_PRECONDITION for a begin inside a group, an end
 *   without one; jd_group_end also the failures of a collective, after which
 *   the group is over. Source: ncclGroupStart, ncclGroupEnd.
 */
JD_API jd_status jd_group_begin(jd_shard *shard);
JD_API jd_status jd_group_end(jd_shard *shard);

/* ---- waiting ------------------------------------------------------------ */

/* Waits until all members along the axes have come here: on cuda the host's
 * threads, whatever is queued. */
JD_API jd_status jd_barrier(jd_shard *shard, const char *axes);

/*
 * Waits until what was queued on the shard's stream is done: results of its
 * collectives, and of what else the program queued there, may be read by the
 * host. On cpu that is so when they return.
 *
 * Collective: no; but a collective is done when all members have called it.
 * Blocks: until then; JD_COLLECTIVE_TIMEOUT at most. Polls: MPI makes progress
 *   meanwhile, and a peer's failure ends it.
 * Returns: JD_OK; DEADLINE_EXCEEDED naming the collective that is not done and
 *   its members; ABORTED where the job or another body has failed; INTERNAL or
 *   UNAVAILABLE with what CUDA or NCCL reports; FAILED_PRECONDITION while a
 *   CUDA graph is captured. Source: cudaStreamSynchronize.
 */
JD_API jd_status jd_shard_synchronize(jd_shard *shard);

/*
 * The stream on which the shard's collectives are queued: a cudaStream_t on
 * cuda, where kernels that are launched on it run before and after them in
 * order. jd_shard_use_stream() has the shard take the caller's instead, which
 * outlives the mesh, and NULL gives the shard its own again; what was queued on
 * the one before is done before what comes after. Shards of jd_shard_groups()
 * share the stream of the shard they are from. A stream that is being captured
 * into a CUDA graph takes collectives as well, whose buffers are device memory
 * and whose first call along those axes was made before (of jd_send and
 * jd_recv: the first between the two). The graph is destroyed before the mesh.
 *
 * Collective: no. Blocks: no. Threads: as a collective on the shard. Owns: the
 *   shard, or the caller.
 * Returns: the stream, or NULL with the reason in jd_error_message();
 *   JD_OK; UNIMPLEMENTED on a platform without streams (cpu); INVALID_ARGUMENT
 *   for a NULL shard, or a stream of another device.
 */
JD_API void *jd_shard_stream(const jd_shard *shard);
JD_API jd_status jd_shard_use_stream(jd_shard *shard, void *stream);

#ifdef __cplusplus
}
#endif

#endif

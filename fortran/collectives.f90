! SPDX-License-Identifier: BSD-3-Clause
!
! collectives.f90 - collectives over named mesh axes: jd_collectives.h.
!
! Type, kind and count come from the arrays, which have any rank and may be
! sections. axes is one name, several ("data,model") or jd_all_axes. Members are
! counted from 0. What they give follows each other along the last dimension, as
! C's first axis; the calls that end in _2d have it along dimension 1.
module jdf_collectives
  use, intrinsic :: iso_c_binding
  use jdf_types
  implicit none
  private
  public :: jd_psum, jd_pmean, jd_pmax, jd_pmin, jd_pprod
  public :: jd_pand, jd_por, jd_pxor
  public :: jd_pmaxloc, jd_pminloc, jd_scan, jd_preduce
  public :: jd_psum_scatter, jd_psum_scatter_2d
  public :: jd_all_gather, jd_all_gather_2d
  public :: jd_all_to_all, jd_all_to_all_2d, jd_all_to_all_nd
  public :: jd_ragged_all_to_all
  public :: jd_ragged_all_gather
  public :: jd_ppermute, jd_ppermute_keep, jd_pshuffle, jd_pbroadcast
  public :: jd_shift, jd_sendrecv
  public :: jd_send, jd_recv, jd_send_tagged, jd_recv_tagged
  public :: jd_recv_any_size
  public :: jd_group_begin, jd_group_end
  public :: jd_barrier, jd_shard_synchronize
  public :: jd_shard_stream, jd_shard_use_stream

  interface

    ! The sum, the mean, the greatest, the least, the product of the members'
    ! elements, on each of them: in "out", or without one in "in".
    subroutine jd_psum(shard, axes, in, out, dtype, stat, errmsg) &
      bind(C, name="jdf_psum")
      include "reduce.inc"
    end subroutine jd_psum

    subroutine jd_pmean(shard, axes, in, out, dtype, stat, errmsg) &
      bind(C, name="jdf_pmean")
      include "reduce.inc"
    end subroutine jd_pmean

    subroutine jd_pmax(shard, axes, in, out, dtype, stat, errmsg) &
      bind(C, name="jdf_pmax")
      include "reduce.inc"
    end subroutine jd_pmax

    subroutine jd_pmin(shard, axes, in, out, dtype, stat, errmsg) &
      bind(C, name="jdf_pmin")
      include "reduce.inc"
    end subroutine jd_pmin

    subroutine jd_pprod(shard, axes, in, out, dtype, stat, errmsg) &
      bind(C, name="jdf_pprod")
      include "reduce.inc"
    end subroutine jd_pprod

    ! The members' integers bit by bit, as iand, ior and ieor; of
    ! logical(c_bool) all, any, an odd number.
    subroutine jd_pand(shard, axes, in, out, dtype, stat, errmsg) &
      bind(C, name="jdf_pand")
      include "reduce.inc"
    end subroutine jd_pand

    subroutine jd_por(shard, axes, in, out, dtype, stat, errmsg) &
      bind(C, name="jdf_por")
      include "reduce.inc"
    end subroutine jd_por

    subroutine jd_pxor(shard, axes, in, out, dtype, stat, errmsg) &
      bind(C, name="jdf_pxor")
      include "reduce.inc"
    end subroutine jd_pxor

    ! The greatest, or the least, and whose it is: in out_index the integer of
    ! in_index that came with it, or, without one, the member's jd_axis_index;
    ! of equal values the least.
    subroutine jd_pmaxloc( &
      shard, axes, in, out, &
      out_index, in_index, dtype, stat, errmsg) &
      bind(C, name="jdf_pmaxloc")
      import :: c_int64_t
      include "reduce.inc"
      integer(c_int64_t), intent(inout) :: out_index(..)
      integer(c_int64_t), intent(in), optional :: in_index(..)
    end subroutine jd_pmaxloc

    subroutine jd_pminloc( &
      shard, axes, in, out, &
      out_index, in_index, dtype, stat, errmsg) &
      bind(C, name="jdf_pminloc")
      import :: c_int64_t
      include "reduce.inc"
      integer(c_int64_t), intent(inout) :: out_index(..)
      integer(c_int64_t), intent(in), optional :: in_index(..)
    end subroutine jd_pminloc

    ! What the members up to this one, or, exclusive, before it, reduce to by
    ! op: jd_op_sum, jd_op_prod, jd_op_max, jd_op_min, jd_op_and, jd_op_or,
    ! jd_op_xor. kind is jd_scan_inclusive, or jd_scan_exclusive.
    subroutine jd_scan( &
      shard, axes, op, kind, in, &
      out, dtype, stat, errmsg) &
      bind(C, name="jdf_scan")
      include "reduce.inc"
      integer(c_int), intent(in) :: op, kind
    end subroutine jd_scan

    ! The members' elements, of any type, joined in the members' order by a
    ! procedure of the program's, c_funloc(join), which calls nothing of jd:
    !
    !     subroutine join(into, from, n, context) bind(C)
    !       integer(c_size_t), value :: n
    !       type(pair), intent(inout) :: into(n)
    !       type(pair), intent(in) :: from(n)
    !       type(c_ptr), value :: context
    subroutine jd_preduce( &
      shard, axes, in, out, join, context, stat, errmsg) &
      bind(C, name="jdf_preduce")
      import :: jd_shard, c_funptr, c_ptr, c_int, c_char
      type(*), dimension(..) :: in
      type(*), dimension(..), intent(inout), optional :: out
      type(c_funptr), value :: join
      type(c_ptr), intent(in), optional :: context
      include "along.inc"
    end subroutine jd_preduce

    ! Member i gets part i of the sum: in(..., members * n), out(..., n).
    subroutine jd_psum_scatter(shard, axes, in, out, dtype, stat, errmsg) &
      bind(C, name="jdf_psum_scatter")
      include "gather.inc"
    end subroutine jd_psum_scatter

    ! The same along dimension 1: in(members * n, ...), out(n, ...).
    subroutine jd_psum_scatter_2d(shard, axes, in, out, dtype, stat, errmsg) &
      bind(C, name="jdf_psum_scatter_2d")
      include "gather.inc"
    end subroutine jd_psum_scatter_2d

    ! The members' arrays one by one: in(..., n), out(..., members * n).
    subroutine jd_all_gather(shard, axes, in, out, dtype, stat, errmsg) &
      bind(C, name="jdf_all_gather")
      include "gather.inc"
    end subroutine jd_all_gather

    ! The same along dimension 1: in(n, ...), out(members * n, ...).
    subroutine jd_all_gather_2d(shard, axes, in, out, dtype, stat, errmsg) &
      bind(C, name="jdf_all_gather_2d")
      include "gather.inc"
    end subroutine jd_all_gather_2d

    ! Part i of out comes from member i, which has it as the part of this one.
    ! Without an out it is in "in".
    subroutine jd_all_to_all(shard, axes, in, out, dtype, stat, errmsg) &
      bind(C, name="jdf_all_to_all")
      include "reduce.inc"
    end subroutine jd_all_to_all

    ! in is cut along dimension split_dim, 1 or 2; what comes from the members
    ! is joined along concat_dim.
    subroutine jd_all_to_all_2d( &
      shard, axes, in, out, &
      split_dim, concat_dim, dtype, stat, errmsg) &
      bind(C, name="jdf_all_to_all_2d")
      include "gather.inc"
      integer(c_int), intent(in) :: split_dim, concat_dim
    end subroutine jd_all_to_all_2d

    ! The same along any two dimensions of an array of any rank.
    subroutine jd_all_to_all_nd( &
      shard, axes, in, out, &
      split_dim, concat_dim, dtype, stat, errmsg) &
      bind(C, name="jdf_all_to_all_nd")
      include "gather.inc"
      integer(c_int), intent(in) :: split_dim, concat_dim
    end subroutine jd_all_to_all_nd

    ! Parts of unlike lengths, counted along the last dimension, from 0.
    subroutine jd_ragged_all_to_all( &
      shard, axes, in, out, input_offsets, &
      send_sizes, output_offsets, recv_sizes, dtype, stat, errmsg) &
      bind(C, name="jdf_ragged_all_to_all")
      include "gather.inc"
      integer(c_int64_t), intent(in), contiguous :: input_offsets(:)
      integer(c_int64_t), intent(in), contiguous :: send_sizes(:)
      integer(c_int64_t), intent(in), contiguous :: output_offsets(:)
      integer(c_int64_t), intent(in), contiguous :: recv_sizes(:)
    end subroutine jd_ragged_all_to_all

    ! The members' arrays one by one, of counts(i + 1) elements from member i.
    subroutine jd_ragged_all_gather( &
      shard, axes, in, out, counts, dtype, stat, errmsg) &
      bind(C, name="jdf_ragged_all_gather")
      include "gather.inc"
      integer(c_int64_t), intent(in), contiguous :: counts(:)
    end subroutine jd_ragged_all_gather

    ! Each route's "in" goes to its "out"; zeros where no route ends.
    subroutine jd_ppermute(shard, axes, in, out, routes, dtype, stat, errmsg) &
      bind(C, name="jdf_ppermute")
      include "gather.inc"
      type(jd_route), intent(in), contiguous :: routes(:)
    end subroutine jd_ppermute

    ! The same, but out stays as it is where no route ends.
    subroutine jd_ppermute_keep( &
      shard, axes, in, out, &
      routes, dtype, stat, errmsg) &
      bind(C, name="jdf_ppermute_keep")
      include "gather.inc"
      type(jd_route), intent(in), contiguous :: routes(:)
    end subroutine jd_ppermute_keep

    ! Member i gets what member permutation(i + 1) has.
    subroutine jd_pshuffle( &
      shard, axes, in, out, &
      permutation, dtype, stat, errmsg) &
      bind(C, name="jdf_pshuffle")
      include "gather.inc"
      integer(c_int), intent(in), contiguous :: permutation(:)
    end subroutine jd_pshuffle

    ! "in" goes to the member "by" places further along the axes, and comes to
    ! "out", or without one to "in", from the one "by" places before. edge says
    ! what is beyond the ends: jd_edge_wrap, jd_edge_zero or jd_edge_keep.
    subroutine jd_shift( &
      shard, axes, by, edge, in, &
      out, dtype, stat, errmsg) &
      bind(C, name="jdf_shift")
      include "reduce.inc"
      integer(c_int), intent(in) :: by, edge
    end subroutine jd_shift

    ! Every member gets what member source has, which alone reads "in".
    subroutine jd_pbroadcast( &
      shard, axes, source, in, &
      out, dtype, stat, errmsg) &
      bind(C, name="jdf_pbroadcast")
      include "reduce.inc"
      integer(c_int), intent(in) :: source
    end subroutine jd_pbroadcast

    ! In a group the elements move in jd_group_end: until then "in" stays as it
    ! is, is no expression, and is contiguous, and so is "out" of jd_recv. The
    ! target keeps compilers from knowing the elements.
    subroutine jd_send(shard, axes, to, in, dtype, stat, errmsg) &
      bind(C, name="jdf_send")
      include "transfer.inc"
      integer(c_int), intent(in) :: to
      type(*), dimension(..), asynchronous, target, intent(in) :: in
    end subroutine jd_send

    subroutine jd_recv(shard, axes, from, out, dtype, stat, errmsg) &
      bind(C, name="jdf_recv")
      include "transfer.inc"
      integer(c_int), intent(in) :: from
      type(*), dimension(..), asynchronous, target, intent(inout) :: out
    end subroutine jd_recv

    ! As much as is sent, which "out" has room for; "count" elements came, in a
    ! group when that has ended.
    subroutine jd_recv_any_size( &
      shard, axes, from, out, count, &
      dtype, stat, errmsg) &
      bind(C, name="jdf_recv_any_size")
      import :: c_size_t
      include "transfer.inc"
      integer(c_int), intent(in) :: from
      type(*), dimension(..), asynchronous, intent(inout) :: out
      integer(c_size_t), asynchronous, intent(inout) :: count
    end subroutine jd_recv_any_size

    subroutine jd_send_tagged(shard, axes, to, tag, in, dtype, stat, errmsg) &
      bind(C, name="jdf_send_tagged")
      include "transfer.inc"
      integer(c_int), intent(in) :: to
      integer(c_int32_t), intent(in) :: tag
      type(*), dimension(..), asynchronous, target, intent(in) :: in
    end subroutine jd_send_tagged

    subroutine jd_recv_tagged( &
      shard, axes, from, tag, &
      out, dtype, stat, errmsg) &
      bind(C, name="jdf_recv_tagged")
      include "transfer.inc"
      integer(c_int), intent(in) :: from
      integer(c_int32_t), intent(in) :: tag
      type(*), dimension(..), asynchronous, target, intent(inout) :: out
    end subroutine jd_recv_tagged

    ! A send and a receive that proceed together; a peer that is -1 is nobody.
    subroutine jd_sendrecv( &
      shard, axes, to, in, from, &
      out, dtype, stat, errmsg) &
      bind(C, name="jdf_sendrecv")
      include "transfer.inc"
      integer(c_int), intent(in) :: to, from
      type(*), dimension(..), asynchronous, target, intent(in) :: in
      type(*), dimension(..), asynchronous, target, intent(inout) :: out
    end subroutine jd_sendrecv

    subroutine jd_group_begin(shard, stat, errmsg) &
      bind(C, name="jdf_group_begin")
      import :: jd_shard, c_int, c_char
      type(jd_shard), intent(in) :: shard
      include "outcome.inc"
    end subroutine jd_group_begin

    subroutine jd_group_end(shard, stat, errmsg) &
      bind(C, name="jdf_group_end")
      import :: jd_shard, c_int, c_char
      type(jd_shard), intent(in) :: shard
      include "outcome.inc"
    end subroutine jd_group_end

    subroutine jd_shard_synchronize(shard, stat, errmsg) &
      bind(C, name="jdf_shard_synchronize")
      import :: jd_shard, c_int, c_char
      type(jd_shard), intent(in) :: shard
      include "outcome.inc"
    end subroutine jd_shard_synchronize

    subroutine jd_barrier(shard, axes, stat, errmsg) &
      bind(C, name="jdf_barrier")
      import :: jd_shard, c_int, c_char
      include "along.inc"
    end subroutine jd_barrier

    ! On cuda, the stream on which the shard's collectives are queued.
    type(c_ptr) function jd_shard_stream(shard, stat, errmsg) &
      bind(C, name="jdf_shard_stream")
      import :: jd_shard, c_ptr, c_int, c_char
      type(jd_shard), intent(in) :: shard
      include "outcome.inc"
    end function jd_shard_stream

    subroutine jd_shard_use_stream(shard, stream, stat, errmsg) &
      bind(C, name="jdf_shard_use_stream")
      import :: jd_shard, c_ptr, c_int, c_char
      type(jd_shard), intent(in) :: shard
      type(c_ptr), intent(in) :: stream
      include "outcome.inc"
    end subroutine jd_shard_use_stream

  end interface

end module jdf_collectives

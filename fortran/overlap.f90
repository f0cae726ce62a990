! SPDX-License-Identifier: BSD-3-Clause
!
! overlap.f90 - calls that go on while the program computes: jd_overlap.h.
!
!     real, asynchronous :: x(100), y(100)
!     type(jd_request) :: sum
!     call jd_psum_start(me, "data", x, y, sum)
!     call compute_meanwhile()
!     call jd_wait(sum)
!
! Until jd_wait "in" is not written, "out" neither read nor written. They are
! contiguous, and variables: an expression is gone when the call has returned.
module jdf_overlap
  use, intrinsic :: iso_c_binding
  use jdf_types
  implicit none
  private
  public :: jd_psum_start, jd_pmean_start, jd_pmax_start, jd_pmin_start
  public :: jd_pprod_start, jd_pand_start, jd_por_start, jd_pxor_start
  public :: jd_psum_scatter_start, jd_all_gather_start
  public :: jd_all_to_all_start, jd_pbroadcast_start, jd_barrier_start
  public :: jd_group_start, jd_wait, jd_test

  interface

    ! The sum, the mean, the greatest, the least, the product.
    subroutine jd_psum_start( &
      shard, axes, in, out, request, dtype, stat, errmsg) &
      bind(C, name="jdf_psum_start")
      include "start.inc"
    end subroutine jd_psum_start

    subroutine jd_pmean_start( &
      shard, axes, in, out, request, dtype, stat, errmsg) &
      bind(C, name="jdf_pmean_start")
      include "start.inc"
    end subroutine jd_pmean_start

    subroutine jd_pmax_start( &
      shard, axes, in, out, request, dtype, stat, errmsg) &
      bind(C, name="jdf_pmax_start")
      include "start.inc"
    end subroutine jd_pmax_start

    subroutine jd_pmin_start( &
      shard, axes, in, out, request, dtype, stat, errmsg) &
      bind(C, name="jdf_pmin_start")
      include "start.inc"
    end subroutine jd_pmin_start

    subroutine jd_pprod_start( &
      shard, axes, in, out, request, dtype, stat, errmsg) &
      bind(C, name="jdf_pprod_start")
      include "start.inc"
    end subroutine jd_pprod_start

    ! Integers bit by bit, and truth values.
    subroutine jd_pand_start( &
      shard, axes, in, out, request, dtype, stat, errmsg) &
      bind(C, name="jdf_pand_start")
      include "start.inc"
    end subroutine jd_pand_start

    subroutine jd_por_start( &
      shard, axes, in, out, request, dtype, stat, errmsg) &
      bind(C, name="jdf_por_start")
      include "start.inc"
    end subroutine jd_por_start

    subroutine jd_pxor_start( &
      shard, axes, in, out, request, dtype, stat, errmsg) &
      bind(C, name="jdf_pxor_start")
      include "start.inc"
    end subroutine jd_pxor_start

    ! Part i of the sum to member i: in(..., members * n), out(..., n).
    subroutine jd_psum_scatter_start( &
      shard, axes, in, out, request, dtype, stat, errmsg) &
      bind(C, name="jdf_psum_scatter_start")
      include "start.inc"
    end subroutine jd_psum_scatter_start

    ! The members' arrays one by one: in(..., n), out(..., members * n).
    subroutine jd_all_gather_start( &
      shard, axes, in, out, request, dtype, stat, errmsg) &
      bind(C, name="jdf_all_gather_start")
      include "start.inc"
    end subroutine jd_all_gather_start

    ! Part i of out comes from member i, which has it as the part of this one.
    subroutine jd_all_to_all_start( &
      shard, axes, in, out, request, dtype, stat, errmsg) &
      bind(C, name="jdf_all_to_all_start")
      include "start.inc"
    end subroutine jd_all_to_all_start

    ! Every member gets what member source has, which alone reads "in".
    subroutine jd_pbroadcast_start( &
      shard, axes, source, in, out, request, dtype, stat, errmsg) &
      bind(C, name="jdf_pbroadcast_start")
      include "start.inc"
      integer(c_int), intent(in) :: source
    end subroutine jd_pbroadcast_start

    subroutine jd_barrier_start(shard, axes, request, stat, errmsg) &
      bind(C, name="jdf_barrier_start")
      import :: jd_shard, jd_request, c_int, c_char
      type(jd_request), intent(inout) :: request
      include "along.inc"
    end subroutine jd_barrier_start

    ! Ends a group of sends and receives as jd_group_end does, and starts them.
    subroutine jd_group_start(shard, request, stat, errmsg) &
      bind(C, name="jdf_group_start")
      import :: jd_shard, jd_request, c_int, c_char
      type(jd_shard), intent(in) :: shard
      type(jd_request), intent(inout) :: request
      include "outcome.inc"
    end subroutine jd_group_start

    ! Waits until the call is done, makes the request null and has the call's
    ! outcome; where it is null already there is nothing to wait for.
    subroutine jd_wait(request, stat, errmsg) bind(C, name="jdf_wait")
      import :: jd_request, c_int, c_char
      type(jd_request), intent(inout) :: request
      include "outcome.inc"
    end subroutine jd_wait

    ! Whether it is done; where it is, as after jd_wait. Never waits.
    subroutine jd_test(request, is_done, stat, errmsg) bind(C, name="jdf_test")
      import :: jd_request, c_bool, c_int, c_char
      type(jd_request), intent(inout) :: request
      logical(c_bool), intent(out) :: is_done
      include "outcome.inc"
    end subroutine jd_test

  end interface

end module jdf_overlap

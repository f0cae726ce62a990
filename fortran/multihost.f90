! SPDX-License-Identifier: BSD-3-Clause
!
! multihost.f90 - what processes (not devices) do together: jd_multihost.h.
!
! Each call takes one array, of any type and rank; where several travel
! together, lists of leaves: [jd_leaf_of(weights), jd_leaf_of(bias)].
module jdf_multihost
  use, intrinsic :: iso_c_binding
  use jdf_outcomes, only: end_call
  use jdf_types
  implicit none
  private
  public :: jd_broadcast_one_to_all, jd_broadcast_leaves
  public :: jd_process_allgather, jd_process_allgather_leaves
  public :: jd_assert_equal, jd_assert_equal_with, jd_assert_leaves_equal
  public :: jd_leaf_of
  public :: jd_sync_global_devices, jd_reached_preemption_sync_point

  interface

    ! Gives every process the array of process source, in place.
    subroutine jd_broadcast_one_to_all(array, source, dtype, stat, errmsg) &
      bind(C, name="jdf_broadcast_one_to_all")
      import :: c_int, c_char
      type(*), dimension(..), intent(inout) :: array
      integer(c_int), intent(in) :: source
      integer(c_int), intent(in), optional :: dtype
      include "outcome.inc"
    end subroutine jd_broadcast_one_to_all

    subroutine jd_broadcast_leaves(leaves, source, stat, errmsg) &
      bind(C, name="jdf_broadcast_leaves")
      import :: jd_leaf, c_int, c_char
      type(jd_leaf), intent(in), contiguous :: leaves(:)
      integer(c_int), intent(in) :: source
      include "outcome.inc"
    end subroutine jd_broadcast_leaves

    ! Gathers every process's array: in(m, n) and P processes give out(m, n, P),
    ! and tiled out(m, n * P).
    subroutine jd_process_allgather(in, out, tiled, dtype, stat, errmsg) &
      bind(C, name="jdf_process_allgather")
      import :: c_int, c_char, c_bool
      type(*), dimension(..), intent(in) :: in
      type(*), dimension(..), intent(inout) :: out
      logical(c_bool), intent(in), optional :: tiled
      integer(c_int), intent(in), optional :: dtype
      include "outcome.inc"
    end subroutine jd_process_allgather

    subroutine jd_process_allgather_leaves(in, out, tiled, stat, errmsg) &
      bind(C, name="jdf_allgather_leaves")
      import :: jd_leaf, c_int, c_char, c_bool
      type(jd_leaf), intent(in), contiguous :: in(:)
      type(jd_leaf), intent(in), contiguous :: out(:)
      logical(c_bool), intent(in), optional :: tiled
      include "outcome.inc"
    end subroutine jd_process_allgather_leaves

    ! Checks that all processes hold the same array; what begins the sentence.
    subroutine jd_assert_equal(array, what, dtype, stat, errmsg) &
      bind(C, name="jdf_assert_equal")
      import :: c_int, c_char
      type(*), dimension(..), intent(in) :: array
      character(len=*, kind=c_char), intent(in), optional :: what
      integer(c_int), intent(in), optional :: dtype
      include "outcome.inc"
    end subroutine jd_assert_equal

    ! The same with other rules.
    subroutine jd_assert_equal_with( &
      array, what, bitwise, nan_differs, absolute, relative, dtype, stat, &
      errmsg) bind(C, name="jdf_assert_equal_with")
      import :: c_int, c_char, c_bool, c_double
      type(*), dimension(..), intent(in) :: array
      character(len=*, kind=c_char), intent(in), optional :: what
      logical(c_bool), intent(in), optional :: bitwise, nan_differs
      real(c_double), intent(in), optional :: absolute, relative
      integer(c_int), intent(in), optional :: dtype
      include "outcome.inc"
    end subroutine jd_assert_equal_with

    subroutine jd_assert_leaves_equal( &
      leaves, what, bitwise, nan_differs, absolute, relative, stat, errmsg) &
      bind(C, name="jdf_assert_leaves_equal")
      import :: jd_leaf, c_int, c_char, c_bool, c_double
      type(jd_leaf), intent(in), contiguous :: leaves(:)
      character(len=*, kind=c_char), intent(in), optional :: what
      logical(c_bool), intent(in), optional :: bitwise, nan_differs
      real(c_double), intent(in), optional :: absolute, relative
      include "outcome.inc"
    end subroutine jd_assert_leaves_equal

    ! Waits until all processes have come here with the same name.
    subroutine jd_sync_global_devices(name, stat, errmsg) &
      bind(C, name="jdf_sync_global_devices")
      import :: c_int, c_char
      character(len=*, kind=c_char), intent(in) :: name
      include "outcome.inc"
    end subroutine jd_sync_global_devices

    ! True from the step on at which a job that is preempted stops.
    logical(c_bool) function jd_reached_preemption_sync_point(step) &
      bind(C, name="jdf_reached_preemption_sync_point")
      import :: c_bool, c_int64_t
      integer(c_int64_t), intent(in) :: step
    end function jd_reached_preemption_sync_point

    subroutine c_leaf_of(array, dtype, leaf, stat) bind(C, name="jdf_leaf_of")
      import :: jd_leaf, c_int
      type(*), dimension(..), intent(in), target :: array
      integer(c_int), intent(in), optional :: dtype
      type(jd_leaf), intent(inout) :: leaf
      integer(c_int), intent(out) :: stat
    end subroutine c_leaf_of

  end interface

contains

  ! A leaf is where the array lies: a contiguous one, which stays as long.
  function jd_leaf_of(array, dtype, stat, errmsg) result(leaf)
    type(*), dimension(..), intent(in), target :: array
    integer(c_int), intent(in), optional :: dtype
    type(jd_leaf) :: leaf
    include "outcome.inc"
    integer(c_int) :: status
    call c_leaf_of(array, dtype, leaf, status)
    call end_call("jd_leaf_of", status, stat, errmsg)
  end function jd_leaf_of

end module jdf_multihost

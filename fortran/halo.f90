! SPDX-License-Identifier: BSD-3-Clause
!
! halo.f90 - halos of blocks, what a stencil reads of its neighbours: jd_halo.h,
! in Fortran's order of dimensions.
!
!     real :: u(0:65, 0:11)
!     type(jd_halo_dim) :: dims(2)
!     dims = [jd_halo_dim(1, 1, "x", periodic=.true.), jd_halo_dim(1, 1, "y")]
!     call jd_halo_exchange(me, u, dims)
module jdf_halo
  use, intrinsic :: iso_c_binding
  use jdf_types
  implicit none
  private
  public :: jd_halo_dim, jd_halo_exchange, jd_halo_start

  ! A dimension of a block, whose size is the array's: the first "before"
  ! elements and the last "after" are halo. jd_halo_dim(before, after, axis,
  ! periodic) makes one; the axes are texts of C, with a null behind them.
  type, bind(C) :: jd_halo_dim
    integer(c_int64_t) :: before = 0
    integer(c_int64_t) :: after = 0
    logical(c_bool) :: periodic = .false.
    character(kind=c_char), private :: axis(512) = c_null_char
  end type jd_halo_dim

  interface jd_halo_dim
    procedure make_dim
  end interface jd_halo_dim

  interface

    ! Fills the halos of a block out of the neighbours' blocks, those where two
    ! dimensions' meet too if corners is true. dims has an entry for each
    ! dimension.
    subroutine jd_halo_exchange( &
      shard, block, dims, corners, dtype, stat, errmsg) &
      bind(C, name="jdf_halo_exchange")
      import :: jd_shard, jd_halo_dim, c_bool, c_int, c_char
      type(jd_shard), intent(in) :: shard
      type(*), dimension(..), intent(inout) :: block
      type(jd_halo_dim), intent(in), contiguous :: dims(:)
      logical(c_bool), intent(in), optional :: corners
      integer(c_int), intent(in), optional :: dtype
      include "outcome.inc"
    end subroutine jd_halo_exchange

    ! The same until jd_wait; the block is contiguous.
    subroutine jd_halo_start( &
      shard, block, dims, request, corners, dtype, stat, errmsg) &
      bind(C, name="jdf_halo_start")
      import :: jd_shard, jd_halo_dim, jd_request, c_bool, c_int, c_char
      type(jd_shard), intent(in) :: shard
      type(*), dimension(..), asynchronous, target, intent(inout) :: block
      type(jd_halo_dim), intent(in), contiguous :: dims(:)
      type(jd_request), intent(inout) :: request
      logical(c_bool), intent(in), optional :: corners
      integer(c_int), intent(in), optional :: dtype
      include "outcome.inc"
    end subroutine jd_halo_start

  end interface

contains

  ! Without an axis, or with a blank one, the dimension is not cut. An axis that
  ! has no room has no null, which the call refuses.
  elemental function make_dim(before, after, axis, periodic) result(dim)
    integer, intent(in), optional :: before, after
    character(len=*), intent(in), optional :: axis
    logical, intent(in), optional :: periodic
    type(jd_halo_dim) :: dim
    integer :: i
    if (present(before)) dim%before = before
    if (present(after)) dim%after = after
    if (present(periodic)) dim%periodic = periodic
    if (.not. present(axis)) return
    do i = 1, min(len_trim(axis), size(dim%axis))
      dim%axis(i) = axis(i:i)
    end do
  end function make_dim

end module jdf_halo

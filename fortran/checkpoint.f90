! SPDX-License-Identifier: BSD-3-Clause
!
! checkpoint.f90 - sharded arrays saved in a directory, and restored on other
! devices: jd_checkpoint.h. One that C has written is read by Fortran, and the
! other way round.
module jdf_checkpoint
  use, intrinsic :: iso_c_binding
  use jdf_texts, only: text_of
  use jdf_types
  implicit none
  private
  public :: jd_array_save, jd_array_restore
  public :: jd_checkpoint_open, jd_checkpoint_close, jd_checkpoint_count
  public :: jd_checkpoint_name, jd_checkpoint_leaf, jd_checkpoint_verify

  interface

    ! Collective: every process of the job.
    subroutine jd_array_save(dir, names, arrays, stat, errmsg) &
      bind(C, name="jdf_array_save")
      import :: jd_array, c_int, c_char
      character(len=*, kind=c_char), intent(in) :: dir
      character(len=*, kind=c_char), intent(in) :: names(:)
      type(jd_array), intent(in), contiguous :: arrays(:)
      include "outcome.inc"
    end subroutine jd_array_save

    subroutine jd_array_restore(dir, names, shardings, arrays, stat, errmsg) &
      bind(C, name="jdf_array_restore")
      import :: jd_array, jd_sharding, c_int, c_char
      character(len=*, kind=c_char), intent(in) :: dir
      character(len=*, kind=c_char), intent(in) :: names(:)
      type(jd_sharding), intent(in), contiguous :: shardings(:)
      type(jd_array), intent(inout), contiguous :: arrays(:)
      include "outcome.inc"
    end subroutine jd_array_restore

    ! Reads what is in a checkpoint; no process is needed beside this one.
    subroutine jd_checkpoint_open(checkpoint, dir, stat, errmsg) &
      bind(C, name="jdf_checkpoint_open")
      import :: jd_checkpoint, c_int, c_char
      type(jd_checkpoint), intent(inout) :: checkpoint
      character(len=*, kind=c_char), intent(in) :: dir
      include "outcome.inc"
    end subroutine jd_checkpoint_open

    subroutine jd_checkpoint_close(checkpoint) &
      bind(C, name="jdf_checkpoint_close")
      import :: jd_checkpoint
      type(jd_checkpoint), intent(inout) :: checkpoint
    end subroutine jd_checkpoint_close

    integer(c_int) function jd_checkpoint_count(checkpoint) &
      bind(C, name="jdf_checkpoint_count")
      import :: jd_checkpoint, c_int
      type(jd_checkpoint), intent(in) :: checkpoint
    end function jd_checkpoint_count

    ! Type and shape of an array, as C sees it: the last dimension first.
    subroutine jd_checkpoint_leaf(checkpoint, name, leaf, stat, errmsg) &
      bind(C, name="jdf_checkpoint_leaf")
      import :: jd_checkpoint, jd_leaf, c_int, c_char
      type(jd_checkpoint), intent(in) :: checkpoint
      character(len=*, kind=c_char), intent(in) :: name
      type(jd_leaf), intent(inout) :: leaf
      include "outcome.inc"
    end subroutine jd_checkpoint_leaf

    ! Compares the checksums of an array; without a name of all.
    subroutine jd_checkpoint_verify(checkpoint, name, stat, errmsg) &
      bind(C, name="jdf_checkpoint_verify")
      import :: jd_checkpoint, c_int, c_char
      type(jd_checkpoint), intent(in) :: checkpoint
      character(len=*, kind=c_char), intent(in), optional :: name
      include "outcome.inc"
    end subroutine jd_checkpoint_verify

    type(c_ptr) function c_checkpoint_name(checkpoint, i) &
      bind(C, name="jdf_checkpoint_name")
      import :: jd_checkpoint, c_ptr, c_int
      type(jd_checkpoint), intent(in) :: checkpoint
      integer(c_int), intent(in) :: i
    end function c_checkpoint_name

  end interface

contains

  ! The name of array i, from 1; an empty text where there is none.
  function jd_checkpoint_name(checkpoint, i) result(name)
    type(jd_checkpoint), intent(in) :: checkpoint
    integer(c_int), intent(in) :: i
    character(len=:), allocatable :: name
    name = text_of(c_checkpoint_name(checkpoint, i))
  end function jd_checkpoint_name

end module jdf_checkpoint

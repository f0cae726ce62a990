! SPDX-License-Identifier: BSD-3-Clause
!
! memory.f90 - memory of devices, and elements of one type as those of another:
! jd_memory.h, and jd_convert of jd_dtype.h.
!
!     type(c_ptr) :: memory
!     real, pointer :: x(:, :)
!     call jd_device_alloc(device, m * n * c_sizeof(1.0), memory)
!     call c_f_pointer(memory, x, [m, n])
!     ...
!     call jd_device_free(memory)
module jdf_memory
  use, intrinsic :: iso_c_binding
  use jdf_outcomes, only: end_call
  use jdf_types
  implicit none
  private
  public :: jd_device_alloc, jd_device_free, jd_device_copy
  public :: jd_convert

  interface

    ! Gives it back: what jd_device_alloc gave, or c_loc of what lies there.
    subroutine jd_device_free(memory, stat, errmsg) &
      bind(C, name="jdf_device_free")
      import :: c_ptr, c_int, c_char
      type(c_ptr), intent(in) :: memory
      include "outcome.inc"
    end subroutine jd_device_free

    ! Copies between host and device memory: whole arrays, of as many bytes.
    subroutine jd_device_copy(to, from, stat, errmsg) &
      bind(C, name="jdf_device_copy")
      import :: c_int, c_char
      type(*), dimension(..), intent(inout) :: to
      type(*), dimension(..), intent(in) :: from
      include "outcome.inc"
    end subroutine jd_device_copy

    ! Writes the elements of in as those of out. Types are the arrays', or where
    ! Fortran has no such type those that are said.
    subroutine jd_convert(in, out, in_dtype, out_dtype, stat, errmsg) &
      bind(C, name="jdf_convert")
      import :: c_int, c_char
      type(*), dimension(..), intent(in) :: in
      type(*), dimension(..), intent(inout) :: out
      integer(c_int), intent(in), optional :: in_dtype, out_dtype
      include "outcome.inc"
    end subroutine jd_convert

    subroutine c_device_alloc(device, bytes, memory, stat) &
      bind(C, name="jdf_device_alloc")
      import :: c_ptr, c_int, c_size_t
      type(c_ptr), intent(in) :: device
      integer(c_size_t), intent(in) :: bytes
      type(c_ptr), intent(inout) :: memory
      integer(c_int), intent(out) :: stat
    end subroutine c_device_alloc

  end interface

contains

  ! Bytes of the device's memory, zeroed; memory is set on success only.
  subroutine jd_device_alloc(device, bytes, memory, stat, errmsg)
    type(jd_device), intent(in) :: device
    integer(c_size_t), intent(in) :: bytes
    type(c_ptr), intent(inout) :: memory
    include "outcome.inc"
    integer(c_int) :: status
    call c_device_alloc(device%c, bytes, memory, status)
    call end_call("jd_device_alloc", status, stat, errmsg)
  end subroutine jd_device_alloc

end module jdf_memory

! SPDX-License-Identifier: BSD-3-Clause
!
! outcomes.f90 - how the calls that are procedures of Fortran end, which is as
! jdf_end() of C does.
module jdf_outcomes
  use, intrinsic :: iso_c_binding
  use jdf_texts, only: text_of
  use jdf_types
  implicit none
  private
  public :: end_call

  interface

    subroutine c_check_failed(status, what) &
      bind(C, name="jdf_check_failed_within")
      import :: c_int, c_char
      integer(c_int), intent(in) :: status
      character(len=*, kind=c_char), intent(in) :: what
    end subroutine c_check_failed

    type(c_ptr) function c_error_message() bind(C, name="jd_error_message")
      import :: c_ptr
    end function c_error_message

  end interface

contains

  ! Sets stat= and, on a failure, errmsg=; a failure without stat= ends the job.
  subroutine end_call(call_name, status, stat, errmsg)
    character(len=*), intent(in) :: call_name
    integer(c_int), intent(in) :: status
    include "outcome.inc"
    if (present(stat)) stat = status
    if (status == jd_ok) return
    if (.not. present(stat)) call c_check_failed(status, call_name)
    if (present(errmsg)) errmsg = text_of(c_error_message())
  end subroutine end_call

end module jdf_outcomes

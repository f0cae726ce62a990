! SPDX-License-Identifier: BSD-3-Clause
!
! expect.f90 - what the tests' programs have in common: what is not as expected
! is said, and ends the program with status 1 when all was looked at.
module expectations
  use, intrinsic :: iso_fortran_env, only: error_unit
  use jd
  implicit none
  private
  public :: expect, expect_failure, expect_text, end_test

  integer :: num_failed = 0

contains

  subroutine expect(condition, what)
    logical, intent(in) :: condition
    character(len=*), intent(in) :: what
    if (condition) return
    num_failed = num_failed + 1
    write (error_unit, "(a, i0, 2a)") "process ", jd_process_index(), &
      ": not so: ", what
  end subroutine expect

  ! The last call has failed in that way, with these words in its sentence.
  subroutine expect_failure(stat, status, words)
    integer, intent(in) :: stat, status
    character(len=*), intent(in) :: words
    call expect(stat == status, jd_status_name(status) // ", not " // &
      jd_status_name(stat) // ": " // jd_error_message())
    call expect_text(jd_error_message(), words)
  end subroutine expect_failure

  subroutine expect_text(text, words)
    character(len=*), intent(in) :: text, words
    call expect(index(text, words) > 0, "'" // words // "' in: " // text)
  end subroutine expect_text

  subroutine end_test()
    call jd_sync_global_devices("the end of the test")
    call jd_shutdown()
    if (num_failed > 0) stop 1, quiet=.true.
  end subroutine end_test

end module expectations

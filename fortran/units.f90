! SPDX-License-Identifier: BSD-3-Clause
!
! units.f90 - what the program has written, and Fortran has not: where a job ends,
! words that wait in a unit would be lost. For call.h.
module jdf_units
  use, intrinsic :: iso_fortran_env, only: error_unit, output_unit
  implicit none
  private

contains

  subroutine flush_units() bind(C, name="jdf_flush_units")
    flush (output_unit)
    flush (error_unit)
  end subroutine flush_units

end module jdf_units

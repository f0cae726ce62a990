! SPDX-License-Identifier: BSD-3-Clause
!
! texts.f90 - C's texts as those of Fortran, for the module's own use.
module jdf_texts
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: output_unit
  implicit none
  private
  public :: text_of, write_lines

  interface
    integer(c_size_t) function c_strlen(text) bind(C, name="strlen")
      import :: c_size_t, c_ptr
      type(c_ptr), value :: text
    end function c_strlen
  end interface

contains

  ! A text of C, and an empty one for NULL.
  function text_of(from) result(text)
    type(c_ptr), intent(in) :: from
    character(len=:), allocatable :: text
    character(kind=c_char), pointer :: bytes(:)
    integer :: i, n
    n = 0
    if (c_associated(from)) n = int(c_strlen(from))
    allocate (character(len=n) :: text)
    if (n == 0) return
    call c_f_pointer(from, bytes, [n])
    do i = 1, n
      text(i:i) = bytes(i)
    end do
  end function text_of

  ! The lines of a text to a unit, or to the program's output.
  subroutine write_lines(text, unit)
    character(len=*), intent(in) :: text
    integer, intent(in), optional :: unit
    integer :: first, length, to
    to = output_unit
    if (present(unit)) to = unit
    first = 1
    do while (first <= len(text))
      length = index(text(first:), new_line("a"))
      if (length == 0) length = len(text) - first + 2
      write (to, "(a)") text(first:first + length - 2)
      first = first + length
    end do
  end subroutine write_lines

end module jdf_texts

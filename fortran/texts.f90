! SPDX-License-Identifier: BSD-3-Clause
!
! texts.f90 - C's texts as those of Fortran, for the module's own use.
module jdf_texts
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: output_unit
  implicit none
  private
  public :: bytes_of, text_of, write_lines

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
    integer(c_size_t) :: n
    n = 0
    if (c_associated(from)) n = c_strlen(from)
    text = bytes_of(from, n)
  end function text_of

  ! Bytes of C's as a text.
  function bytes_of(from, n) result(text)
    type(c_ptr), intent(in) :: from
    integer(c_size_t), intent(in) :: n
    character(len=:), allocatable :: text
    character(kind=c_char), pointer :: bytes(:)
    integer(c_size_t) :: i
    allocate (character(len=n) :: text)
    if (n == 0) return
    call c_f_pointer(from, bytes, [n])
    do i = 1, n
      text(i:i) = bytes(i)
    end do
  end function bytes_of

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

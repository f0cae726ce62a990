! SPDX-License-Identifier: BSD-3-Clause
!
! words.f90 - a text's lines, their words and numbers, and numbers as text.
module words
  use, intrinsic :: iso_fortran_env, only: real64
  implicit none
  private
  public :: take_line, take_word, tidy, split_word, read_number
  public :: text_of, fixed, scientific

  interface text_of
    procedure text_of_whole, text_of_number
  end interface text_of

contains

  ! The line that begins at the position, which becomes the next line's.
  subroutine take_line(text, position, line)
    character(len=*), intent(in) :: text
    integer, intent(inout) :: position
    character(len=:), allocatable, intent(out) :: line
    integer :: length
    length = index(text(position:), new_line("a")) - 1
    if (length < 0) length = len(text) - position + 1
    line = text(position:position + length - 1)
    position = position + length + 1
  end subroutine take_line

  ! Without its comment and what cannot be seen, and no blanks around "=".
  function tidy(line) result(tidied)
    character(len=*), intent(in) :: line
    character(len=:), allocatable :: tidied
    character(len=1) :: c
    integer :: i
    tidied = ""
    do i = 1, len(line)
      c = line(i:i)
      if (c == "#") exit
      if (iachar(c) < iachar(" ")) c = " "
      if (c == "=") tidied = trim(tidied)
      if (c == " " .and. ends_with(tidied, "=")) cycle
      tidied = tidied // c
    end do
  end function tidy

  pure logical function ends_with(text, c)
    character(len=*), intent(in) :: text
    character(len=1), intent(in) :: c
    ends_with = .false.
    if (len(text) > 0) ends_with = text(len(text):) == c
  end function ends_with

  ! The next word from the position on, which moves behind it; "": none.
  subroutine take_word(line, position, word)
    character(len=*), intent(in) :: line
    integer, intent(inout) :: position
    character(len=:), allocatable, intent(out) :: word
    integer :: first, length
    first = verify(line(position:), " ")
    word = ""
    if (first == 0) return
    first = position + first - 1
    length = index(line(first:), " ") - 1
    if (length < 0) length = len(line) - first + 1
    word = line(first:first + length - 1)
    position = first + length
  end subroutine take_word

  ! "key=value"; the value is empty where there is none.
  subroutine split_word(word, key, value)
    character(len=*), intent(in) :: word
    character(len=:), allocatable, intent(out) :: key, value
    integer :: i
    i = index(word, "=")
    if (i == 0) i = len(word) + 1
    key = word(:i - 1)
    value = word(i + 1:)
  end subroutine split_word

  ! False where the text is no number, or none of a computer's. Fortran's own
  ! reading takes more for a number than people do.
  logical function read_number(text, is_whole, value)
    character(len=*), intent(in) :: text
    logical, intent(in) :: is_whole
    real(real64), intent(out) :: value
    character(len=14) :: allowed
    integer :: failure
    value = 0
    allowed = "+-0123456789"
    if (.not. is_whole) allowed = "+-0123456789.e"
    read_number = len(text) > 0 .and. verify(text, trim(allowed)) == 0
    if (read_number) read_number = scan(text, "0123456789") > 0
    if (.not. read_number) return
    read (text, *, iostat=failure) value
    read_number = failure == 0 .and. abs(value) <= huge(value)
  end function read_number

  ! ---- numbers as text -----------------------------------------------------

  function text_of_whole(number) result(text)
    integer, intent(in) :: number
    character(len=:), allocatable :: text
    character(len=20) :: buffer
    write (buffer, "(i0)") number
    text = trim(buffer)
  end function text_of_whole

  function text_of_number(number) result(text)
    real(real64), intent(in) :: number
    character(len=:), allocatable :: text
    text = scientific(number, 3)
  end function text_of_number

  ! With so many digits behind the point.
  function fixed(number, digits) result(text)
    real(real64), intent(in) :: number
    integer, intent(in) :: digits
    character(len=:), allocatable :: text
    character(len=60) :: buffer
    write (buffer, "(f60." // text_of(digits) // ")") number
    text = trim(adjustl(buffer))
  end function fixed

  function scientific(number, digits) result(text)
    real(real64), intent(in) :: number
    integer, intent(in) :: digits
    character(len=:), allocatable :: text
    character(len=40) :: buffer
    write (buffer, "(es40." // text_of(digits) // ")") number
    text = trim(adjustl(buffer))
  end function scientific

end module words

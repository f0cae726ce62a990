! SPDX-License-Identifier: BSD-3-Clause
!
! pictures.f90 - the density of the whole grid as a picture, in the plain form
! of a PGM file: 65535 is the greatest density, and the first line is the box's
! top.
module pictures
  use, intrinsic :: iso_fortran_env, only: real64
  use blocks
  use decks, only: problem
  use words, only: text_of
  implicit none
  private
  public :: own_density, block_counts, put_together, write_picture

  integer, parameter :: white = 65535, numbers_a_line = 11

contains

  ! The block's own, row by row.
  function own_density(b) result(values)
    type(block), intent(in) :: b
    real(real64), allocatable :: values(:)
    values = reshape(b%of(cells)%at(1:b%n(1), 1:b%n(2), density), &
      [product(b%n)])
  end function own_density

  ! How many cells each block has; blocks are counted along x first.
  function block_counts(asked, parts) result(counts)
    type(problem), intent(in) :: asked
    integer, intent(in) :: parts(2)
    integer, allocatable :: counts(:)
    integer :: i, offset(2), n(2)
    allocate (counts(product(parts)))
    do i = 1, size(counts)
      call cut_at(asked, parts, i, offset, n)
      counts(i) = product(n)
    end do
  end function block_counts

  subroutine cut_at(asked, parts, i, offset, n)
    type(problem), intent(in) :: asked
    integer, intent(in) :: parts(2), i
    integer, intent(out) :: offset(2), n(2)
    call cut(asked%cells(1), parts(1), mod(i - 1, parts(1)), offset(1), n(1))
    call cut(asked%cells(2), parts(2), (i - 1) / parts(1), offset(2), n(2))
  end subroutine cut_at

  ! The grid, out of its blocks one by one.
  function put_together(asked, parts, values) result(whole)
    type(problem), intent(in) :: asked
    integer, intent(in) :: parts(2)
    real(real64), intent(in) :: values(:)
    real(real64), allocatable :: whole(:, :)
    integer :: i, at, offset(2), n(2)
    allocate (whole(asked%cells(1), asked%cells(2)))
    at = 0
    do i = 1, product(parts)
      call cut_at(asked, parts, i, offset, n)
      whole(offset(1) + 1:offset(1) + n(1), offset(2) + 1:offset(2) + n(2)) = &
        reshape(values(at + 1:at + product(n)), n)
      at = at + product(n)
    end do
  end function put_together

  ! why is allocated where the file cannot be written.
  subroutine write_picture(name, whole, why)
    character(len=*), intent(in) :: name
    real(real64), intent(in) :: whole(:, :)
    character(len=:), allocatable, intent(out) :: why
    character(len=300) :: message
    integer :: unit, failure
    open (newunit=unit, file=name, status="replace", action="write", &
      iostat=failure, iomsg=message)
    if (failure == 0) then
      call write_values(unit, whole, failure, message)
      if (failure == 0) close (unit, iostat=failure, iomsg=message)
    end if
    if (failure /= 0) why = name // ": the picture cannot be written: " // &
      trim(message) // "; give the deck another picture=FILE"
  end subroutine write_picture

  subroutine write_values(unit, whole, failure, message)
    integer, intent(in) :: unit
    real(real64), intent(in) :: whole(:, :)
    integer, intent(out) :: failure
    character(len=*), intent(inout) :: message
    integer :: j
    write (unit, "(a)", iostat=failure, iomsg=message) "P2", &
      text_of(size(whole, 1)) // " " // text_of(size(whole, 2)), text_of(white)
    do j = size(whole, 2), 1, -1
      if (failure /= 0) return
      write (unit, "(*(" // text_of(numbers_a_line) // "(i0, :, 1x), /))", &
        iostat=failure, iomsg=message) &
        nint(whole(:, j) / maxval(whole) * white)
    end do
  end subroutine write_values

end module pictures

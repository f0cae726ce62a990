! SPDX-License-Identifier: BSD-3-Clause
!
! walls.f90 - the box's walls: what is behind one mirrors what is before it, so
! that no loop asks where it is.
module walls
  use, intrinsic :: iso_fortran_env, only: real64
  use blocks, only: block, field
  implicit none
  private
  public :: mirror_at_walls

  integer, parameter :: low = 1, high = 2

contains

  ! Fills the frames of some fields where the block is at a wall. What the
  ! neighbours know comes after that, and brings their mirrors along.
  subroutine mirror_at_walls(b, which)
    type(block), intent(inout) :: b
    integer, intent(in) :: which(:)
    integer :: i
    do i = 1, size(which)
      associate (f => b%of(which(i)))
        call mirror_x(f, b%n(1), b%is_wall(:, 1))
        call mirror_y(f, b%n(2), b%is_wall(:, 2))
      end associate
    end do
  end subroutine mirror_at_walls

  ! What lies on the wall itself and turns its sign there is 0.
  subroutine mirror_x(f, n, is_wall)
    type(field), intent(inout) :: f
    integer, intent(in) :: n
    logical, intent(in) :: is_wall(2)
    real(real64) :: sign
    integer :: k, q, more
    more = f%more(1)
    do q = 1, size(f%at, 3)
      sign = f%mirror(1, q)
      if (is_wall(low)) then
        if (more == 1 .and. sign < 0) f%at(1, :, q) = 0
        do k = 1, f%depth
          f%at(1 - k, :, q) = sign * f%at(k + more, :, q)
        end do
      end if
      if (is_wall(high)) then
        if (more == 1 .and. sign < 0) f%at(n + 1, :, q) = 0
        do k = 1, f%depth
          f%at(n + more + k, :, q) = sign * f%at(n + 1 - k, :, q)
        end do
      end if
    end do
  end subroutine mirror_x

  subroutine mirror_y(f, n, is_wall)
    type(field), intent(inout) :: f
    integer, intent(in) :: n
    logical, intent(in) :: is_wall(2)
    real(real64) :: sign
    integer :: k, q, more
    more = f%more(2)
    do q = 1, size(f%at, 3)
      sign = f%mirror(2, q)
      if (is_wall(low)) then
        if (more == 1 .and. sign < 0) f%at(:, 1, q) = 0
        do k = 1, f%depth
          f%at(:, 1 - k, q) = sign * f%at(:, k + more, q)
        end do
      end if
      if (is_wall(high)) then
        if (more == 1 .and. sign < 0) f%at(:, n + 1, q) = 0
        do k = 1, f%depth
          f%at(:, n + more + k, q) = sign * f%at(:, n + 1 - k, q)
        end do
      end if
    end do
  end subroutine mirror_y

end module walls

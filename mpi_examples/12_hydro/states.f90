! SPDX-License-Identifier: BSD-3-Clause
!
! states.f90 - what the deck's states put into a block at the start.
module states
  use, intrinsic :: iso_fortran_env, only: real64
  use blocks
  use decks
  implicit none
  private
  public :: set_states

contains

  ! Where a point is comes from its number in the whole grid: blocks that are
  ! cut otherwise get the same bits.
  subroutine set_states(b, asked)
    type(block), intent(inout) :: b
    type(problem), intent(in) :: asked
    integer :: s
    do s = 1, size(asked%states)
      call set_cells(b, asked%states(s))
      call set_nodes(b, asked%states(s))
    end do
  end subroutine set_states

  subroutine set_cells(b, what)
    type(block), intent(inout) :: b
    type(state), intent(in) :: what
    real(real64), parameter :: half = 0.5_real64
    integer :: i, j
    do j = 1, b%n(2)
      do i = 1, b%n(1)
        if (.not. is_inside(what, (b%offset + [i, j] - half) * b%width, &
          half * b%width)) cycle
        b%of(cells)%at(i, j, density) = what%value(state_density)
        b%of(cells)%at(i, j, energy) = what%value(state_energy)
      end do
    end do
  end subroutine set_cells

  subroutine set_nodes(b, what)
    type(block), intent(inout) :: b
    type(state), intent(in) :: what
    integer :: i, j
    do j = 1, b%n(2) + 1
      do i = 1, b%n(1) + 1
        if (.not. is_inside(what, (b%offset + [i, j] - 1) * b%width, &
          b%width)) cycle
        b%of(nodes)%at(i, j, u) = what%value(x_velocity)
        b%of(nodes)%at(i, j, v) = what%value(y_velocity)
      end do
    end do
  end subroutine set_nodes

  ! A point is at a place that is no further off than reach along x and y.
  pure logical function is_inside(what, at, reach)
    type(state), intent(in) :: what
    real(real64), intent(in) :: at(2), reach(2)
    real(real64) :: from(2)
    from = at - what%value([centre_x, centre_y])
    select case (what%shape)
    case (rectangle)
      is_inside = all(at >= what%value([left, bottom])) .and. &
        all(at <= what%value([right, top]))
    case (circle)
      is_inside = from(1) * from(1) + from(2) * from(2) <= &
        what%value(radius) * what%value(radius)
    case (point)
      is_inside = all(from > -reach) .and. all(from <= reach)
    case default
      is_inside = .true.
    end select
  end function is_inside

end module states

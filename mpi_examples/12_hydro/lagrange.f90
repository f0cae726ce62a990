! SPDX-License-Identifier: BSD-3-Clause
!
! lagrange.f90 - the first half of a step: the grid goes along with the fluid.
!
! Second order in time: the pressure half a step ahead moves the nodes, and the
! nodes' mean velocity does the work, p dV, on the cells. What a cell pushes a
! node by and what that node changes of the cell's volume are the same areas: so
! what motion gains is what cells lose, but for rounding.
module lagrange
  use, intrinsic :: iso_fortran_env, only: real64
  use blocks
  use gas, only: gas_pressure
  implicit none
  private
  public :: predict_pressure, accelerate, set_flow, compress

  real(real64), parameter :: half = 0.5_real64, quarter = 0.25_real64

contains

  ! What the pressure will be half a step later, if nodes go on as they do.
  subroutine predict_pressure(b, gamma, step)
    type(block), intent(inout) :: b
    real(real64), intent(in) :: gamma, step
    real(real64) :: growth, volume, later, warmth
    integer :: i, j
    associate (c => b%of(cells)%at, w => b%of(nodes)%at, &
        p => b%of(pressure)%at, q => b%of(viscosity)%at)
      do j = 1, b%n(2)
        do i = 1, b%n(1)
          growth = half * step * ( &
            (face_x(b, w, i + 1, j) - face_x(b, w, i, j)) + &
            (face_y(b, w, i, j + 1) - face_y(b, w, i, j)))
          volume = b%volume + growth
          later = c(i, j, density) * b%volume / volume
          warmth = c(i, j, energy) - (p(i, j, 1) + q(i, j, 1)) * growth / &
            (c(i, j, density) * b%volume)
          p(i, j, 1) = gas_pressure(gamma, later, warmth)
        end do
      end do
    end associate
  end subroutine predict_pressure

  ! The area of a face that nodes with these velocities cross in a time of 1.
  pure real(real64) function face_x(b, w, i, j)
    type(block), intent(in) :: b
    real(real64), intent(in) :: w(-1:, -1:, :)
    integer, intent(in) :: i, j
    face_x = b%width(2) * (half * (w(i, j, u) + w(i, j + 1, u)))
  end function face_x

  pure real(real64) function face_y(b, w, i, j)
    type(block), intent(in) :: b
    real(real64), intent(in) :: w(-1:, -1:, :)
    integer, intent(in) :: i, j
    face_y = b%width(1) * (half * (w(i, j, v) + w(i + 1, j, v)))
  end function face_y

  ! A node has a quarter of each cell around it, and half of each face between
  ! them. Pairs are taken so that what walls mirror cancels bit by bit.
  subroutine accelerate(b, step)
    type(block), intent(inout) :: b
    real(real64), intent(in) :: step
    real(real64) :: mass, push(2), old(2)
    integer :: i, j
    associate (c => b%of(cells)%at, w => b%of(nodes)%at)
      do j = 1, b%n(2) + 1
        do i = 1, b%n(1) + 1
          mass = quarter * b%volume * &
            ((c(i - 1, j - 1, density) + c(i, j - 1, density)) + &
            (c(i - 1, j, density) + c(i, j, density)))
          push = push_at(b, i, j)
          old = w(i, j, :)
          w(i, j, :) = old + step * push / mass
          b%mean(i, j, :) = half * (old + w(i, j, :))
        end do
      end do
    end associate
  end subroutine accelerate

  pure function push_at(b, i, j) result(push)
    type(block), intent(in) :: b
    integer, intent(in) :: i, j
    real(real64) :: push(2), s(2, 2)
    s = b%of(pressure)%at(i - 1:i, j - 1:j, 1) + &
      b%of(viscosity)%at(i - 1:i, j - 1:j, 1)
    push(1) = half * b%width(2) * ((s(1, 1) - s(2, 1)) + (s(1, 2) - s(2, 2)))
    push(2) = half * b%width(1) * ((s(1, 1) - s(1, 2)) + (s(2, 1) - s(2, 2)))
  end function push_at

  ! The volumes that faces go through in the step.
  subroutine set_flow(b, step)
    type(block), intent(inout) :: b
    real(real64), intent(in) :: step
    integer :: i, j
    associate (x => b%of(flow_x)%at, y => b%of(flow_y)%at, w => b%mean)
      do j = 1, b%n(2)
        do i = 1, b%n(1) + 1
          x(i, j, 1) = step * b%width(2) * &
            (half * (w(i, j, u) + w(i, j + 1, u)))
        end do
      end do
      do j = 1, b%n(2) + 1
        do i = 1, b%n(1)
          y(i, j, 1) = step * b%width(1) * &
            (half * (w(i, j, v) + w(i + 1, j, v)))
        end do
      end do
    end associate
  end subroutine set_flow

  ! Cells as they are at the step's end, on the grid that has gone along.
  subroutine compress(b)
    type(block), intent(inout) :: b
    real(real64) :: growth
    integer :: i, j
    associate (c => b%of(cells)%at, x => b%of(flow_x)%at, &
        y => b%of(flow_y)%at, p => b%of(pressure)%at, &
        q => b%of(viscosity)%at)
      do j = 1, b%n(2)
        do i = 1, b%n(1)
          growth = (x(i + 1, j, 1) - x(i, j, 1)) + (y(i, j + 1, 1) - y(i, j, 1))
          c(i, j, energy) = c(i, j, energy) - (p(i, j, 1) + q(i, j, 1)) * &
            growth / (c(i, j, density) * b%volume)
          c(i, j, density) = c(i, j, density) * b%volume / (b%volume + growth)
        end do
      end do
    end associate
  end subroutine compress

end module lagrange

! SPDX-License-Identifier: BSD-3-Clause
!
! gas.f90 - an ideal gas, and the viscosity that spreads its shocks over a few
! cells.
module gas
  use, intrinsic :: iso_fortran_env, only: real64
  use blocks
  implicit none
  private
  public :: gas_pressure, set_pressure, set_viscosity

  real(real64), parameter :: half = 0.5_real64
  ! Of the quadratic and of the linear term.
  real(real64), parameter :: quadratic = 2.0_real64, linear = 0.25_real64

contains

  elemental real(real64) function gas_pressure(gamma, density, energy)
    real(real64), intent(in) :: gamma, density, energy
    gas_pressure = (gamma - 1) * (density * energy)
  end function gas_pressure

  ! In the frame too, which knows density and energy.
  subroutine set_pressure(b, gamma)
    type(block), intent(inout) :: b
    real(real64), intent(in) :: gamma
    integer :: i, j
    associate (c => b%of(cells)%at, p => b%of(pressure)%at)
      do j = 0, b%n(2) + 1
        do i = 0, b%n(1) + 1
          p(i, j, 1) = gas_pressure(gamma, c(i, j, density), c(i, j, energy))
        end do
      end do
      do j = 1, b%n(2)
        do i = 1, b%n(1)
          b%sound(i, j) = sqrt(gamma * (gamma - 1) * &
            max(c(i, j, energy), 0.0_real64))
        end do
      end do
    end associate
  end subroutine set_pressure

  ! Where a cell is compressed, it resists by how fast it is along the slope of
  ! the pressure, which is across the shock, and by its length in that direction
  ! (von Neumann and Richtmyer 1950, Wilkins 1980).
  subroutine set_viscosity(b)
    type(block), intent(inout) :: b
    integer :: i, j
    associate (q => b%of(viscosity)%at)
      do j = 1, b%n(2)
        do i = 1, b%n(1)
          q(i, j, 1) = viscosity_at(b, i, j)
        end do
      end do
    end associate
  end subroutine set_viscosity

  real(real64) function viscosity_at(b, i, j) result(q)
    type(block), intent(in) :: b
    integer, intent(in) :: i, j
    real(real64) :: slope(2), rates(2, 2), rate, length
    q = 0
    rates = rates_at(b, i, j)
    if (rates(1, 1) + rates(2, 2) >= 0) return
    associate (p => b%of(pressure)%at)
      slope(1) = half * (p(i + 1, j, 1) - p(i - 1, j, 1)) / b%width(1)
      slope(2) = half * (p(i, j + 1, 1) - p(i, j - 1, 1)) / b%width(2)
    end associate
    call look_along(slope, rates, b%width, rate, length)
    if (rate >= 0) return
    q = b%of(cells)%at(i, j, density) * (quadratic * (length * rate)**2 - &
      linear * b%sound(i, j) * (length * rate))
  end function viscosity_at

  ! rates(c, d): how velocity c grows along direction d in the cell's middle.
  pure function rates_at(b, i, j) result(rates)
    type(block), intent(in) :: b
    integer, intent(in) :: i, j
    real(real64) :: rates(2, 2)
    associate (w => b%of(nodes)%at)
      rates(:, 1) = half * ((w(i + 1, j, :) + w(i + 1, j + 1, :)) - &
        (w(i, j, :) + w(i, j + 1, :))) / b%width(1)
      rates(:, 2) = half * ((w(i, j + 1, :) + w(i + 1, j + 1, :)) - &
        (w(i, j, :) + w(i + 1, j, :))) / b%width(2)
    end associate
  end function rates_at

  ! The rate along the slope, and a cell's length; without a slope, of all.
  pure subroutine look_along(slope, rates, width, rate, length)
    real(real64), intent(in) :: slope(2), rates(2, 2), width(2)
    real(real64), intent(out) :: rate, length
    real(real64) :: squares(2), both
    squares = slope * slope
    both = squares(1) + squares(2)
    if (both <= tiny(both)) then
      rate = rates(1, 1) + rates(2, 2)
      length = minval(width)
      return
    end if
    rate = ((squares(1) * rates(1, 1) + squares(2) * rates(2, 2)) + &
      slope(1) * slope(2) * (rates(1, 2) + rates(2, 1))) / both
    length = sqrt(both / (squares(1) / width(1)**2 + squares(2) / width(2)**2))
  end subroutine look_along

end module gas

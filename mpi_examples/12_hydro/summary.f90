! SPDX-License-Identifier: BSD-3-Clause
!
! summary.f90 - what a block has of everything, how it is printed, and whether
! what has to stay has stayed.
!
! Sums depend on their order in the last bits, and so on how many processes
! there are: they are printed to nine digits, of which that changes none. What
! has to be the same bit by bit is in the fingerprint, which has no order.
module summary
  use, intrinsic :: iso_fortran_env, only: error_unit, int64, real64
  use blocks
  use decks, only: problem
  use gas, only: gas_pressure
  use time_steps, only: clock, clock_text
  use words, only: fixed, scientific, text_of
  implicit none
  private
  public :: num_totals, totals_of, print_totals, fingerprint_of
  public :: has_kept, not_kept, print_end, print_speed

  integer, parameter :: num_totals = 5
  integer, parameter :: volume = 1, mass = 2, internal = 3, kinetic = 4, &
    pressure_volume = 5
  ! Of itself, what may change of mass and of energy by rounding.
  real(real64), parameter :: tolerance = 1e-10_real64
  character(len=*), parameter :: not_kept = &
    "mass or energy has changed, which is a defect: see the result"

contains

  function totals_of(b, gamma) result(totals)
    type(block), intent(in) :: b
    real(real64), intent(in) :: gamma
    real(real64) :: totals(num_totals), own, squares
    integer :: i, j
    totals = 0
    associate (c => b%of(cells)%at, w => b%of(nodes)%at)
      do j = 1, b%n(2)
        do i = 1, b%n(1)
          own = b%volume * c(i, j, density)
          squares = sum(w(i:i + 1, j:j + 1, :)**2)
          totals(volume) = totals(volume) + b%volume
          totals(mass) = totals(mass) + own
          totals(internal) = totals(internal) + own * c(i, j, energy)
          totals(kinetic) = totals(kinetic) + own * 0.125_real64 * squares
          totals(pressure_volume) = totals(pressure_volume) + b%volume * &
            gas_pressure(gamma, c(i, j, density), c(i, j, energy))
        end do
      end do
    end associate
  end function totals_of

  ! Of the whole grid.
  subroutine print_totals(now, totals)
    type(clock), intent(in) :: now
    real(real64), intent(in) :: totals(num_totals)
    print "(a)", clock_text(now)
    print "(a)", "  volume " // scientific(totals(volume), 8) // &
      "  mass " // scientific(totals(mass), 8) // &
      "  pressure " // &
      scientific(totals(pressure_volume) / totals(volume), 8)
    print "(a)", "  energy " // scientific(energy_of(totals), 8) // &
      "  of it internal " // scientific(totals(internal), 8) // &
      " kinetic " // scientific(totals(kinetic), 8)
  end subroutine print_totals

  pure real(real64) function energy_of(totals)
    real(real64), intent(in) :: totals(num_totals)
    energy_of = totals(internal) + totals(kinetic)
  end function energy_of

  ! All bits of the block's own values, each turned by where it is in the grid
  ! and joined by "exclusive or": of the blocks' fingerprints joined so is the
  ! grid's, whatever they are. A node is of the block that is behind it.
  integer(int64) function fingerprint_of(b) result(print)
    type(block), intent(in) :: b
    integer :: i, j, q, turn
    print = 0
    do q = 1, 2
      do j = 1, b%n(2)
        do i = 1, b%n(1)
          turn = mod(b%offset(1) + i + 7 * (b%offset(2) + j) + 31 * q, 64)
          print = ieor(print, &
            ishftc(transfer(b%of(cells)%at(i, j, q), print), turn))
          print = ieor(print, &
            ishftc(transfer(b%of(nodes)%at(i, j, q), print), 63 - turn))
        end do
      end do
    end do
  end function fingerprint_of

  ! ---- the end -------------------------------------------------------------

  pure logical function has_kept(first, last)
    real(real64), intent(in) :: first(num_totals), last(num_totals)
    has_kept = mass_change(first, last) <= tolerance .and. &
      energy_change(first, last) <= tolerance
  end function has_kept

  pure real(real64) function mass_change(first, last)
    real(real64), intent(in) :: first(num_totals), last(num_totals)
    mass_change = abs(last(mass) - first(mass)) / first(mass)
  end function mass_change

  pure real(real64) function energy_change(first, last)
    real(real64), intent(in) :: first(num_totals), last(num_totals)
    energy_change = abs(energy_of(last) - energy_of(first)) / energy_of(first)
  end function energy_change

  subroutine print_end(print, first, last)
    integer(int64), intent(in) :: print
    real(real64), intent(in) :: first(num_totals), last(num_totals)
    character(len=16) :: digits
    write (digits, "(z16.16)") print
    write (*, "(a)") "fingerprint: " // digits
    if (has_kept(first, last)) then
      write (*, "(a)") "result: mass and energy are kept to " // &
        scientific(tolerance, 1) // " of themselves"
    else
      write (*, "(a)") "result: NOT kept: mass has changed by " // &
        text_of(mass_change(first, last)) // " of itself, energy by " // &
        text_of(energy_change(first, last))
    end if
  end subroutine print_end

  subroutine print_speed(asked, steps, seconds, exchanging)
    type(problem), intent(in) :: asked
    integer, intent(in) :: steps
    real(real64), intent(in) :: seconds, exchanging
    real(real64) :: done
    done = real(steps, real64) * product(real(asked%cells, real64))
    write (error_unit, "(a)") text_of(steps) // " steps of " // &
      text_of(asked%cells(1)) // " x " // text_of(asked%cells(2)) // &
      " cells in " // fixed(seconds, 3) // " s: " // &
      fixed(1e-6_real64 * done / seconds, 3) // &
      " million cells/s, exchange " // &
      fixed(100 * exchanging / seconds, 1) // " % of the time"
  end subroutine print_speed

end module summary

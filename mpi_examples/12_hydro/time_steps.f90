! SPDX-License-Identifier: BSD-3-Clause
!
! time_steps.f90 - how long a step may be, and which cell says so.
!
! A block finds its own least; the least of all blocks is the programs' matter.
! Of cells that say the same, that with the least number in the grid counts, so
! that blocks that are cut otherwise name the same one.
module time_steps
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use blocks
  use decks, only: problem
  use words, only: fixed, scientific, text_of
  implicit none
  private
  public :: limit, clock, least_step, choose_step, is_over, clock_text

  ! Why a step may not be longer.
  integer, parameter :: by_sound = 0, by_x = 1, by_y = 2, by_volume = 3
  integer, parameter :: num_reasons = 4
  character(len=6), parameter :: reasons(0:num_reasons - 1) = &
    [character(len=6) :: "sound", "x", "y", "volume"]
  ! The part of a cell that sound, or what moves, may cross in a step; the part
  ! of its volume by which a cell may change.
  real(real64), parameter :: safety = 0.5_real64, change = 0.2_real64

  ! The longest step, and whose it is: the cell's number and a reason.
  type :: limit
    real(real64) :: step = 0
    integer(int64) :: code = 0
  end type limit

  type :: clock
    integer :: steps = 0
    real(real64) :: time = 0
    real(real64) :: step = 0 ! the last one
    character(len=:), allocatable :: reason
  end type clock

contains

  function least_step(b) result(least)
    type(block), intent(in) :: b
    type(limit) :: least
    real(real64) :: steps(0:num_reasons - 1)
    integer :: i, j, r
    least = limit(huge(least%step), huge(least%code))
    do j = 1, b%n(2)
      do i = 1, b%n(1)
        steps = steps_at(b, i, j)
        r = minloc(steps, dim=1) - 1
        if (steps(r) < least%step) least = limit(steps(r), code_of(b, i, j, r))
      end do
    end do
  end function least_step

  ! By each reason. A cell that has lost its energy allows none.
  pure function steps_at(b, i, j) result(steps)
    type(block), intent(in) :: b
    integer, intent(in) :: i, j
    real(real64) :: steps(0:num_reasons - 1), speed, growth
    associate (c => b%of(cells)%at, w => b%of(nodes)%at, &
        q => b%of(viscosity)%at)
      steps = 0
      if (.not. c(i, j, energy) > 0) return
      speed = sqrt(b%sound(i, j)**2 + 2 * q(i, j, 1) / c(i, j, density))
      steps(by_sound) = safety * minval(b%width) / speed
      steps(by_x) = step_for(safety * b%width(1), &
        maxval(abs(w(i:i + 1, j:j + 1, u))))
      steps(by_y) = step_for(safety * b%width(2), &
        maxval(abs(w(i:i + 1, j:j + 1, v))))
      growth = 0.5_real64 * ( &
        ((w(i + 1, j, u) + w(i + 1, j + 1, u)) - &
        (w(i, j, u) + w(i, j + 1, u))) / b%width(1) + &
        ((w(i, j + 1, v) + w(i + 1, j + 1, v)) - &
        (w(i, j, v) + w(i + 1, j, v))) / b%width(2))
      steps(by_volume) = step_for(change, abs(growth))
    end associate
  end function steps_at

  pure real(real64) function step_for(way, speed)
    real(real64), intent(in) :: way, speed
    step_for = huge(way)
    if (speed > way * tiny(way)) step_for = way / speed
  end function step_for

  ! ---- codes ---------------------------------------------------------------

  ! The cell's number in the grid, row by row from 0, and the reason.
  pure integer(int64) function code_of(b, i, j, reason) result(code)
    type(block), intent(in) :: b
    integer, intent(in) :: i, j, reason
    integer(int64) :: row, column
    row = b%offset(2) + j - 1
    column = b%offset(1) + i - 1
    code = (row * b%whole(1) + column) * num_reasons + reason
  end function code_of

  function reason_text(asked, code) result(text)
    type(problem), intent(in) :: asked
    integer(int64), intent(in) :: code
    character(len=:), allocatable :: text
    integer(int64) :: number
    number = code / num_reasons
    text = trim(reasons(mod(code, int(num_reasons, int64)))) // " in cell " // &
      text_of(int(mod(number, int(asked%cells(1), int64))) + 1) // "," // &
      text_of(int(number / asked%cells(1)) + 1)
  end function reason_text

  ! ---- the clock -----------------------------------------------------------

  ! The next step, of which the least limit of all blocks is one bound. why is
  ! allocated where it is too short to go on with.
  subroutine choose_step(asked, least, now, why)
    type(problem), intent(in) :: asked
    type(limit), intent(in) :: least
    type(clock), intent(inout) :: now
    character(len=:), allocatable, intent(out) :: why
    real(real64) :: before
    before = now%step
    now%step = least%step
    now%reason = reason_text(asked, least%code)
    if (now%steps == 0) then
      call shorten(asked%first_step, "first_step", now)
    else
      call shorten(asked%growth * before, "growth", now)
    end if
    call shorten(asked%largest_step, "largest_step", now)
    if (now%step < asked%smallest_step) then
      why = asked%deck // ": step " // text_of(now%steps + 1) // &
        " may have no more than " // text_of(now%step) // ", by " // &
        now%reason // ", where smallest_step is " // &
        text_of(asked%smallest_step) // "; give a smaller first_step or a " // &
        "finer grid, and look at the states around that cell"
      return
    end if
    now%steps = now%steps + 1
    now%time = now%time + now%step
  end subroutine choose_step

  subroutine shorten(most, reason, now)
    real(real64), intent(in) :: most
    character(len=*), intent(in) :: reason
    type(clock), intent(inout) :: now
    if (now%step <= most) return
    now%step = most
    now%reason = reason
  end subroutine shorten

  pure logical function is_over(asked, now)
    type(problem), intent(in) :: asked
    type(clock), intent(in) :: now
    is_over = now%steps >= asked%end_step .or. now%time >= asked%end_time
  end function is_over

  function clock_text(now) result(text)
    type(clock), intent(in) :: now
    character(len=:), allocatable :: text
    character(len=6) :: steps
    write (steps, "(i6)") now%steps
    text = "step " // steps // "  time " // fixed(now%time, 6)
    if (now%steps > 0) text = text // "  step length " // &
      scientific(now%step, 6) // " by " // now%reason
  end function clock_text

end module time_steps

! SPDX-License-Identifier: BSD-3-Clause
!
! hydro_jd.f90 - a gas in a closed box, in two dimensions: Euler's equations on
! a staggered grid, by steps that go along with the fluid and then put it back.
! The port of hydro_mpi.f90, and it prints and draws the same.
!
! usage: hydro_jd DECK
!
! Steps:
!   1. Join the job; process 0 reads the deck, and all get its text.
!   2. The devices make a mesh of "y" and "x"; each has a block of the grid.
!   3. In each step frames are filled seven times and the least time step is
!      found once; all else is each block's own.
!   4. Totals are added up, and have to stay; the picture comes together
!      on one member.
program hydro_jd
  use, intrinsic :: iso_fortran_env, only: error_unit, int64, real64
  use jd
  use advection
  use blocks
  use decks
  use exchange_jd
  use gas
  use lagrange
  use pictures
  use states
  use summary
  use time_steps
  use walls
  implicit none
  type(problem) :: asked
  type(grid) :: g
  character(len=:), allocatable :: why
  integer :: parts(2)

  call jd_initialize()
  call read_deck(asked, why)
  if (.not. allocated(why)) call cut_grid(asked, parts, why)
  if (.not. allocated(why)) then
    call make_grid(parts, g)
    call run(g, asked, why)
    call free_grid(g)
  end if
  if (allocated(why)) call explain(why)
  call jd_shutdown()
  if (allocated(why)) stop 1, quiet=.true.

contains

  ! ---- the start -----------------------------------------------------------

  ! Process 0 reads; all get the text, and find out the same.
  subroutine read_deck(asked, why)
    type(problem), intent(out) :: asked
    character(len=:), allocatable, intent(out) :: why
    character(len=:), allocatable :: name, text
    if (command_argument_count() /= 1) then
      why = "usage: hydro_jd DECK"
      return
    end if
    name = deck_name()
    text = ""
    if (jd_process_index() == 0) call load_deck(name, text, why)
    if (.not. allocated(why)) why = ""
    call share_text(why)
    if (len(why) > 0) return
    call share_text(text)
    call parse_deck(name, text, asked, why)
  end subroutine read_deck

  function deck_name() result(name)
    character(len=:), allocatable :: name
    integer :: length
    call get_command_argument(1, length=length)
    allocate (character(len=length) :: name)
    call get_command_argument(1, name)
  end function deck_name

  subroutine cut_grid(asked, parts, why)
    type(problem), intent(in) :: asked
    integer, intent(out) :: parts(2)
    character(len=:), allocatable, intent(out) :: why
    parts = 0
    call jd_mesh_shape(jd_device_count(), parts)
    call check_cut(asked, parts, why)
  end subroutine cut_grid

  subroutine explain(why)
    character(len=*), intent(in) :: why
    if (jd_process_index() /= 0) return
    write (error_unit, "(a)") "hydro_jd: " // why
  end subroutine explain

  ! ---- the run -------------------------------------------------------------

  subroutine run(g, asked, why)
    type(grid), intent(inout) :: g
    type(problem), intent(in) :: asked
    character(len=:), allocatable, intent(out) :: why
    type(block) :: b
    type(clock) :: now
    real(real64) :: first(num_totals), last(num_totals), begin
    b = make_block(asked, g%parts, g%place)
    call set_states(b, asked)
    call refresh(g, b, [cells, nodes])
    call report(g, b, asked, now, first)
    last = first
    g%exchanging = 0
    begin = jd_wtime()
    do while (.not. is_over(asked, now))
      call take_step(g, b, asked, now, why)
      if (allocated(why)) return
      if (mod(now%steps, asked%report_every) == 0 .or. is_over(asked, now)) &
        call report(g, b, asked, now, last)
    end do
    if (g%member == 0) call print_speed(asked, now%steps, jd_wtime() - begin, &
      g%exchanging)
    call finish(g, b, asked, first, last, why)
  end subroutine run

  ! The frames of some fields, as walls and neighbours have them.
  subroutine refresh(g, b, which)
    type(grid), intent(inout) :: g
    type(block), intent(inout) :: b
    integer, intent(in) :: which(:)
    call mirror_at_walls(b, which)
    call exchange_frames(g, b, which)
  end subroutine refresh

  subroutine take_step(g, b, asked, now, why)
    type(grid), intent(inout) :: g
    type(block), intent(inout) :: b
    type(problem), intent(in) :: asked
    type(clock), intent(inout) :: now
    character(len=:), allocatable, intent(out) :: why
    call start_step(g, b, asked, now, why)
    if (allocated(why)) return
    call jd_trace_begin("lagrange")
    call move_grid(g, b, asked, now)
    call jd_trace_end()
    call jd_trace_begin("advection")
    call sweep(g, b, 1 + mod(now%steps + 1, 2), .true.)
    call sweep(g, b, 1 + mod(now%steps, 2), .false.)
    call jd_trace_end()
    call refresh(g, b, [cells, nodes])
  end subroutine take_step

  subroutine start_step(g, b, asked, now, why)
    type(grid), intent(inout) :: g
    type(block), intent(inout) :: b
    type(problem), intent(in) :: asked
    type(clock), intent(inout) :: now
    character(len=:), allocatable, intent(out) :: why
    type(limit) :: least
    call set_pressure(b, asked%gamma)
    call set_viscosity(b)
    call refresh(g, b, [viscosity])
    least = least_step(b)
    call find_least(g, least)
    call choose_step(asked, least, now, why)
  end subroutine start_step

  subroutine move_grid(g, b, asked, now)
    type(grid), intent(inout) :: g
    type(block), intent(inout) :: b
    type(problem), intent(in) :: asked
    type(clock), intent(in) :: now
    call predict_pressure(b, asked%gamma, now%step)
    call refresh(g, b, [pressure])
    call accelerate(b, now%step)
    call set_flow(b, now%step)
    call compress(b)
    call refresh(g, b, [cells, nodes, flow_x, flow_y])
  end subroutine move_grid

  subroutine sweep(g, b, along, is_first)
    type(grid), intent(inout) :: g
    type(block), intent(inout) :: b
    integer, intent(in) :: along
    logical, intent(in) :: is_first
    integer, parameter :: masses(2) = [mass_x, mass_y]
    call sweep_cells(b, along, is_first)
    call refresh(g, b, [masses(along)])
    call sweep_nodes(b, along)
    if (is_first) call refresh(g, b, [cells, nodes])
  end subroutine sweep

  ! ---- results -------------------------------------------------------------

  subroutine report(g, b, asked, now, totals)
    type(grid), intent(in) :: g
    type(block), intent(in) :: b
    type(problem), intent(in) :: asked
    type(clock), intent(in) :: now
    real(real64), intent(out) :: totals(num_totals)
    totals = totals_of(b, asked%gamma)
    call add_totals(g, totals)
    if (g%member == 0) call print_totals(now, totals)
  end subroutine report

  subroutine finish(g, b, asked, first, last, why)
    type(grid), intent(in) :: g
    type(block), intent(in) :: b
    type(problem), intent(in) :: asked
    real(real64), intent(in) :: first(num_totals), last(num_totals)
    character(len=:), allocatable, intent(inout) :: why
    integer(int64) :: print
    print = fingerprint_of(b)
    call join_fingerprints(g, print)
    if (g%member == 0) call print_end(print, first, last)
    if (.not. has_kept(first, last)) why = not_kept
    if (allocated(asked%picture)) call draw(g, b, asked)
  end subroutine finish

  subroutine draw(g, b, asked)
    type(grid), intent(in) :: g
    type(block), intent(in) :: b
    type(problem), intent(in) :: asked
    real(real64), allocatable :: values(:)
    character(len=:), allocatable :: why
    call gather_values(g, own_density(b), block_counts(asked, g%parts), values)
    if (g%member == 0) call write_picture(asked%picture, &
      put_together(asked, g%parts, values), why)
    if (allocated(why)) call jd_abort(1, "hydro_jd: " // why)
  end subroutine draw

end program hydro_jd

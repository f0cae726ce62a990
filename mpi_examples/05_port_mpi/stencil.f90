! SPDX-License-Identifier: BSD-3-Clause
!
! stencil.f90 - heat in a plate, with jd, in Fortran: what stencil_jd.c does, and
! it prints the same. No call of MPI is left.
!
! The plate has size x size inner points. Its upper edge is kept at 1, the other
! three at 0. One step replaces each point by the mean of its four neighbours
! (Jacobi's iteration). A member has some rows, and one more above and below: its
! neighbours' nearest rows, or the plate's edge. A row is a column of the array,
! so that it lies in one piece.
!
! Steps:
!   1. Join the job, lay all devices along the axis "rows".
!   2. Process 0 reads the command line and broadcasts what it says.
!   3. Each step: shift the outermost rows to the neighbours, advance, add up
!      the change over all members, stop where it is small.
!   4. Add up the heat, gather the middle column, print.
module plate
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use jd
  implicit none
  private
  public :: problem, solve

  integer, parameter :: every = 100, max_samples = 8

  ! What the user asks for.
  type :: problem
    integer :: size = 128           ! inner points along an edge
    integer :: steps = 1000         ! at most so many
    real(real64) :: tolerance = 1e-3_real64 ! stop where a step changes less
  end type problem

  ! The rows of one member: points 0:size + 1 of rows 0:rows + 1.
  type :: grid
    integer :: size, rows
    real(real64), allocatable :: now(:, :), before(:, :)
  end type grid

contains

  function make_grid(size, index, count) result(g)
    integer, intent(in) :: size, index, count
    type(grid) :: g
    g%size = size
    g%rows = size / count + merge(1, 0, index < mod(size, count))
    allocate (g%now(0:size + 1, 0:g%rows + 1), source=0.0_real64)
    if (index == 0) g%now(1:size, 0) = 1
    allocate (g%before(0:size + 1, 0:g%rows + 1), source=g%now)
  end function make_grid

  ! The outermost own rows go to the neighbours, theirs come into the rows
  ! around; at the plate's edges those stay as they are.
  subroutine exchange_rows(me, g)
    type(jd_shard), intent(in) :: me
    type(grid), intent(inout) :: g
    call jd_shift(me, "rows", 1, jd_edge_keep, g%now(:, g%rows), g%now(:, 0))
    call jd_shift(me, "rows", -1, jd_edge_keep, g%now(:, 1), &
      g%now(:, g%rows + 1))
  end subroutine exchange_rows

  ! One step of the own rows; the sum of the squared changes.
  real(real64) function advance(g) result(sum)
    type(grid), intent(inout) :: g
    real(real64), allocatable :: old(:, :)
    real(real64) :: mean
    integer :: i, j
    call move_alloc(g%now, old)
    call move_alloc(g%before, g%now)
    sum = 0
    do i = 1, g%rows
      do j = 1, g%size
        mean = (old(j, i - 1) + old(j, i + 1) + old(j - 1, i) + &
          old(j + 1, i)) / 4
        sum = sum + (mean - old(j, i)) * (mean - old(j, i))
        g%now(j, i) = mean
      end do
    end do
    call move_alloc(old, g%before)
  end function advance

  real(real64) function add_up(me, mine) result(sum)
    type(jd_shard), intent(in) :: me
    real(real64), intent(in) :: mine
    call jd_psum(me, "rows", mine, sum)
  end function add_up

  ! Advances until the change is small; the steps that took.
  integer function iterate(me, g, asked) result(step)
    type(jd_shard), intent(in) :: me
    type(grid), intent(inout) :: g
    type(problem), intent(in) :: asked
    real(real64) :: change
    change = huge(change)
    step = 0
    do while (step < asked%steps .and. change >= asked%tolerance)
      call exchange_rows(me, g)
      change = sqrt(add_up(me, advance(g)))
      step = step + 1
      if (jd_axis_index(me, "rows") == 0 .and. mod(step, every) == 0) &
        print "(a, i5, a, a)", "step ", step, "  change ", c_number(change)
    end do
  end function iterate

  ! As C's %.6e prints it.
  function c_number(x) result(text)
    real(real64), intent(in) :: x
    character(len=12) :: text
    write (text, "(es12.6e2)") x
    text(9:9) = "e"
  end function c_number

  ! One row after the other, as C adds them up.
  real(real64) function add_points(g) result(sum)
    type(grid), intent(in) :: g
    integer :: i, j
    sum = 0
    do i = 1, g%rows
      do j = 1, g%size
        sum = sum + g%now(j, i)
      end do
    end do
  end function add_points

  ! All members' middle columns, on each of them.
  function gather_middle(me, g) result(all)
    type(jd_shard), intent(in) :: me
    type(grid), intent(in) :: g
    real(real64) :: all(g%size)
    integer(int64), allocatable :: rows(:)
    allocate (rows(jd_axis_size(me, "rows")))
    call jd_all_gather(me, "rows", int(g%rows, int64), rows)
    call jd_ragged_all_gather(me, "rows", g%now((g%size + 1) / 2, 1:g%rows), &
      all, rows)
  end function gather_middle

  subroutine print_result(steps, mean, middle)
    integer, intent(in) :: steps
    real(real64), intent(in) :: mean, middle(:)
    integer :: i, samples
    samples = min(size(middle), max_samples)
    print "(a, i0, a, f11.9)", "after ", steps, " steps: mean heat ", mean
    print "(a, *(1x, f8.6))", "middle column:", &
      [(middle(int(int(i, int64) * size(middle) / samples) + 1), &
        i=0, samples - 1)]
  end subroutine print_result

  subroutine solve(me, asked)
    type(jd_shard), intent(in) :: me
    type(problem), intent(in) :: asked
    type(grid) :: g
    real(real64) :: heat, middle(asked%size)
    integer :: steps
    g = make_grid(asked%size, jd_axis_index(me, "rows"), &
      jd_axis_size(me, "rows"))
    steps = iterate(me, g, asked)
    heat = add_up(me, add_points(g))
    middle = gather_middle(me, g)
    if (jd_axis_index(me, "rows") == 0) &
      call print_result(steps, heat / asked%size / asked%size, middle)
  end subroutine solve

end module plate

! The command line, which process 0 reads for all.
module arguments
  use, intrinsic :: iso_fortran_env, only: error_unit, int64, output_unit, &
    real64
  use plate
  implicit none
  private
  public :: read_problem, to_run, to_stop, to_fail

  integer, parameter :: to_run = 0, to_stop = 1, to_fail = 2
  integer, parameter :: max_size = 16384, max_steps = 1000000
  character(len=*), parameter :: program_name = "stencil_f"

contains

  function argument(i) result(text)
    integer, intent(in) :: i
    character(len=:), allocatable :: text
    integer :: length
    call get_command_argument(i, length=length)
    allocate (character(len=length) :: text)
    call get_command_argument(i, text)
  end function argument

  subroutine print_usage(unit)
    integer, intent(in) :: unit
    write (unit, "(a)") "usage: " // program_name // &
      " [SIZE [STEPS [TOLERANCE]]]", &
      "Heat in a plate of SIZE x SIZE points (default 128), at most", &
      "STEPS steps (1000), until a step changes less than TOLERANCE (1e-3)."
  end subroutine print_usage

  subroutine say_wrong(name, value, allowed)
    character(len=*), intent(in) :: name, value, allowed
    write (error_unit, "(a)") program_name // ": " // name // " must be " // &
      allowed // ', not "' // value // '"'
    call print_usage(error_unit)
  end subroutine say_wrong

  ! A whole number of 1..most; 0 where text is none.
  integer function number_of(text, most) result(number)
    character(len=*), intent(in) :: text
    integer, intent(in) :: most
    integer(int64) :: value
    integer :: failure
    number = 0
    if (len(text) == 0 .or. len(text) > 18) return
    if (verify(text, "0123456789") /= 0) return
    read (text, *, iostat=failure) value
    if (failure == 0 .and. value >= 1 .and. value <= most) number = int(value)
  end function number_of

  ! A number from 0 on; -1 where text is none.
  real(real64) function tolerance_of(text) result(tolerance)
    character(len=*), intent(in) :: text
    integer :: failure
    tolerance = -1
    if (len(text) == 0 .or. verify(text, "0123456789.eEdD+-") /= 0) return
    read (text, *, iostat=failure) tolerance
    if (failure /= 0 .or. tolerance > huge(tolerance)) tolerance = -1
  end function tolerance_of

  function sizes_for(members) result(text)
    integer, intent(in) :: members
    character(len=:), allocatable :: text
    character(len=96) :: buffer
    write (buffer, "(a, i0, a, i0, a, i0, a)") "a whole number, ", members, &
      " to ", max_size, ", for ", members, &
      trim(merge(" members", " member ", members /= 1))
    text = trim(buffer)
  end function sizes_for

  ! What there is to do: to_run, to_stop (help was asked for) or to_fail.
  integer function read_problem(members, asked) result(action)
    integer, intent(in) :: members
    type(problem), intent(out) :: asked
    integer :: count
    count = command_argument_count()
    action = to_fail
    if (count == 1) then
      if (argument(1) == "--help") then
        call print_usage(output_unit)
        action = to_stop
        return
      end if
    end if
    if (count > 3) then
      call say_wrong("the fourth argument", argument(4), "absent")
      return
    end if
    if (count > 0) asked%size = number_of(argument(1), max_size)
    if (asked%size < members) then
      call say_wrong("SIZE", size_text(count), sizes_for(members))
      return
    end if
    if (count > 1) asked%steps = number_of(argument(2), max_steps)
    if (asked%steps == 0) then
      call say_wrong("STEPS", argument(2), "a whole number, 1 to 1000000")
      return
    end if
    if (count > 2) asked%tolerance = tolerance_of(argument(3))
    if (asked%tolerance < 0) then
      call say_wrong("TOLERANCE", argument(3), "a number from 0 on")
      return
    end if
    action = to_run
  end function read_problem

  function size_text(count) result(text)
    integer, intent(in) :: count
    character(len=:), allocatable :: text
    text = "128"
    if (count > 0) text = argument(1)
  end function size_text

end module arguments

program stencil
  use, intrinsic :: iso_fortran_env, only: real64
  use jd
  use plate
  use arguments
  implicit none
  type(problem) :: asked
  integer :: action

  call jd_initialize()
  action = to_run
  if (jd_process_index() == 0) action = read_problem(jd_device_count(), asked)
  call share_problem(action, asked)
  if (action == to_run) call solve_on_mesh(asked)

  ! A launcher may end the job as soon as one process has failed: nobody leaves
  ! here before process 0, which has said why by then.
  call jd_sync_global_devices("the end")
  call jd_shutdown()
  if (action == to_fail) stop to_fail, quiet=.true.

contains

  ! Everybody gets what process 0 has read.
  subroutine share_problem(action, asked)
    integer, intent(inout) :: action
    type(problem), intent(inout) :: asked
    integer :: numbers(3)
    numbers = [action, asked%size, asked%steps]
    call jd_broadcast_one_to_all(numbers, 0)
    call jd_broadcast_one_to_all(asked%tolerance, 0)
    action = numbers(1)
    asked%size = numbers(2)
    asked%steps = numbers(3)
  end subroutine share_problem

  ! All devices of the job along one axis.
  subroutine solve_on_mesh(asked)
    type(problem), intent(in) :: asked
    type(jd_mesh) :: mesh
    call jd_mesh_create(mesh, [-1], ["rows"])
    call solve(jd_mesh_shard(mesh), asked)
    call jd_mesh_destroy(mesh)
  end subroutine solve_on_mesh

end program stencil

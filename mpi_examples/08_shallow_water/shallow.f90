! SPDX-License-Identifier: BSD-3-Clause
!
! shallow.f90 - waves on a sea without shores, over a grid of devices, in Fortran:
! what shallow_jd.c does, and it prints and draws the same. Edges of blocks go by
! jd_halo_exchange, which packs nothing here: the halos are the blocks' own.
!
! Height h in the middle of each cell, velocity u on its east side and v on its
! south side. A step moves u and v by the slope of h, then h by what flows in and
! out. For the first a block needs the neighbours' h in the east and in the south,
! for the second their u in the west and their v in the north: so h has a halo
! behind its cells, and u and v have one before.
!
! Steps:
!   1. Join the job; arrange all devices as rows x columns.
!   2. Each device has a block of the sea.
!   3. In each step halos are filled twice.
!   4. jd_psum adds up water and energy.
!   5. The picture's blocks come together.
module water
  use, intrinsic :: iso_c_binding, only: c_int
  use, intrinsic :: iso_fortran_env, only: error_unit, int8, int64, real64
  use jd
  implicit none
  private
  public :: task, cut_task, sail

  ! In units of a cell and of a wave's speed: the step is within Courant's limit
  ! of 1 / sqrt(2).
  real(real64), parameter :: depth = 1, step_length = 0.5_real64
  real(real64), parameter :: hill_height = 0.2_real64
  integer, parameter :: num_reports = 4
  character(len=*), parameter :: all_axes = "rows,columns"

  ! What the program was asked for, the same on all.
  type :: task
    integer :: size = 512, steps = 400
    character(len=:), allocatable :: picture ! a file's name
    integer :: rows = 1, columns = 1         ! of the grid of blocks
    integer :: height = 0, width = 0         ! of a block, in cells
  end type task

  ! A device's block, its place in the grid, and where it meets its neighbours.
  type :: block
    integer :: row, column
    real(real64), allocatable :: h(:, :), u(:, :), v(:, :)
    type(jd_halo_dim) :: of_h(2), of_u(2), of_v(2)
  end type block

contains

  ! The most square grid of count blocks; the sea is rounded up to equal ones.
  subroutine cut_task(t, count)
    type(task), intent(inout) :: t
    integer, intent(in) :: count
    integer :: r
    r = 1
    do while (r * r <= count)
      if (mod(count, r) == 0) t%rows = r
      r = r + 1
    end do
    t%columns = count / t%rows
    t%size = (t%size + count - 1) / count * count
    t%height = t%size / t%rows
    t%width = t%size / t%columns
  end subroutine cut_task

  ! A calm sea with one round hill of water.
  function make_block(t, me) result(b)
    type(task), intent(in) :: t
    type(jd_shard), intent(in) :: me
    type(block) :: b
    type(jd_halo_dim) :: none
    integer :: i, j
    b%row = jd_axis_index(me, "rows")
    b%column = jd_axis_index(me, "columns")
    allocate (b%h(1:t%width + 1, 1:t%height + 1), source=0.0_real64)
    allocate (b%u(0:t%width, 1:t%height), source=0.0_real64)
    allocate (b%v(1:t%width, 0:t%height), source=0.0_real64)
    do i = 1, t%height
      do j = 1, t%width
        b%h(j, i) = surface_at(t, b%row * t%height + i, b%column * t%width + j)
      end do
    end do
    b%of_h = [jd_halo_dim(0, 1, "columns", periodic=.true.), &
      jd_halo_dim(0, 1, "rows", periodic=.true.)]
    b%of_u = [jd_halo_dim(1, 0, "columns", periodic=.true.), none]
    b%of_v = [none, jd_halo_dim(1, 0, "rows", periodic=.true.)]
  end function make_block

  real(real64) function surface_at(t, row, column) result(h)
    type(task), intent(in) :: t
    integer, intent(in) :: row, column
    real(real64) :: middle, wide, x, y
    middle = real(t%size, real64) / 3
    wide = real(t%size, real64) / 16
    y = real(row, real64) - middle
    x = real(column, real64) - middle
    h = depth + hill_height * exp(-((x * x + y * y) / (wide * wide)))
  end function surface_at

  subroutine move_velocities(t, b)
    type(task), intent(in) :: t
    type(block), intent(inout) :: b
    integer :: i, j
    do i = 1, t%height
      do j = 1, t%width
        b%u(j, i) = b%u(j, i) - step_length * (b%h(j + 1, i) - b%h(j, i))
        b%v(j, i) = b%v(j, i) - step_length * (b%h(j, i + 1) - b%h(j, i))
      end do
    end do
  end subroutine move_velocities

  subroutine move_surface(t, b)
    type(task), intent(in) :: t
    type(block), intent(inout) :: b
    integer :: i, j
    do i = 1, t%height
      do j = 1, t%width
        b%h(j, i) = b%h(j, i) - step_length * depth * &
          (b%u(j, i) - b%u(j - 1, i) + b%v(j, i) - b%v(j, i - 1))
      end do
    end do
  end subroutine move_surface

  subroutine take_step(t, me, b, exchanging)
    type(task), intent(in) :: t
    type(jd_shard), intent(in) :: me
    type(block), intent(inout) :: b
    real(real64), intent(inout) :: exchanging
    real(real64) :: begin, middle, later
    begin = now()
    call jd_halo_exchange(me, b%h, b%of_h)
    middle = now()
    call move_velocities(t, b)
    later = now()
    call jd_halo_exchange(me, b%u, b%of_u)
    call jd_halo_exchange(me, b%v, b%of_v)
    exchanging = exchanging + middle - begin + now() - later
    call move_surface(t, b)
  end subroutine take_step

  ! ---- results -------------------------------------------------------------

  ! The water above the calm sea's, and its energy.
  function sums_of(t, b) result(sums)
    type(task), intent(in) :: t
    type(block), intent(in) :: b
    real(real64) :: sums(2), hill
    integer :: i, j
    sums = 0
    do i = 1, t%height
      do j = 1, t%width
        hill = b%h(j, i) - depth
        sums(1) = sums(1) + hill
        sums(2) = sums(2) + 0.5_real64 * (hill * hill + &
          depth * (b%u(j, i) * b%u(j, i) + b%v(j, i) * b%v(j, i)))
      end do
    end do
  end function sums_of

  subroutine report(t, me, b, step)
    type(task), intent(in) :: t
    type(jd_shard), intent(in) :: me
    type(block), intent(in) :: b
    integer, intent(in) :: step
    real(real64) :: sums(2)
    sums = sums_of(t, b)
    call jd_psum(me, all_axes, sums)
    if (jd_axis_index(me, all_axes) == 0) print "(a, i6, a)", "step ", step, &
      "  water " // fixed(sums(1), 6) // "  energy " // fixed(sums(2), 6)
  end subroutine report

  ! Valleys blue, hills white: a byte for each of red, green and blue.
  function paint(t, b) result(pixels)
    type(task), intent(in) :: t
    type(block), intent(in) :: b
    integer(int8) :: pixels(3, t%width, t%height)
    real(real64) :: hill
    integer :: i, j
    do i = 1, t%height
      do j = 1, t%width
        hill = (b%h(j, i) - depth) / hill_height
        pixels(:, j, i) = shade([30 + 500 * hill, 90 + 480 * hill, &
          160 + 400 * hill])
      end do
    end do
  end function paint

  ! From 0 to 255, of which Fortran's bytes have the upper half below 0.
  elemental integer(int8) function shade(value)
    real(real64), intent(in) :: value
    integer :: whole
    whole = int(min(max(value, 0.0_real64), 255.0_real64))
    shade = int(merge(whole - 256, whole, whole > 127), int8)
  end function shade

  ! All members' blocks, of which one writes the lines.
  subroutine save_picture(t, me, b)
    type(task), intent(in) :: t
    type(jd_shard), intent(in) :: me
    type(block), intent(in) :: b
    integer(int8), allocatable :: all(:, :, :, :, :)
    character(len=200) :: why
    integer :: failure
    allocate (all(3, t%width, t%height, t%columns, t%rows))
    call jd_all_gather(me, all_axes, paint(t, b), all)
    if (jd_axis_index(me, all_axes) /= 0) return
    call write_picture(t, all, failure, why)
    if (failure /= 0) call jd_abort(1, t%picture // ": " // trim(why))
  end subroutine save_picture

  subroutine write_picture(t, all, failure, why)
    type(task), intent(in) :: t
    integer(int8), intent(in) :: all(:, :, :, :, :)
    integer, intent(out) :: failure
    character(len=*), intent(out) :: why
    character(len=40) :: head
    integer :: unit, r, i, c
    open (newunit=unit, file=t%picture, access="stream", form="unformatted", &
      status="replace", action="write", iostat=failure, iomsg=why)
    if (failure /= 0) return
    write (head, "(a, i0, a, i0, a)") "P6" // new_line("a"), t%size, " ", &
      t%size, new_line("a") // "255"
    write (unit, iostat=failure, iomsg=why) trim(head) // new_line("a")
    do r = 1, t%rows
      do i = 1, t%height
        write (unit, iostat=failure, iomsg=why) &
          (all(:, :, i, c, r), c=1, t%columns)
        if (failure /= 0) return
      end do
    end do
    close (unit, iostat=failure, iomsg=why)
  end subroutine write_picture

  subroutine print_speed(t, seconds, exchanging)
    type(task), intent(in) :: t
    real(real64), intent(in) :: seconds, exchanging
    real(real64) :: cells
    cells = real(t%size, real64)**2 * t%steps
    write (error_unit, "(i0, a, i0, a, i0, a)") t%steps, " steps of ", t%size, &
      " x ", t%size, " cells in " // fixed(seconds, 3) // " s: " // &
      fixed(1e-6_real64 * cells / seconds, 1) // " million cells/s, " // &
      "exchange " // fixed(100 * exchanging / seconds, 1) // &
      " % of the time, " // fixed(1e6_real64 * exchanging / t%steps, 2) // &
      " us a step"
  end subroutine print_speed

  ! With so many digits behind the point, and one before it.
  function fixed(x, digits) result(text)
    real(real64), intent(in) :: x
    integer, intent(in) :: digits
    character(len=:), allocatable :: text
    character(len=40) :: buffer, form
    write (form, "(a, i0, a)") "(f40.", digits, ")"
    write (buffer, form) x
    text = trim(adjustl(buffer))
  end function fixed

  ! Seconds on a clock.
  real(real64) function now()
    integer(int64) :: count, rate
    call system_clock(count, rate)
    now = real(count, real64) / real(rate, real64)
  end function now

  ! What every device does: a thread each where a process has several.
  subroutine sail(me, arg, stat)
    type(jd_shard), intent(in) :: me
    class(*), intent(inout) :: arg
    integer(c_int), intent(inout) :: stat
    stat = jd_ok
    select type (arg)
    type is (task)
      call sail_task(me, arg)
    end select
  end subroutine sail

  subroutine sail_task(me, t)
    type(jd_shard), intent(in) :: me
    type(task), intent(in) :: t
    type(block) :: b
    real(real64) :: begin, before, exchanging, reporting
    integer :: step, every
    every = max(t%steps / num_reports, 1)
    exchanging = 0
    reporting = 0
    b = make_block(t, me)
    call report(t, me, b, 0)
    begin = now()
    do step = 1, t%steps
      call take_step(t, me, b, exchanging)
      before = now()
      if (mod(step, every) == 0) call report(t, me, b, step)
      reporting = reporting + now() - before
    end do
    if (jd_axis_index(me, all_axes) == 0) &
      call print_speed(t, now() - begin - reporting, exchanging)
    if (allocated(t%picture)) call save_picture(t, me, b)
  end subroutine sail_task

end module water

program shallow
  use, intrinsic :: iso_fortran_env, only: error_unit, int64, output_unit
  use jd
  use water
  implicit none
  integer, parameter :: max_size = 16384, max_steps = 100000000
  integer, parameter :: to_run = 0, to_help = 1, to_fail = 2
  type(task) :: asked
  character(len=:), allocatable :: why
  integer :: what

  call jd_initialize()
  what = read_task(asked, why)
  if (what == to_run) then
    call run(asked)
  else if (jd_process_index() == 0) then
    call explain(what, why)
  end if
  call jd_sync_global_devices("the end")
  call jd_shutdown()
  if (what == to_fail) stop to_fail, quiet=.true.

contains

  subroutine run(t)
    type(task), intent(inout) :: t
    type(jd_mesh) :: mesh
    call cut_task(t, jd_device_count())
    call jd_mesh_create(mesh, [t%rows, t%columns], &
      [character(len=7) :: "rows", "columns"])
    call jd_shard_map(mesh, sail, t)
    call jd_mesh_destroy(mesh)
  end subroutine run

  function argument(i) result(text)
    integer, intent(in) :: i
    character(len=:), allocatable :: text
    integer :: length
    call get_command_argument(i, length=length)
    allocate (character(len=length) :: text)
    call get_command_argument(i, text)
  end function argument

  ! A whole number from 1 to most; 0 where the text is none.
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

  logical function takes(t, name, value)
    type(task), intent(inout) :: t
    character(len=*), intent(in) :: name, value
    takes = .true.
    select case (name)
    case ("--picture")
      t%picture = value
    case ("--size")
      t%size = number_of(value, max_size)
      takes = t%size > 0
    case ("--steps")
      t%steps = number_of(value, max_steps)
      takes = t%steps > 0
    case default
      takes = .false.
    end select
  end function takes

  integer function read_task(t, why) result(what)
    type(task), intent(inout) :: t
    character(len=:), allocatable, intent(out) :: why
    integer :: i, count
    what = to_fail
    why = ""
    count = command_argument_count()
    if (count == 1) then
      if (argument(1) == "--help") then
        what = to_help
        return
      end if
    end if
    do i = 1, count, 2
      if (i == count) then
        why = argument(i) // " needs a value"
        return
      end if
      if (.not. takes(t, argument(i), argument(i + 1))) then
        why = argument(i) // " " // argument(i + 1) // &
          " is no option with a value it can have"
        return
      end if
    end do
    what = to_run
  end function read_task

  subroutine explain(what, why)
    integer, intent(in) :: what
    character(len=*), intent(in) :: why
    integer :: unit
    unit = merge(output_unit, error_unit, what == to_help)
    if (len(why) > 0) write (unit, "(a)") why
    write (unit, "(a)") &
      "usage: shallow_f [--size N] [--steps N] [--picture FILE]", &
      "Lets a hill of water run over a round sea of N x N cells.", &
      "  --size N        cells along a side (default 512), rounded up so that", &
      "                  blocks are equal", &
      "  --steps N       default 400", &
      "  --picture FILE  the surface at the end, as a PPM file", &
      "  --help          print this and exit"
  end subroutine explain

end program shallow

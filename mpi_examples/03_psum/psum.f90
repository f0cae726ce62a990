! SPDX-License-Identifier: BSD-3-Clause
!
! psum.f90 - statistics of numbers that no process holds all of, in Fortran:
! what psum.c does, with the same numbers.
!
! Steps:
!   1. Join the job and lay all devices along the axis "data".
!   2. Each device makes its own block of COUNT numbers.
!   3. jd_psum: mean and deviation, from two small sums in one call.
!   4. jd_psum in place, on integers: a histogram.
!   5. jd_all_gather: what each member contributed, in member order.
!   6. jd_pbroadcast: a value that only the last member knows.
!   7. Check against the closed formulas; member 0 prints.
module statistics
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use jd
  implicit none
  private
  public :: run

  integer, parameter :: num_bins = 10 ! numbers are 0..9: one bin each

  ! The share of one device: numbers first..first + count - 1 of 0, 1, 2, ...
  type :: block
    integer(int64) :: first, count
  end type block

contains

  ! Number i of the data set: 0, 1, ..., 9, 0, 1, ...
  elemental integer function number(i)
    integer(int64), intent(in) :: i
    number = int(mod(i, int(num_bins, int64)))
  end function number

  ! The share of member index of size: as even as can be, in member order.
  type(block) function block_of(total, index, size)
    integer(int64), intent(in) :: total
    integer, intent(in) :: index, size
    integer(int64) :: each, rest
    each = total / size
    rest = mod(total, int(size, int64))
    block_of%first = each * index + min(int(index, int64), rest)
    block_of%count = each + merge(1, 0, index < rest)
  end function block_of

  subroutine compute_mean(me, mine, total, mean, deviation)
    type(jd_shard), intent(in) :: me
    type(block), intent(in) :: mine
    integer(int64), intent(in) :: total
    real(real64), intent(out) :: mean, deviation
    real(real64) :: sums(2), all(2) ! of the numbers, of their squares
    integer(int64) :: i
    sums = 0
    do i = mine%first, mine%first + mine%count - 1
      sums = sums + [real(number(i), real64), real(number(i)**2, real64)]
    end do
    call jd_psum(me, "data", sums, all)
    mean = all(1) / real(total, real64)
    deviation = sqrt(max(0.0_real64, all(2) / real(total, real64) - mean**2))
  end subroutine compute_mean

  ! Every member's numbers, counted by value; without an out it is in place.
  function histogram_of(me, mine) result(bins)
    type(jd_shard), intent(in) :: me
    type(block), intent(in) :: mine
    integer(int64) :: bins(0:num_bins - 1)
    integer(int64) :: i
    bins = 0
    do i = mine%first, mine%first + mine%count - 1
      bins(number(i)) = bins(number(i)) + 1
    end do
    call jd_psum(me, "data", bins)
  end function histogram_of

  ! Where the last member's block ends: only that member works it out.
  function learn_end(me, mine) result(end)
    type(jd_shard), intent(in) :: me
    type(block), intent(in) :: mine
    integer(int64) :: end
    end = mine%first + mine%count
    call jd_pbroadcast(me, "data", jd_axis_size(me, "data") - 1, end)
  end function learn_end

  ! Whether each bin holds what counting 0..total - 1 by hand would give.
  logical function is_right(bins, end, total)
    integer(int64), intent(in) :: bins(0:), end, total
    integer(int64) :: i
    is_right = end == total .and. all(bins == [(total / num_bins + &
      merge(1, 0, i < mod(total, int(num_bins, int64))), i=0, num_bins - 1)])
  end function is_right

  logical function run(me, total)
    type(jd_shard), intent(in) :: me
    integer(int64), intent(in) :: total
    type(block) :: mine
    real(real64) :: mean, deviation
    integer(int64) :: bins(0:num_bins - 1), end
    integer(int64), allocatable :: counts(:)
    integer :: size
    size = jd_axis_size(me, "data")
    mine = block_of(total, jd_axis_index(me, "data"), size)
    call compute_mean(me, mine, total, mean, deviation)
    bins = histogram_of(me, mine)
    allocate (counts(size))
    call jd_all_gather(me, "data", mine%count, counts)
    end = learn_end(me, mine)
    run = is_right(bins, end, total)
    if (jd_axis_index(me, "data") /= 0) return
    print "(i0, a, i0, a)", size, " devices, ", total, " numbers"
    print "(a, *(1x, i0))", "counts    ", counts
    print "(a, *(1x, i0))", "histogram ", bins
    print "(a, f0.6)", "mean       ", mean
    print "(a, f0.6)", "deviation  ", deviation
    print "(a)", "result: " // trim(merge("right", "WRONG", run))
  end function run

end module statistics

program psum
  use, intrinsic :: iso_fortran_env, only: error_unit, int64, output_unit
  use jd
  use statistics
  implicit none
  integer, parameter :: failed = 1, usage = 2 ! exit statuses
  integer(int64), parameter :: max_count = 10000000000_int64
  integer(int64) :: total
  integer :: status

  call jd_initialize()

  total = 1000000
  if (command_argument_count() > 0) total = count_of_arguments()
  if (total > 0) then
    status = merge(0, failed, makes_mesh_and_runs(total))
  else
    status = explain_usage()
  end if
  ! A launcher may end the job as soon as one process has failed: nobody
  ! leaves before process 0 has said why.
  call jd_sync_global_devices("the end")
  call jd_shutdown()
  if (status /= 0) stop status, quiet=.true.

contains

  function argument_of(i) result(text)
    integer, intent(in) :: i
    character(len=:), allocatable :: text
    integer :: length
    call get_command_argument(i, length=length)
    allocate (character(len=length) :: text)
    call get_command_argument(i, text)
  end function argument_of

  ! The only argument as a number of 1..max_count; 0 where it is none.
  integer(int64) function count_of_arguments() result(count)
    character(len=:), allocatable :: text
    integer :: failure
    count = 0
    text = argument_of(1)
    if (command_argument_count() > 1 .or. len(text) == 0) return
    if (verify(text, "0123456789") /= 0) return
    read (text, *, iostat=failure) count
    if (failure /= 0 .or. count > max_count) count = 0
  end function count_of_arguments

  logical function makes_mesh_and_runs(total) result(is_right)
    integer(int64), intent(in) :: total
    type(jd_mesh) :: mesh
    call jd_mesh_create(mesh, [-1], ["data"])
    is_right = run(jd_mesh_shard(mesh), total)
    call jd_mesh_destroy(mesh)
  end function makes_mesh_and_runs

  ! Says on process 0 what is wrong with the command line.
  integer function explain_usage() result(status)
    logical :: helps
    integer :: unit
    helps = command_argument_count() == 1
    if (helps) helps = argument_of(1) == "--help"
    status = merge(0, usage, helps)
    unit = merge(output_unit, error_unit, helps)
    if (jd_process_index() /= 0) return
    if (command_argument_count() > 1) then
      write (unit, "(a)") "psum: too many arguments"
    else if (.not. helps) then
      write (unit, "(a, i0, a)") "psum: COUNT must be a whole number from 1 to ", &
        max_count, ', not "' // argument_of(1) // '"'
    end if
    write (unit, "(a)") "usage: psum [COUNT]"
    write (unit, "(a)") &
      "Adds up COUNT numbers (default 1000000) spread over all devices."
  end function explain_usage

end program psum

! SPDX-License-Identifier: BSD-3-Clause
!
! blocks.f90 - a process's block of the grid, and what is known in it.
!
! The grid is staggered: density, energy and pressure are known in cells,
! velocities at the nodes between them, and what flows at the faces. Cell (1, 1)
! of a block has node (1, 1) at its lower left, face (1, 1) of x at its left and
! of y below. A block of n cells has n + 1 nodes, of which the outermost are the
! neighbours' too: both compute them, out of the same numbers.
module blocks
  use, intrinsic :: iso_fortran_env, only: real64
  use decks, only: min_block, problem
  use words, only: text_of
  implicit none
  private
  public :: field, block, make_block, cut, check_cut

  ! The fields that have a frame of the neighbours' values.
  integer, parameter, public :: cells = 1, nodes = 2, pressure = 3, &
    viscosity = 4, flow_x = 5, flow_y = 6, mass_x = 7, mass_y = 8
  integer, parameter, public :: num_fields = 8
  ! The variables of the first two.
  integer, parameter, public :: density = 1, energy = 2 ! of cells
  integer, parameter, public :: u = 1, v = 2            ! of nodes

  ! at(i, j, variable), with a frame of so many around what is the block's own.
  ! Along a direction there is one more than cells are, or not; and a wall there
  ! mirrors a variable as it is, 1, or turns its sign, -1.
  type :: field
    integer :: depth = 0
    integer :: more(2) = 0
    integer, allocatable :: mirror(:, :) ! (direction, variable)
    real(real64), allocatable :: at(:, :, :)
  end type field

  type :: block
    integer :: whole(2) = 0             ! cells of the grid
    integer :: offset(2) = 0            ! cells of the grid before the first
    integer :: n(2) = 0                 ! cells of the block
    real(real64) :: width(2) = 1        ! of a cell
    real(real64) :: volume = 1          ! of a cell
    logical :: is_wall(2, 2) = .false.  ! (side, direction)
    type(field) :: of(num_fields)
    ! What no neighbour is asked for.
    real(real64), allocatable :: sound(:, :)     ! its speed, in cells
    real(real64), allocatable :: mean(:, :, :)   ! velocities over a step
    real(real64), allocatable :: before(:, :)    ! volumes before a sweep,
    real(real64), allocatable :: after(:, :)     ! and after it
    real(real64), allocatable :: node_mass(:, :) ! before a sweep
    real(real64), allocatable :: lost(:, :)      ! energy of motion, at nodes
  end type block

contains

  ! The part of n cells that one of several has: all as many, or one more.
  pure subroutine cut(n, parts, index, offset, count)
    integer, intent(in) :: n, parts, index
    integer, intent(out) :: offset, count
    integer :: longer
    longer = mod(n, parts)
    count = n / parts
    offset = index * count + min(index, longer)
    if (index < longer) count = count + 1
  end subroutine cut

  ! why is allocated where blocks would be too small: parts along x and y.
  subroutine check_cut(asked, parts, why)
    type(problem), intent(in) :: asked
    integer, intent(in) :: parts(2)
    character(len=:), allocatable, intent(out) :: why
    character(len=1), parameter :: names(2) = ["x", "y"]
    integer :: d
    do d = 1, 2
      if (asked%cells(d) >= min_block * parts(d)) cycle
      why = asked%deck // ", line " // text_of(asked%line_of_cells(d)) // &
        ": " // names(d) // "_cells=" // text_of(asked%cells(d)) // &
        " is too few for " // text_of(parts(d)) // " blocks, of " // &
        text_of(min_block) // " cells at least; give " // &
        text_of(min_block * parts(d)) // " or more, or start fewer processes"
      return
    end do
  end subroutine check_cut

  ! The block at a place, counted from 0 along x and y.
  function make_block(asked, parts, place) result(b)
    type(problem), intent(in) :: asked
    integer, intent(in) :: parts(2), place(2)
    type(block) :: b
    integer :: d
    b%whole = asked%cells
    b%width = asked%size / asked%cells
    b%volume = b%width(1) * b%width(2)
    do d = 1, 2
      call cut(asked%cells(d), parts(d), place(d), b%offset(d), b%n(d))
      b%is_wall(:, d) = [place(d) == 0, place(d) == parts(d) - 1]
    end do
    call make_fields(b)
    call make_rest(b)
  end function make_block

  ! Fluid that goes through the wall comes towards it there, mirrored.
  subroutine make_fields(b)
    type(block), intent(inout) :: b
    integer, parameter :: same(2) = [1, 1], x_turns(2) = [-1, 1], &
      y_turns(2) = [1, -1]
    b%of(cells) = make_field(b%n, 2, [0, 0], reshape([same, same], [2, 2]))
    b%of(nodes) = make_field(b%n, 2, [1, 1], &
      reshape([x_turns, y_turns], [2, 2]))
    b%of(pressure) = make_field(b%n, 1, [0, 0], reshape(same, [2, 1]))
    b%of(viscosity) = make_field(b%n, 1, [0, 0], reshape(same, [2, 1]))
    b%of(flow_x) = make_field(b%n, 2, [1, 0], reshape(x_turns, [2, 1]))
    b%of(flow_y) = make_field(b%n, 2, [0, 1], reshape(y_turns, [2, 1]))
    b%of(mass_x) = make_field(b%n, 1, [1, 0], reshape(x_turns, [2, 1]))
    b%of(mass_y) = make_field(b%n, 1, [0, 1], reshape(y_turns, [2, 1]))
  end subroutine make_fields

  function make_field(n, depth, more, mirror) result(f)
    integer, intent(in) :: n(2), depth, more(2), mirror(:, :)
    type(field) :: f
    integer :: first, last(2)
    f%depth = depth
    f%more = more
    allocate (f%mirror, source=mirror)
    first = 1 - depth
    last = n + more + depth
    allocate (f%at(first:last(1), first:last(2), size(mirror, 2)), &
      source=0.0_real64)
  end function make_field

  subroutine make_rest(b)
    type(block), intent(inout) :: b
    real(real64), parameter :: none = 0
    associate (m => b%n(1), n => b%n(2))
      allocate (b%sound(m, n), source=none)
      allocate (b%mean(m + 1, n + 1, 2), source=none)
      allocate (b%before(-1:m + 2, -1:n + 2), source=none)
      allocate (b%after(m, n), source=none)
      allocate (b%node_mass(0:m + 2, 0:n + 2), source=none)
      allocate (b%lost(m + 1, n + 1), source=none)
    end associate
  end subroutine make_rest

end module blocks

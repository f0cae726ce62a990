! SPDX-License-Identifier: BSD-3-Clause
!
! exchange_mpi.f90 - all that hydro_mpi says to MPI between its start and its
! end: the processes' grid, frames that are packed and sent, what is of all
! blocks.
module exchange_mpi
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use mpi_f08
  use blocks
  use time_steps, only: limit
  implicit none
  private
  public :: grid, make_grid, free_grid, share_text, exchange_frames
  public :: find_least, add_totals, join_fingerprints, gather_values

  integer, parameter :: low = 1, high = 2

  ! The processes as a grid, and this one's place in it.
  type :: grid
    type(MPI_Comm) :: comm
    integer :: rank = 0
    integer :: parts(2) = 1        ! processes along x and y
    integer :: place(2) = 0
    integer :: neighbour(2, 2) = 0 ! (side, direction)
    real(real64) :: exchanging = 0 ! seconds
  end type grid

  ! What goes to both sides of a direction and comes from them.
  type :: buffers
    real(real64), allocatable :: give(:, :), take(:, :) ! (value, side)
  end type buffers

contains

  ! MPI counts a grid's last direction first, and so it has y and x.
  subroutine make_grid(parts, g)
    integer, intent(in) :: parts(2)
    type(grid), intent(out) :: g
    integer :: place(2), d
    g%parts = parts
    call MPI_Cart_create(MPI_COMM_WORLD, 2, [parts(2), parts(1)], &
      [.false., .false.], .false., g%comm)
    call MPI_Comm_rank(g%comm, g%rank)
    call MPI_Cart_coords(g%comm, g%rank, 2, place)
    g%place = [place(2), place(1)]
    do d = 1, 2
      call MPI_Cart_shift(g%comm, 2 - d, 1, g%neighbour(low, d), &
        g%neighbour(high, d))
    end do
  end subroutine make_grid

  subroutine free_grid(g)
    type(grid), intent(inout) :: g
    call MPI_Comm_free(g%comm)
  end subroutine free_grid

  ! Everybody gets the text of rank 0.
  subroutine share_text(text)
    character(len=:), allocatable, intent(inout) :: text
    character(len=:), allocatable :: own
    integer :: length
    length = len(text)
    call MPI_Bcast(length, 1, MPI_INTEGER, 0, MPI_COMM_WORLD)
    allocate (character(len=length) :: own)
    own(:) = text
    call MPI_Bcast(own, length, MPI_CHARACTER, 0, MPI_COMM_WORLD)
    call move_alloc(own, text)
  end subroutine share_text

  ! ---- frames --------------------------------------------------------------

  ! All fields in one message to each side: along x, and then along y with what
  ! has come, so that corners come too.
  subroutine exchange_frames(g, b, which)
    type(grid), intent(inout) :: g
    type(block), intent(inout) :: b
    integer, intent(in) :: which(:)
    real(real64) :: begin
    integer :: d
    begin = MPI_Wtime()
    do d = 1, 2
      call exchange_along(g, b, which, d)
    end do
    g%exchanging = g%exchanging + MPI_Wtime() - begin
  end subroutine exchange_frames

  subroutine exchange_along(g, b, which, d)
    type(grid), intent(in) :: g
    type(block), intent(inout) :: b
    integer, intent(in) :: which(:), d
    type(buffers) :: buffer
    integer :: side, i, count
    count = 0
    do i = 1, size(which)
      count = count + frame_size(b%of(which(i)), d)
    end do
    allocate (buffer%give(count, 2), buffer%take(count, 2))
    do side = low, high
      call pack_side(b, which, d, side, buffer%give(:, side))
    end do
    call swap_buffers(g, d, buffer)
    do side = low, high
      if (g%neighbour(side, d) == MPI_PROC_NULL) cycle
      call unpack_side(b, which, d, side, buffer%take(:, side))
    end do
  end subroutine exchange_along

  subroutine swap_buffers(g, d, buffer)
    type(grid), intent(in) :: g
    integer, intent(in) :: d
    type(buffers), intent(inout), asynchronous :: buffer
    type(MPI_Request) :: requests(4)
    integer :: side, count
    count = size(buffer%give, 1)
    do side = low, high
      call MPI_Irecv(buffer%take(:, side), count, MPI_DOUBLE_PRECISION, &
        g%neighbour(side, d), 3 - side, g%comm, requests(side))
    end do
    do side = low, high
      call MPI_Isend(buffer%give(:, side), count, MPI_DOUBLE_PRECISION, &
        g%neighbour(side, d), side, g%comm, requests(2 + side))
    end do
    call MPI_Waitall(4, requests, MPI_STATUSES_IGNORE)
  end subroutine swap_buffers

  ! Of one side; the same at both.
  pure integer function frame_size(f, d)
    type(field), intent(in) :: f
    integer, intent(in) :: d
    frame_size = f%depth * size(f%at) / size(f%at, d)
  end function frame_size

  subroutine pack_side(b, which, d, side, buffer)
    type(block), intent(in) :: b
    integer, intent(in) :: which(:), d, side
    real(real64), intent(out) :: buffer(:)
    integer :: i, at, count, first, last
    at = 0
    do i = 1, size(which)
      associate (f => b%of(which(i)))
        count = frame_size(f, d)
        ! What the neighbour has itself, at the edge between, is not sent.
        first = 1 + f%more(d)
        if (side == high) first = b%n(d) + 1 - f%depth
        last = first + f%depth - 1
        if (d == 1) then
          buffer(at + 1:at + count) = reshape(f%at(first:last, :, :), [count])
        else
          buffer(at + 1:at + count) = reshape(f%at(:, first:last, :), [count])
        end if
      end associate
      at = at + count
    end do
  end subroutine pack_side

  subroutine unpack_side(b, which, d, side, buffer)
    type(block), intent(inout) :: b
    integer, intent(in) :: which(:), d, side
    real(real64), intent(in) :: buffer(:)
    integer :: i, at, count, first, last
    at = 0
    do i = 1, size(which)
      associate (f => b%of(which(i)))
        count = frame_size(f, d)
        first = 1 - f%depth
        if (side == high) first = b%n(d) + f%more(d) + 1
        last = first + f%depth - 1
        if (d == 1) then
          f%at(first:last, :, :) = reshape(buffer(at + 1:at + count), &
            [f%depth, size(f%at, 2), size(f%at, 3)])
        else
          f%at(:, first:last, :) = reshape(buffer(at + 1:at + count), &
            [size(f%at, 1), f%depth, size(f%at, 3)])
        end if
      end associate
      at = at + count
    end do
  end subroutine unpack_side

  ! ---- of all blocks -------------------------------------------------------

  ! MPI's pairs are of one type: a code is a whole number that a double has.
  subroutine find_least(g, least)
    type(grid), intent(in) :: g
    type(limit), intent(inout) :: least
    real(real64) :: pair(2)
    pair = [least%step, real(least%code, real64)]
    call MPI_Allreduce(MPI_IN_PLACE, pair, 1, MPI_2DOUBLE_PRECISION, &
      MPI_MINLOC, g%comm)
    least = limit(pair(1), int(pair(2), int64))
  end subroutine find_least

  ! On rank 0, which alone prints them.
  subroutine add_totals(g, totals)
    type(grid), intent(in) :: g
    real(real64), intent(inout) :: totals(:)
    real(real64) :: own(size(totals))
    own = totals
    call MPI_Reduce(own, totals, size(own), MPI_DOUBLE_PRECISION, MPI_SUM, 0, &
      g%comm)
  end subroutine add_totals

  subroutine join_fingerprints(g, print)
    type(grid), intent(in) :: g
    integer(int64), intent(inout) :: print
    integer(int64) :: own
    own = print
    call MPI_Reduce(own, print, 1, MPI_INTEGER8, MPI_BXOR, 0, g%comm)
  end subroutine join_fingerprints

  ! The blocks' values one by one, on rank 0; nothing on others.
  subroutine gather_values(g, own, counts, all)
    type(grid), intent(in) :: g
    real(real64), intent(in) :: own(:)
    integer, intent(in) :: counts(:)
    real(real64), allocatable, intent(out) :: all(:)
    integer :: offsets(size(counts)), i
    offsets(1) = 0
    do i = 2, size(counts)
      offsets(i) = offsets(i - 1) + counts(i - 1)
    end do
    allocate (all(merge(sum(counts), 0, g%rank == 0)))
    call MPI_Gatherv(own, size(own), MPI_DOUBLE_PRECISION, all, counts, &
      offsets, MPI_DOUBLE_PRECISION, 0, g%comm)
  end subroutine gather_values

end module exchange_mpi

! SPDX-License-Identifier: BSD-3-Clause
!
! exchange_jd.f90 - all that hydro_jd says to jd between its start and its end:
! what exchange_mpi.f90 is for hydro_mpi, with the same procedures.
module exchange_jd
  use, intrinsic :: iso_c_binding, only: c_bool
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use jd
  use blocks
  use time_steps, only: limit
  implicit none
  private
  public :: grid, make_grid, free_grid, share_text, exchange_frames
  public :: find_least, add_totals, join_fingerprints, gather_values

  ! Devices that follow each other are neighbours along the last axis.
  character(len=1), parameter :: axes(2) = ["y", "x"]
  character(len=*), parameter :: all_axes = "y,x"

  ! The devices as a mesh, and this one's place in it.
  type :: grid
    type(jd_mesh) :: mesh
    type(jd_shard) :: me
    integer :: member = 0          ! of all
    integer :: parts(2) = 1        ! members along x and y
    integer :: place(2) = 0
    real(real64) :: exchanging = 0 ! seconds
  end type grid

contains

  subroutine make_grid(parts, g)
    integer, intent(in) :: parts(2)
    type(grid), intent(out) :: g
    g%parts = parts
    call jd_mesh_create(g%mesh, [parts(2), parts(1)], axes)
    g%me = jd_mesh_shard(g%mesh)
    g%member = jd_axis_index(g%me, all_axes)
    g%place = [jd_axis_index(g%me, "x"), jd_axis_index(g%me, "y")]
  end subroutine make_grid

  subroutine free_grid(g)
    type(grid), intent(inout) :: g
    call jd_mesh_destroy(g%mesh)
  end subroutine free_grid

  ! Everybody gets the text of process 0.
  subroutine share_text(text)
    character(len=:), allocatable, intent(inout) :: text
    character(len=:), allocatable :: own
    integer :: length
    length = len(text)
    call jd_broadcast_one_to_all(length, 0)
    allocate (character(len=length) :: own)
    own(:) = text
    call jd_broadcast_one_to_all(own, 0)
    call move_alloc(own, text)
  end subroutine share_text

  ! ---- frames --------------------------------------------------------------

  ! Corners come too. A field's variables go together.
  subroutine exchange_frames(g, b, which)
    type(grid), intent(inout) :: g
    type(block), intent(inout) :: b
    integer, intent(in) :: which(:)
    real(real64) :: begin
    integer :: i
    begin = jd_wtime()
    do i = 1, size(which)
      associate (f => b%of(which(i)))
        call jd_halo_exchange(g%me, f%at, dims_of(f), corners=.true._c_bool)
      end associate
    end do
    g%exchanging = g%exchanging + jd_wtime() - begin
  end subroutine exchange_frames

  ! Of a node that two blocks have, and of a face, the one behind is said to be
  ! the owner: to that before it belongs to the frame, which gets the same bits.
  function dims_of(f) result(dims)
    type(field), intent(in) :: f
    type(jd_halo_dim) :: dims(3)
    dims = [jd_halo_dim(f%depth, f%depth + f%more(1), "x"), &
      jd_halo_dim(f%depth, f%depth + f%more(2), "y"), jd_halo_dim()]
  end function dims_of

  ! ---- of all blocks -------------------------------------------------------

  subroutine find_least(g, least)
    type(grid), intent(in) :: g
    type(limit), intent(inout) :: least
    type(limit) :: own
    own = least
    call jd_pminloc(g%me, all_axes, own%step, least%step, least%code, own%code)
  end subroutine find_least

  subroutine add_totals(g, totals)
    type(grid), intent(in) :: g
    real(real64), intent(inout) :: totals(:)
    call jd_psum(g%me, all_axes, totals)
  end subroutine add_totals

  subroutine join_fingerprints(g, print)
    type(grid), intent(in) :: g
    integer(int64), intent(inout) :: print
    call jd_pxor(g%me, all_axes, print)
  end subroutine join_fingerprints

  ! The blocks' values one by one, on member 0; nothing on others: each has one
  ! piece for member 0, and none for the rest.
  subroutine gather_values(g, own, counts, all)
    type(grid), intent(in) :: g
    real(real64), intent(in) :: own(:)
    integer, intent(in) :: counts(:)
    real(real64), allocatable, intent(out) :: all(:)
    integer(int64), dimension(size(counts)) :: from, give, to, take
    from = 0
    give = 0
    give(1) = size(own)
    to = 0
    to(1) = sum(counts(:g%member))
    take = merge(counts, 0, g%member == 0)
    allocate (all(sum(take)))
    call jd_ragged_all_to_all(g%me, all_axes, own, all, from, give, to, take)
  end subroutine gather_values

end module exchange_jd

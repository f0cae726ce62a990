! SPDX-License-Identifier: BSD-3-Clause
!
! advection.f90 - the second half of a step: the fluid is put back on the grid
! that stands, by a sweep along x and one along y.
!
! A sweep is a lot of lines of cells, and of lines of nodes, each by itself.
! What goes through a face, or from node to node, is what is upwind of it, with
! van Leer's slope: second order where the fluid is smooth, and no new extremes.
! The nodes' masses flow as the cells' do. Momentum that is mixed has lost
! energy of motion, which the cells around get as heat (DeBar 1974).
module advection
  use, intrinsic :: iso_fortran_env, only: real64
  use blocks
  implicit none
  private
  public :: sweep_cells, sweep_nodes

  real(real64), parameter :: half = 0.5_real64, quarter = 0.25_real64

contains

  ! ---- cells ---------------------------------------------------------------

  ! Along x, 1, or y, 2. is_first: the other sweep is still to come.
  subroutine sweep_cells(b, along, is_first)
    type(block), intent(inout) :: b
    integer, intent(in) :: along
    logical, intent(in) :: is_first
    integer :: k
    call set_volumes(b, along, is_first)
    call set_node_masses(b)
    associate (c => b%of(cells)%at, x => b%of(flow_x)%at, &
        y => b%of(flow_y)%at, mx => b%of(mass_x)%at, my => b%of(mass_y)%at)
      if (along == 1) then
        do k = 1, b%n(2)
          call advect_cells(b%n(1), x(:, k, 1), b%before(:, k), b%after(:, k), &
            c(:, k, density), c(:, k, energy), mx(:, k, 1))
        end do
      else
        do k = 1, b%n(1)
          call advect_cells(b%n(2), y(k, :, 1), b%before(k, :), b%after(k, :), &
            c(k, :, density), c(k, :, energy), my(k, :, 1))
        end do
      end if
    end associate
  end subroutine sweep_cells

  ! A cell's volume with what has still to flow, before and after the sweep.
  subroutine set_volumes(b, along, is_first)
    type(block), intent(inout) :: b
    integer, intent(in) :: along
    logical, intent(in) :: is_first
    real(real64) :: own, other
    integer :: i, j
    associate (x => b%of(flow_x)%at, y => b%of(flow_y)%at)
      do j = -1, b%n(2) + 2
        do i = -1, b%n(1) + 2
          own = x(i + 1, j, 1) - x(i, j, 1)
          other = y(i, j + 1, 1) - y(i, j, 1)
          if (along == 2) call swap(own, other)
          if (.not. is_first) other = 0
          b%before(i, j) = b%volume + (own + other)
          if (all([i, j] >= 1 .and. [i, j] <= b%n)) &
            b%after(i, j) = b%volume + other
        end do
      end do
    end associate
  end subroutine set_volumes

  pure subroutine swap(a, b)
    real(real64), intent(inout) :: a, b
    real(real64) :: kept
    kept = a
    a = b
    b = kept
  end subroutine swap

  ! A quarter of each cell around.
  subroutine set_node_masses(b)
    type(block), intent(inout) :: b
    integer :: i, j
    associate (c => b%of(cells)%at, volume => b%before)
      do j = 0, b%n(2) + 2
        do i = 0, b%n(1) + 2
          b%node_mass(i, j) = quarter * ( &
            (c(i - 1, j - 1, density) * volume(i - 1, j - 1) + &
            c(i, j - 1, density) * volume(i, j - 1)) + &
            (c(i - 1, j, density) * volume(i - 1, j) + &
            c(i, j, density) * volume(i, j)))
        end do
      end do
    end associate
  end subroutine set_node_masses

  ! A line of n cells. Mass takes its energy along.
  subroutine advect_cells(n, flow, before, after, rho, e, mass)
    integer, intent(in) :: n
    real(real64), intent(in) :: flow(-1:), before(-1:), after(:)
    real(real64), intent(inout) :: rho(-1:), e(-1:), mass(0:)
    real(real64) :: heat(n + 1), old, new
    integer :: k, from, to, up
    do k = 1, n + 1
      call look_upwind(flow(k), k, up, from, to)
      mass(k) = flow(k) * upwind(rho(up), rho(from), rho(to), &
        abs(flow(k)) / before(from))
      heat(k) = mass(k) * upwind(e(up), e(from), e(to), &
        abs(mass(k)) / (rho(from) * before(from)))
    end do
    do k = 1, n
      old = rho(k) * before(k)
      new = old + (mass(k) - mass(k + 1))
      e(k) = (old * e(k) + (heat(k) - heat(k + 1))) / new
      rho(k) = new / after(k)
    end do
  end subroutine advect_cells

  ! Through face k, between k - 1 and k.
  pure subroutine look_upwind(flow, k, up, from, to)
    real(real64), intent(in) :: flow
    integer, intent(in) :: k
    integer, intent(out) :: up, from, to
    if (flow > 0) then
      up = k - 2
      from = k - 1
      to = k
    else
      up = k + 1
      from = k
      to = k - 1
    end if
  end subroutine look_upwind

  ! What flows on the mean when a share of "from" goes to "to": its value, and
  ! of its slope what the outermost share has of it.
  pure real(real64) function upwind(up, from, to, share)
    real(real64), intent(in) :: up, from, to, share
    real(real64) :: behind, ahead, slope
    behind = from - up
    ahead = to - from
    upwind = from
    if (behind * ahead <= 0) return
    slope = min(2 * abs(behind), 2 * abs(ahead), half * abs(behind + ahead))
    upwind = from + half * (1 - share) * sign(slope, ahead)
  end function upwind

  ! ---- nodes ---------------------------------------------------------------

  ! After the cells, when the neighbours' masses are here.
  subroutine sweep_nodes(b, along)
    type(block), intent(inout) :: b
    integer, intent(in) :: along
    integer :: k
    b%lost = 0
    associate (w => b%of(nodes)%at, mx => b%of(mass_x)%at, &
        my => b%of(mass_y)%at)
      if (along == 1) then
        do k = 1, b%n(2) + 1
          call advect_nodes(b%n(1), mx(:, k - 1, 1), mx(:, k, 1), &
            b%node_mass(:, k), w(:, k, :), b%lost(:, k))
        end do
      else
        do k = 1, b%n(1) + 1
          call advect_nodes(b%n(2), my(k - 1, :, 1), my(k, :, 1), &
            b%node_mass(k, :), w(k, :, :), b%lost(k, :))
        end do
      end if
    end associate
    call warm_cells(b)
  end subroutine sweep_nodes

  ! A line of n + 1 nodes, between two lines of cells, of which face(:) is what
  ! went through their faces.
  subroutine advect_nodes(n, left_face, right_face, before, w, lost)
    integer, intent(in) :: n
    real(real64), intent(in) :: left_face(0:), right_face(0:), before(0:)
    real(real64), intent(inout) :: w(-1:, :), lost(:)
    real(real64) :: mass(0:n + 1)
    integer :: k, q
    do k = 0, n + 1
      mass(k) = quarter * ((left_face(k) + left_face(k + 1)) + &
        (right_face(k) + right_face(k + 1)))
    end do
    do q = 1, size(w, 2)
      call advect_velocity(n, mass, before, w(:, q), lost)
    end do
  end subroutine advect_nodes

  ! mass(k) goes from node k to node k + 1, and takes along its momentum and its
  ! energy of motion, of which the nodes have then more than they move with.
  subroutine advect_velocity(n, mass, before, w, lost)
    integer, intent(in) :: n
    real(real64), intent(in) :: mass(0:), before(0:)
    real(real64), intent(inout) :: w(-1:), lost(:)
    real(real64) :: momentum(0:n + 1), motion(0:n + 1), after, new, value
    integer :: k, up, from, to
    do k = 0, n + 1
      call look_upwind(mass(k), k + 1, up, from, to)
      value = upwind(w(up), w(from), w(to), abs(mass(k)) / before(from))
      momentum(k) = mass(k) * value
      motion(k) = half * momentum(k) * value
    end do
    do k = 1, n + 1
      after = before(k) + (mass(k - 1) - mass(k))
      new = (before(k) * w(k) + (momentum(k - 1) - momentum(k))) / after
      lost(k) = lost(k) + ((half * before(k) * w(k) * w(k) + &
        (motion(k - 1) - motion(k))) / after - half * new * new)
      w(k) = new
    end do
  end subroutine advect_velocity

  ! A cell gets the mean of what its corners have lost, for each unit of mass.
  subroutine warm_cells(b)
    type(block), intent(inout) :: b
    integer :: i, j
    associate (c => b%of(cells)%at, lost => b%lost)
      do j = 1, b%n(2)
        do i = 1, b%n(1)
          c(i, j, energy) = c(i, j, energy) + quarter * &
            ((lost(i, j) + lost(i + 1, j)) + &
            (lost(i, j + 1) + lost(i + 1, j + 1)))
        end do
      end do
    end associate
  end subroutine warm_cells

end module advection

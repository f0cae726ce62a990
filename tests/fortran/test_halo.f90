! SPDX-License-Identifier: BSD-3-Clause
!
! test_halo.f90 - halos in Fortran's order, against what each element is by its
! place in the whole, and against C's call with the dimensions reversed.
program test_halo
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use expectations
  use jd
  implicit none

  ! C's jd_halo_dim.
  type, bind(C) :: c_dim
    integer(c_int64_t) :: size, before, after
    type(c_ptr) :: axis
    integer(c_int) :: periodic
  end type c_dim

  interface
    integer(c_int) function c_halo_exchange( &
      shard, block, dtype, ndim, dims, corners) &
      bind(C, name="jd_halo_exchange")
      import :: c_ptr, c_int, c_dim
      type(c_ptr), value :: shard, block
      integer(c_int), value :: dtype, ndim, corners
      type(c_dim), intent(in) :: dims(ndim)
    end function c_halo_exchange
  end interface

  integer, parameter :: own(2) = [5, 3] ! elements of a block
  type(jd_mesh) :: mesh
  type(jd_shard) :: me
  integer :: ways(2), at(2), stat

  call jd_initialize()
  ways = [1, jd_device_count()]
  if (mod(ways(2), 2) == 0) ways = [2, ways(2) / 2]
  call jd_mesh_create(mesh, ways, ["a", "b"])
  me = jd_mesh_shard(mesh)
  at = [jd_axis_index(me, "a"), jd_axis_index(me, "b")]
  call go_around()
  call stop_at_walls()
  call count_variables()
  call exchange_a_section()
  call exchange_texts()
  call follow_two_axes()
  call go_on()
  call refuse()
  call jd_mesh_destroy(mesh)
  call end_test()

contains

  ! The place in the whole of element k along dimension d: a block has own(d).
  integer function place(d, k, periodic)
    integer, intent(in) :: d, k
    logical, intent(in) :: periodic
    place = at(d) * own(d) + k
    if (periodic) place = modulo(place - 1, ways(d) * own(d)) + 1
  end function place

  ! The whole's element, which is -1 beyond a wall.
  integer function whole(i, j)
    integer, intent(in) :: i, j
    whole = 1000 * j + i
    if (i < 1 .or. j < 1) whole = -1
    if (i > ways(1) * own(1) .or. j > ways(2) * own(2)) whole = -1
  end function whole

  ! A block that begins at `low`, of whose elements it has its own alone.
  subroutine fill(u, low)
    integer, intent(in) :: low(2)
    integer, intent(out) :: u(low(1):, low(2):)
    integer :: i, j
    u = -1
    do j = 1, own(2)
      do i = 1, own(1)
        u(i, j) = whole(place(1, i, .false.), place(2, j, .false.))
      end do
    end do
  end subroutine fill

  ! What the halos of u are after an exchange.
  subroutine expect_halos(u, low, periodic, corners, what)
    integer, intent(in) :: low(2)
    integer, intent(in) :: u(low(1):, low(2):)
    logical, intent(in) :: periodic(2), corners
    character(len=*), intent(in) :: what
    integer :: i, j, wanted, num_wrong
    num_wrong = 0
    do j = low(2), ubound(u, 2)
      do i = low(1), ubound(u, 1)
        wanted = whole(place(1, i, periodic(1)), place(2, j, periodic(2)))
        if (.not. corners .and. (i < 1 .or. i > own(1)) .and. &
          (j < 1 .or. j > own(2))) wanted = -1
        if (u(i, j) /= wanted) num_wrong = num_wrong + 1
      end do
    end do
    call expect(num_wrong == 0, what)
  end subroutine expect_halos

  ! Unlike widths before and behind, and along the dimensions.
  subroutine go_around()
    integer :: u(-1:own(1) + 1, 0:own(2) + 2)
    integer, target :: same(own(1) + 3, own(2) + 3)
    character(kind=c_char), target :: a(2) = ["a", c_null_char]
    character(kind=c_char), target :: b(2) = ["b", c_null_char]
    type(c_dim) :: dims(2)
    call fill(u, [-1, 0])
    same = u
    call jd_halo_exchange(me, u, [jd_halo_dim(2, 1, "a", .true.), &
      jd_halo_dim(1, 2, "b", .true.)], corners=.true._c_bool)
    call expect_halos(u, [-1, 0], [.true., .true.], .true., "around both ways")
    dims(2) = c_dim(size(same, 1), 2, 1, c_loc(a), 1)
    dims(1) = c_dim(size(same, 2), 1, 2, c_loc(b), 1)
    stat = c_halo_exchange(me%c, c_loc(same), jd_s32, 2, dims, 1)
    call expect(stat == jd_ok .and. all(u == same), "as by C's call")
  end subroutine go_around

  subroutine stop_at_walls()
    integer :: u(0:own(1) + 1, 0:own(2) + 1)
    type(jd_halo_dim) :: dims(2)
    call fill(u, [0, 0])
    call jd_halo_exchange(me, u, jd_halo_dim(1, 1, ["a", "b"]))
    call expect_halos(u, [0, 0], [.false., .false.], .false., "walls")
    call fill(u, [0, 0])
    dims = jd_halo_dim(1, 1, ["a   ", "b   "])
    dims(2)%periodic = .true.
    call jd_halo_exchange(me, u, dims, .true._c_bool)
    call expect_halos(u, [0, 0], [.false., .true.], .true., "a wall and none")
  end subroutine stop_at_walls

  ! A first dimension without a halo, and one that nothing cuts.
  subroutine count_variables()
    real(real64) :: u(2, 0:own(1) + 1, 4), left, right
    type(jd_halo_dim) :: dims(3)
    integer :: k
    u = -1
    do k = 1, own(1)
      u(:, k, :) = place(1, k, .true.)
    end do
    u(2, :, :) = u(2, :, :) + 0.5_real64
    u(:, 1:own(1), 4) = -u(:, 1:own(1), 4)
    dims = [jd_halo_dim(), jd_halo_dim(1, 1, "a", .true.), jd_halo_dim()]
    call jd_halo_exchange(me, u, dims)
    left = place(1, 0, .true.)
    right = place(1, own(1) + 1, .true.)
    call expect(all(abs(u(1, 0, 1:3) - left) < 1e-9) .and. &
      all(abs(u(2, 0, 1:3) - left - 0.5_real64) < 1e-9), "variables, before")
    call expect(all(abs(u(1, own(1) + 1, 1:3) - right) < 1e-9) .and. &
      abs(u(2, own(1) + 1, 4) + right + 0.5_real64) < 1e-9, "and behind")
  end subroutine count_variables

  ! Part of a larger array: packed, and nothing beside it written.
  subroutine exchange_a_section()
    integer :: large(own(1) + 6, own(2) + 4)
    large = -7
    call fill(large(3:own(1) + 4, 2:own(2) + 3), [0, 0])
    call jd_halo_exchange(me, large(3:own(1) + 4, 2:own(2) + 3), &
      jd_halo_dim(1, 1, ["a", "b"], .true.), .true._c_bool)
    call expect_halos(large(3:own(1) + 4, 2:own(2) + 3), [0, 0], &
      [.true., .true.], .true., "a section")
    call expect(all(large(:2, :) == -7) .and. all(large(own(1) + 5:, :) == -7) &
      .and. all(large(:, 1) == -7), "nothing beside it")
  end subroutine exchange_a_section

  subroutine exchange_texts()
    character(len=3) :: names(0:3), wanted
    names = "?"
    write (names(1), "(a, i0)") "f", at(1)
    write (names(2), "(a, i0)") "l", at(1)
    call jd_halo_exchange(me, names, [jd_halo_dim(1, 1, "a", .true.)])
    write (wanted, "(a, i0)") "l", modulo(at(1) - 1, ways(1))
    call expect(names(0) == wanted, "a text before: " // names(0))
    write (wanted, "(a, i0)") "f", modulo(at(1) + 1, ways(1))
    call expect(names(3) == wanted, "a text behind: " // names(3))
  end subroutine exchange_texts

  ! One dimension along both axes, the second of which moves on first.
  subroutine follow_two_axes()
    integer :: u(4), n, i
    n = product(ways)
    i = ways(2) * at(1) + at(2)
    u = i
    call jd_halo_exchange(me, u, [jd_halo_dim(1, 1, "a,b", .true.)])
    call expect(u(1) == modulo(i - 1, n) .and. u(4) == modulo(i + 1, n), &
      "along two axes")
  end subroutine follow_two_axes

  ! Started, each element as by the call that is not.
  subroutine go_on()
    integer, asynchronous :: u(0:own(1) + 1, 0:own(2) + 1)
    integer, asynchronous :: large(0:own(1) + 3, 0:own(2) + 1)
    type(jd_halo_dim) :: dims(2)
    type(jd_request) :: request
    call fill(u, [0, 0])
    dims = jd_halo_dim(1, 1, ["a", "b"], [.true., .false.])
    call jd_halo_start(me, u, dims, request, .true._c_bool)
    dims = jd_halo_dim()
    call jd_wait(request)
    call expect(jd_is_null(request), "the request is null")
    call expect_halos(u, [0, 0], [.true., .false.], .true., "started")
    large = -7
    dims = jd_halo_dim(1, 1, ["a", "b"])
    call jd_halo_start(me, large(:own(1) + 1, :), dims, request, stat=stat)
    call expect_failure(stat, jd_invalid_argument, &
      "jd_halo_start: block is a section that is not contiguous, and the call")
    call expect(jd_is_null(request) .and. all(large == -7), "nothing started")
    call jd_halo_start(me, u, jd_halo_dim(1, 1, ["a", "c"]), request)
    call jd_wait(request, stat=stat)
    call expect_failure(stat, jd_invalid_argument, 'no axis "c"')
  end subroutine go_on

  subroutine refuse()
    integer :: u(0:own(1) + 1, 0:own(2) + 1)
    logical :: l(3)
    u = 0; l = .true.
    call jd_halo_exchange(me, u, [jd_halo_dim(1, 1, "a")], stat=stat)
    call expect_failure(stat, jd_invalid_argument, &
      "jd_halo_exchange: dims has 1 entries, and block 2 dimensions; give each")
    call jd_halo_exchange(me, u, [jd_halo_dim(1, 1, "a"), &
      jd_halo_dim(1, 1, repeat("b", 600))], stat=stat)
    call expect_failure(stat, jd_invalid_argument, &
      "the axis of dims(2) has more than 511 characters")
    call jd_halo_exchange(me, u, [jd_halo_dim(), jd_halo_dim()], stat=stat)
    call expect_failure(stat, jd_invalid_argument, "has an axis")
    ! C counts dimensions from the other end.
    call jd_halo_exchange(me, u, [jd_halo_dim(4, 4, "a"), jd_halo_dim()], &
      stat=stat)
    call expect_failure(stat, jd_invalid_argument, &
      "dims[1] (axis ""a"") has size 7")
    call jd_halo_exchange(me, l, [jd_halo_dim(1, 1, "a")], stat=stat)
    call expect_failure(stat, jd_invalid_argument, "block is logical(kind=4)")
    call refuse_assumed_size(u)
    call expect(all(u == 0), "nothing was written")
  end subroutine refuse

  subroutine refuse_assumed_size(u)
    integer, intent(inout) :: u(0:own(1) + 1, 0:*)
    call jd_halo_exchange(me, u, jd_halo_dim(1, 1, ["a", "b"]), stat=stat)
    call expect_failure(stat, jd_invalid_argument, &
      "block is an assumed-size array")
  end subroutine refuse_assumed_size

end program test_halo

! SPDX-License-Identifier: BSD-3-Clause
!
! test_overlap.f90 - calls that are started, each against the one that is not,
! with any number of processes that have a device each.
program test_overlap
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use expectations
  use jd
  implicit none
  type(jd_mesh) :: mesh
  type(jd_shard) :: me
  integer :: n, i, stat

  call jd_initialize()
  call jd_mesh_create(mesh, [-1], ["x"])
  me = jd_mesh_shard(mesh)
  n = jd_axis_size(me, "x")
  i = jd_axis_index(me, "x")
  call wait_for_nothing()
  call reduce()
  call reduce_in_place()
  call gather()
  call exchange()
  call send_and_receive()
  call start_many()
  call refuse_sections()
  call refuse_the_rest()
  call fail_at_the_wait()
  call jd_mesh_destroy(mesh)
  call end_test()

contains

  ! Waits, and expects that the request is null.
  subroutine finish(request, what)
    type(jd_request), intent(inout) :: request
    character(len=*), intent(in) :: what
    logical(c_bool) :: is_done
    call expect(.not. jd_is_null(request), what // ": there is a request")
    is_done = .false.
    do while (.not. is_done)
      call jd_test(request, is_done, stat=stat)
      call expect(stat == jd_ok, what // ": " // jd_error_message())
    end do
    call expect(jd_is_null(request), what // ": it is done, and null")
    call jd_wait(request, stat=stat)
    call expect(stat == jd_ok, what // ": " // jd_error_message())
    call expect(jd_is_null(request), what // ": the request is null")
  end subroutine finish

  subroutine wait_for_nothing()
    type(jd_request) :: request
    call expect(jd_is_null(request), "a request that nothing was made of")
    call jd_wait(request)
    call jd_wait(request, stat=stat)
    call expect(stat == jd_ok .and. jd_is_null(request), "a wait for nothing")
  end subroutine wait_for_nothing

  subroutine reduce()
    real(real64), asynchronous :: x(3, 2), y(3, 2)
    integer, asynchronous :: a(5), b(5)
    real(real64) :: z(3, 2)
    integer :: c(5), k
    type(jd_request) :: request
    a = [(mod(7 * i + 3 * k, 11) + 1, k=1, 5)]
    x = reshape([(i + 0.5_real64 * k, k=1, 6)], [3, 2])
    y = -1; b = -1
    call jd_psum(me, "x", x, z)
    call jd_psum_start(me, "x", x, y, request)
    call finish(request, "jd_psum_start")
    call expect(all(abs(y - z) < 1e-12), "a sum")
    call jd_pmean(me, jd_all_axes, x, z)
    call jd_pmean_start(me, jd_all_axes, x, y, request)
    call finish(request, "jd_pmean_start")
    call expect(all(abs(y - z) < 1e-12), "a mean")
    call jd_pmax(me, "x", a, c)
    call jd_pmax_start(me, "x", a, b, request)
    call finish(request, "jd_pmax_start")
    call expect(all(b == c), "the greatest")
    call jd_pmin(me, "x", a, c)
    call jd_pmin_start(me, "x", a, b, request)
    call finish(request, "jd_pmin_start")
    call expect(all(b == c), "the least")
    call jd_pprod(me, "x", a, c)
    call jd_pprod_start(me, "x", a, b, request)
    call finish(request, "jd_pprod_start")
    call expect(all(b == c), "a product")
    call jd_pand(me, "x", a, c)
    call jd_pand_start(me, "x", a, b, request)
    call finish(request, "jd_pand_start")
    call expect(all(b == c), "and")
    call jd_por(me, "x", a, c)
    call jd_por_start(me, "x", a, b, request)
    call finish(request, "jd_por_start")
    call expect(all(b == c), "or")
    call jd_pxor(me, "x", a, c)
    call jd_pxor_start(me, "x", a, b, request)
    call finish(request, "jd_pxor_start")
    call expect(all(b == c), "exclusive or")
  end subroutine reduce

  ! A contiguous section of an array, a scalar, nothing; BF16.
  subroutine reduce_in_place()
    integer, asynchronous :: a(2, 4), one, none(0)
    integer(c_int16_t), asynchronous :: half
    type(jd_request) :: first, second, third
    a = i; one = 1; half = int(z"3f80", c_int16_t)
    call jd_psum_start(me, "x", a(:, 2:3), request=first)
    call jd_psum_start(me, "x", one, request=second)
    call jd_psum_start(me, "x", none, request=third)
    call finish(third, "nothing")
    call finish(first, "a section")
    call finish(second, "a scalar")
    call expect(all(a(:, 2:3) == n * (n - 1) / 2) .and. &
      all(a(:, ::3) == i), "in place, and nothing beside it")
    call expect(one == n, "a scalar in place")
    call jd_psum_start(me, "x", half, request=first, dtype=jd_bf16)
    call finish(first, "BF16")
    if (n == 2) call expect(half == int(z"4000", c_int16_t), "1 + 1 in BF16")
  end subroutine reduce_in_place

  subroutine gather()
    integer, asynchronous :: mine(2, 3), all_of(2, 3, n), part(2)
    integer, asynchronous :: parts(2, n)
    integer :: same(2, 3, n), own(2), k
    character(len=4), asynchronous :: name, names(n)
    type(jd_request) :: request
    mine = reshape([(10 * i + k, k=1, 6)], [2, 3])
    call jd_all_gather(me, "x", mine, same)
    call jd_all_gather_start(me, "x", mine, all_of, request)
    call finish(request, "jd_all_gather_start")
    call expect(all(all_of == same), "a gathering")
    write (name, "(a, i0)") "m", i
    call jd_all_gather_start(me, "x", name, names, request)
    call finish(request, "texts")
    call expect(names(1) == "m0" .and. names(i + 1) == name, &
      "texts: " // names(1))
    parts = reshape([(k + i, k=1, 2 * n)], [2, n])
    call jd_psum_scatter(me, "x", parts, own)
    call jd_psum_scatter_start(me, "x", parts, part, request)
    call finish(request, "jd_psum_scatter_start")
    call expect(all(part == own), "a scattered sum")
  end subroutine gather

  subroutine exchange()
    integer(int64), asynchronous :: given(3, n), got(3, n)
    integer(int64) :: same(3, n)
    integer, asynchronous :: b
    integer :: k
    type(jd_request) :: request
    given = reshape([(100_int64 * i + k, k=1, 3 * n)], [3, n])
    call jd_all_to_all(me, "x", given, same)
    call jd_all_to_all_start(me, "x", given, got, request)
    call finish(request, "jd_all_to_all_start")
    call expect(all(got == same), "an exchange")
    b = i
    call jd_pbroadcast_start(me, "x", n - 1, b, request=request)
    call finish(request, "jd_pbroadcast_start")
    call expect(b == n - 1, "a broadcast in place")
    call jd_barrier_start(me, "x", request)
    call finish(request, "jd_barrier_start")
  end subroutine exchange

  subroutine send_and_receive()
    integer, asynchronous :: a(3), b(3)
    integer :: c(2, 3)
    type(jd_request) :: request
    a = i; b = -1; c = i
    call jd_group_start(me, request, stat=stat)
    call expect_failure(stat, jd_failed_precondition, &
      "jd_group_start: the shard has no group open")
    call jd_group_begin(me)
    call jd_recv(me, "x", mod(i + n - 1, n), b)
    call jd_send(me, "x", mod(i + 1, n), a)
    call jd_send(me, "x", i, c(1, :), stat=stat)
    call expect_failure(stat, jd_invalid_argument, "jd_send: in is a section")
    call jd_group_start(me, request)
    call finish(request, "jd_group_start")
    call expect(all(b == mod(i + n - 1, n)), "a group that was started")
    if (n == 1) return
    if (i == 0) call jd_send(me, "x", 1, c(1, :))
    if (i == 1) call jd_recv(me, "x", 0, c(2, :))
    call expect(i /= 1 .or. all(c(2, :) == 0), "sections after the group")
  end subroutine send_and_receive

  ! Several at a time, others between them, and waits the other way round.
  subroutine start_many()
    integer, parameter :: many = 20
    integer, asynchronous :: a(many), b(many)
    integer :: k, one
    type(jd_request) :: requests(many)
    a = [(i + k, k=1, many)]
    do k = 1, many
      call jd_psum_start(me, "x", a(k), b(k), requests(k))
      one = 1
      call jd_psum(me, "x", one)
      call expect(one == n, "a sum that was not started")
    end do
    do k = many, 1, -1
      call finish(requests(k), "one of many")
    end do
    call expect(all(b == [(n * (n - 1) / 2 + n * k, k=1, many)]), "many sums")
  end subroutine start_many

  ! Their packed copies would be gone.
  subroutine refuse_sections()
    integer, asynchronous :: a(4, 4), b(4, 4), parts(4 * n, 4)
    character(len=300) :: message
    type(jd_request) :: request
    a = 1; b = 2; parts = 3
    call jd_psum_start(me, "x", a(1, :), b(:, 1), request, stat=stat, &
      errmsg=message)
    call expect(stat == jd_invalid_argument, "an in that is not contiguous")
    call expect_text(message, "jd_psum_start: in is a section that is not " // &
      "contiguous, and the call goes on with it until jd_wait(); make it " // &
      "contiguous")
    call jd_psum_start(me, "x", a(:, 1), b(::2, 1:2), request, stat=stat)
    call expect_failure(stat, jd_invalid_argument, &
      "jd_psum_start: out is a section that is not contiguous")
    call jd_pbroadcast_start(me, "x", 0, a(:, 4:1:-1), request=request, &
      stat=stat)
    call expect_failure(stat, jd_invalid_argument, "jd_pbroadcast_start: in is")
    call jd_all_gather_start(me, "x", a(1:2, 1), parts(::2, 1), request, &
      stat=stat)
    call expect_failure(stat, jd_invalid_argument, "out is a section")
    call expect(jd_is_null(request), "nothing was started")
    call expect(all(a == 1) .and. all(b == 2), "nothing was written")
  end subroutine refuse_sections

  subroutine refuse_the_rest()
    integer, asynchronous :: a(4), b(5)
    real, asynchronous :: r(4)
    logical, asynchronous :: l
    type(jd_request) :: request
    a = 0; b = 0; r = 0; l = .true.
    call jd_psum_start(me, "x", a, b, request, stat=stat)
    call expect_failure(stat, jd_invalid_argument, &
      "jd_psum_start: in has 4 elements and out 5")
    call jd_psum_start(me, "x", a, r, request, stat=stat)
    call expect_failure(stat, jd_invalid_argument, "out is real(kind=4)")
    call jd_pmax_start(me, "x", l, request=request, stat=stat)
    call expect_failure(stat, jd_invalid_argument, "in is logical(kind=4)")
    call jd_psum_scatter_start(me, "x", a, b, request, stat=stat)
    call expect_failure(stat, jd_invalid_argument, "jd_psum_scatter_start: ")
    call jd_all_to_all_start(me, "x", a(1:3), b(1:3), request, stat=stat)
    if (mod(3, n) /= 0) call expect_failure(stat, jd_invalid_argument, "share")
    if (stat == jd_ok) call finish(request, "parts of all")
    call jd_barrier_start(jd_shard(), "x", request, stat=stat)
    call expect_failure(stat, jd_invalid_argument, "shard is NULL")
    call expect(jd_is_null(request), "nothing was started")
    call refuse_assumed_size(b)
  end subroutine refuse_the_rest

  subroutine refuse_assumed_size(a)
    integer, intent(inout), asynchronous :: a(*)
    type(jd_request) :: request
    call jd_psum_start(me, "x", a, request=request, stat=stat)
    call expect_failure(stat, jd_invalid_argument, &
      "in is an assumed-size array, whose last extent nobody knows")
  end subroutine refuse_assumed_size

  ! What C says at the wait, which makes the request null all the same.
  subroutine fail_at_the_wait()
    integer, asynchronous :: a
    type(jd_request) :: request
    a = 1
    call jd_psum_start(me, "nowhere", a, request=request)
    call jd_wait(request, stat=stat)
    call expect_failure(stat, jd_invalid_argument, &
      'jd_psum: the mesh has no axis "nowhere"')
    call expect(jd_is_null(request), "null after a failure")
  end subroutine fail_at_the_wait

end program test_overlap

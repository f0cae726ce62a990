! SPDX-License-Identifier: BSD-3-Clause
!
! test_preduce.f90 - reductions by procedures of the program's, on elements of
! its own types, against what the members have in their order.
module joins
  use, intrinsic :: iso_c_binding
  implicit none
  private
  public :: span, join_spans, add_modulo

  ! Of members that follow each other; gaps are where they do not.
  type, bind(C) :: span
    integer(c_int) :: first, last
    integer(c_int64_t) :: gaps
  end type span

contains

  ! context: how many were joined here, or nothing.
  subroutine join_spans(into, from, n, context) bind(C)
    integer(c_size_t), value :: n
    type(span), intent(inout) :: into(n)
    type(span), intent(in) :: from(n)
    type(c_ptr), value :: context
    integer, pointer :: num_joined
    into%gaps = into%gaps + from%gaps + merge(0, 1, into%last == from%first)
    into%last = from%last
    if (.not. c_associated(context)) return
    call c_f_pointer(context, num_joined)
    num_joined = num_joined + int(n)
  end subroutine join_spans

  subroutine add_modulo(into, from, n, context) bind(C)
    integer(c_size_t), value :: n
    integer(c_int), intent(inout) :: into(n)
    integer(c_int), intent(in) :: from(n)
    type(c_ptr), value :: context
    if (c_associated(context)) error stop "a context that nobody has given"
    into = modulo(into + from, 1009)
  end subroutine add_modulo

end module joins

program test_preduce
  use, intrinsic :: iso_c_binding
  use expectations
  use jd
  use joins
  implicit none
  type(jd_mesh) :: mesh
  type(jd_shard) :: me
  integer :: n, i, stat

  call jd_initialize()
  call jd_mesh_create(mesh, [-1], ["x"])
  me = jd_mesh_shard(mesh)
  n = jd_axis_size(me, "x")
  i = jd_axis_index(me, "x")
  call join_few()
  call join_many()
  call join_sections()
  call refuse()
  call jd_mesh_destroy(mesh)
  call end_test()

contains

  ! Short ones come to all members, each of whom joins them.
  subroutine join_few()
    type(span) :: mine(2, 2), all_of(2, 2)
    integer, target :: num_joined
    num_joined = 0
    mine = span(i, i + 1, 0)
    mine(2, 2) = span(-i, -i - 1, 1)
    all_of = span(-7, -7, -7)
    call jd_preduce(me, "x", mine, all_of, c_funloc(join_spans), &
      c_loc(num_joined))
    call expect(all(all_of%first == 0) .and. all_of(2, 2)%last == -n .and. &
      all(all_of(:, 1)%last == n), "from the first to the last")
    call expect(all(all_of(:, 1)%gaps == 0) .and. all_of(2, 2)%gaps == n, &
      "in the members' order")
    call expect(num_joined == 4 * (n - 1), "a context")
    call expect(all(mine(:, 1)%last == i + 1), "in stays")
  end subroutine join_few

  ! Of long ones each joins a part; in place.
  subroutine join_many()
    integer, parameter :: many = 100003
    integer, allocatable :: x(:)
    integer :: k
    allocate (x(many))
    x(:) = [(modulo(k * (i + 1), 1009), k=1, many)]
    call jd_preduce(me, jd_all_axes, x, join=c_funloc(add_modulo))
    call expect(all(x == [(modulo(modulo(k, 1009) * (n * (n + 1) / 2), 1009), &
      k=1, many)]), "many in place")
  end subroutine join_many

  subroutine join_sections()
    integer :: a(6, 4), b(6, 4), k, none(0)
    a = reshape([(k, k=1, 24)], [6, 4])
    b = -1
    call jd_preduce(me, "x", a(1:6:2, 2:3), b(2:6:2, 4:3:-1), &
      c_funloc(add_modulo))
    call expect(all(b(2:6:2, 4:3:-1) == n * a(1:6:2, 2:3)), "a section")
    call expect(all(b(1:6:2, :) == -1) .and. all(b(:, 1:2) == -1), &
      "nothing beside it")
    call jd_preduce(me, "x", none, join=c_funloc(add_modulo))
  end subroutine join_sections

  subroutine refuse()
    type(span) :: a(2)
    integer :: b(2), c(3)
    character(len=0) :: empty
    a = span(0, 0, 0); b = 0; c = 0; empty = ""
    call jd_preduce(me, "x", a, b, c_funloc(join_spans), stat=stat)
    call expect_failure(stat, jd_invalid_argument, &
      "jd_preduce: in has 2 elements of 16 bytes (of a type of 16 bytes), " // &
      "and out 2 of 4 (integer(kind=4)); they are as many of one type")
    call jd_preduce(me, "x", b, c, c_funloc(add_modulo), stat=stat)
    call expect_failure(stat, jd_invalid_argument, "in has 2 elements of 4")
    call jd_preduce(me, "x", b, join=c_null_funptr, stat=stat)
    call expect_failure(stat, jd_invalid_argument, "function is NULL")
    call jd_preduce(me, "x", empty, join=c_funloc(add_modulo), stat=stat)
    call expect_failure(stat, jd_invalid_argument, "element_bytes is 0")
    call jd_preduce(me, "nowhere", b, join=c_funloc(add_modulo), stat=stat)
    call expect_failure(stat, jd_invalid_argument, 'no axis "nowhere"')
  end subroutine refuse

end program test_preduce

! SPDX-License-Identifier: BSD-3-Clause
!
! test_collectives.f90 - each collective, on arrays of any kind and rank and on
! sections, with any number of processes that have a device each.
program test_collectives
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, &
    real64
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
  i = jd_axis_index(me, "x   ")
  call reduce_all_kinds()
  call reduce_sections()
  call reduce_nothing()
  call locate()
  call refuse_kinds()
  call refuse_shapes()
  call gather()
  call scatter()
  call exchange()
  call move()
  call send_and_receive()
  call receive_any_size()
  call refuse_in_a_group()
  call call_the_rest()
  call jd_mesh_destroy(mesh)
  call expect(jd_is_null(mesh), "the mesh is null when it is destroyed")
  call end_test()

contains

  ! 1 + 2 + ... + n, as member i gives i + 1.
  integer function total()
    total = n * (n + 1) / 2
  end function total

  ! Values, and whose they are; also of a section, in place, with indices.
  subroutine locate()
    integer(int32) :: a(4), b(2)
    real(real64) :: r
    integer(int64) :: k(2), j, m(4)
    a = [i, 5, -i, 7]
    call jd_pmaxloc(me, "x", a(1:3:2), b, k)
    call expect(all(b == [n - 1, 0]), "the greatest of a section")
    call expect(all(k == [n - 1, 0]), "whose they are")
    call jd_pminloc(me, "x", a(1:3:2), b, k)
    call expect(all(k == [0, n - 1]), "whose the least are")
    r = 1.5
    j = 100 - i
    call jd_pminloc(me, "x", r, out_index=j, in_index=j)
    call expect(abs(r - 1.5) < 1e-9 .and. j == 101 - n, "in place, own indices")
    a = i + 1
    call jd_scan(me, "x", jd_op_sum, jd_scan_inclusive, a(1:3:2))
    call expect(all(a == [(i + 1) * (i + 2) / 2, i + 1, a(1), i + 1]), &
      "a scan of a section, in place")
    call jd_scan(me, "x", jd_op_max, jd_scan_exclusive, i, b(1:1))
    call expect(merge(b(1) < -huge(b), b(1) == i - 1, i == 0), &
      "an exclusive scan")
    call jd_scan(me, "x", 9, jd_scan_exclusive, a, stat=stat)
    call expect(stat == jd_invalid_argument, "no operation")
    b = [n - 1, 0]
    m = -1
    call jd_pmaxloc(me, "x", b, out_index=m(2:4:2))
    call expect(all(m == [-1, 0, -1, 0]), "indices to a section")
    call jd_pmaxloc(me, "x", b, out_index=m, stat=stat)
    call expect(stat == jd_invalid_argument, "too many indices")
  end subroutine locate

  subroutine reduce_all_kinds()
    integer(int8) :: a8(2, 2), b8(2, 2)
    integer(int16) :: a16, b16
    integer(int32) :: a32(3), b32(3)
    integer(int64) :: a64, b64
    real(real32) :: r32(2, 1, 2), s32(2, 1, 2)
    real(real64) :: r64, s64
    complex(real32) :: c32, d32
    complex(real64) :: c64, d64
    logical(c_bool) :: l, m
    a8 = int(i + 1, int8); b8 = 0
    call jd_psum(me, "x", a8, b8)
    call expect(all(b8 == total()), "a sum of integer(int8)")
    a16 = int(i + 1, int16); b16 = 0
    call jd_pmax(me, "x", a16, b16)
    call expect(b16 == n, "the greatest integer(int16)")
    a32 = -i; b32 = 1
    call jd_pmin(me, "x", a32, b32)
    call expect(all(b32 == 1 - n), "the least integer(int32)")
    a64 = 2; b64 = 0
    call jd_pprod(me, jd_all_axes, a64, b64)
    call expect(b64 == 2_int64**n, "a product of integer(int64)")
    r32 = real(i + 1); s32 = 0
    call jd_pmean(me, "x", r32, s32)
    call expect(all(abs(s32 * real(n) - real(total())) < 1e-4), &
      "a mean of real(real32)")
    r64 = i + 1
    call jd_psum(me, "x", r64, s64)
    call expect(nint(s64) == total(), "a sum of real(real64)")
    c32 = cmplx(1, i, real32)
    call jd_psum(me, "x", c32, d32)
    call expect(nint(real(d32)) == n .and. nint(aimag(d32)) == total() - n, &
      "a sum of complex(real32)")
    c64 = cmplx(i, 1, real64)
    call jd_psum(me, "x", c64, d64)
    call expect(nint(aimag(d64)) == n, "a sum of complex(real64)")
    l = i == 0
    call jd_pmax(me, "x", l, m)
    call expect(logical(m), "any of logical(c_bool)")
    call jd_pmin(me, "x", l, m)
    call expect(logical(m) .eqv. n == 1, "all of logical(c_bool)")
    call jd_pxor(me, "x", l, m)
    call expect(logical(m), "an odd number of logical(c_bool)")
    a32 = ibset(0, i)
    call jd_por(me, "x", a32, b32)
    call expect(all(b32 == 2**n - 1), "or of integer(int32)")
    call jd_pand(me, "x", a32, b32)
    call expect(all(b32 == merge(1, 0, n == 1)), "and of integer(int32)")
    call jd_pxor(me, "x", a32, b32)
    call expect(all(b32 == 2**n - 1), "exclusive or of integer(int32)")
    ! What Fortran has not: 1.0 in BF16 is its sign, exponent and 7 bits.
    a16 = int(z"3f80", int16)
    call jd_psum(me, "x", a16, b16, dtype=jd_bf16)
    if (n == 2) call expect(b16 == int(z"4000", int16), "1 + 1 in BF16")
    call jd_psum(me, "x", [i + 1, 2 * i], a32(1:2))
    call expect(all(a32(1:2) == [total(), 2 * (total() - n)]), &
      "the sum of an expression")
  end subroutine reduce_all_kinds

  subroutine reduce_sections()
    integer :: a(6, 4), b(6, 4), k
    a = reshape([(k, k=1, 24)], [6, 4])
    b = -1
    call jd_psum(me, "x", a(1:6:2, 2:3), b(2:6:2, 4:3:-1))
    call expect(all(b(2:6:2, 4:3:-1) == n * a(1:6:2, 2:3)), &
      "the sum of a section in another")
    call expect(all(b(1:6:2, :) == -1) .and. all(b(:, 1:2) == -1), &
      "nothing beside the section is written")
    b = a
    call jd_psum(me, "x", b(:, ::3))
    call expect(all(b(:, ::3) == n * a(:, ::3)) .and. &
      all(b(:, 2:3) == a(:, 2:3)), "a section in place")
    b = a
    call jd_psum(me, "x", b(2, :), b(2, :))
    call expect(all(b(2, :) == n * a(2, :)) .and. all(b(1, :) == a(1, :)), &
      "a section that is in and out")
    b = a
    call jd_psum(me, "x", b)
    call expect(all(b == n * a), "a whole array in place")
    b = a
    call jd_psum(me, "x", b(1:4, 1), b(3:6, 1), stat=stat)
    call expect_failure(stat, jd_invalid_argument, "overlap")
  end subroutine reduce_sections

  subroutine reduce_nothing()
    integer :: a(0), b(3, 0)
    real, allocatable :: c(:, :)
    allocate (c(4, 0))
    call jd_psum(me, "x", a, b)
    call jd_psum(me, "x", c)
    call jd_psum(me, "x", c(::2, :), c(2::2, :))
  end subroutine reduce_nothing

  subroutine refuse_kinds()
    type :: pair
      integer :: a, b
    end type pair
    logical :: l, m
    type(pair) :: p
    character(len=3) :: text
    character(len=60) :: short
    character(len=300) :: long
    integer :: number
    l = .true.; p = pair(1, 2); text = "abc"; number = 0
    call jd_pmax(me, "x", l, m, stat=stat)
    call expect_failure(stat, jd_invalid_argument, &
      "jd_pmax: in is logical(kind=4), which is none of jd's types")
    call jd_psum(me, "x", p, stat=stat)
    call expect_failure(stat, jd_invalid_argument, "pass the components")
    call jd_psum(me, "x", text, stat=stat)
    call expect_failure(stat, jd_unimplemented, &
      "in is character(kind=1), and there is no arithmetic on texts")
    call jd_psum(me, "x", 1.0_real64, number, stat=stat)
    call expect_failure(stat, jd_invalid_argument, &
      "in is real(kind=8) and out is integer(kind=4)")
    call jd_psum(me, "x", number, dtype=jd_bf16, stat=stat)
    call expect_failure(stat, jd_invalid_argument, "dtype=jd_BF16 2")
    call jd_psum(me, "x", number, dtype=77, stat=stat)
    call expect_failure(stat, jd_invalid_argument, "dtype=77 is no type")
    short = "unchanged"; long = "unchanged"
    call jd_psum(me, "x", number, stat=stat, errmsg=short)
    call expect(stat == jd_ok .and. short == "unchanged", "errmsg= of no error")
    call jd_psum(me, "nowhere", number, stat=stat, errmsg=short)
    call expect(short == 'jd_psum: the mesh has no axis "nowhere" ' // &
      '(of "nowhere"); its', "a sentence that is cut: " // short)
    call jd_psum(me, "nowhere", number, stat=stat, errmsg=long)
    call expect(long == jd_error_message(), "a whole sentence")
  end subroutine refuse_kinds

  subroutine refuse_shapes()
    integer :: a(4), b(5)
    a = 0; b = 0
    call jd_psum(me, "x", a, b, stat=stat)
    call expect_failure(stat, jd_invalid_argument, &
      "in has 4 elements and out 5")
    call jd_all_gather(me, "x", a, b, stat=stat)
    call expect_failure(stat, jd_invalid_argument, "in has 4 elements and out 5")
    call jd_pshuffle(me, "x", a, a, [0, 1, 2, 3, 4, 5, 6, 7, 8], stat=stat)
    call expect_failure(stat, jd_invalid_argument, "permutation has 9 entries")
    call refuse_assumed_size(a)
  end subroutine refuse_shapes

  subroutine refuse_assumed_size(a)
    integer, intent(inout) :: a(*)
    call jd_psum(me, "x", a, stat=stat)
    call expect_failure(stat, jd_invalid_argument, &
      "in is an assumed-size array, whose last extent nobody knows")
    call jd_psum(me, "x", a(1:4))
  end subroutine refuse_assumed_size

  ! Members' parts follow each other along the last dimension, or the first.
  subroutine gather()
    integer :: mine(2, 3), last(2, 3, n), first(2 * n, 3), k
    character(len=4) :: name, names(n)
    mine = reshape([(10 * i + k, k=1, 6)], [2, 3])
    last = 0
    call jd_all_gather(me, "x", mine, last)
    call expect(all([(all(last(:, :, k + 1) == mine + 10 * (k - i)), &
      k=0, n - 1)]), "all_gather along the last dimension")
    first = 0
    call jd_all_gather_2d(me, "x", mine, first)
    call expect(all([(all(first(2 * k + 1:2 * k + 2, :) == mine + 10 * (k - i)), &
      k=0, n - 1)]), "all_gather along the first dimension")
    last = 0
    last(:, :, i + 1) = mine
    call jd_all_gather(me, "x", last(:, :, i + 1), last)
    call expect(all(last(:, :, n) == mine + 10 * (n - 1 - i)), &
      "all_gather in place")
    write (name, "(a, i0)") "m", i
    call jd_all_gather(me, "x", name, names)
    call expect(names(1) == "m0" .and. names(i + 1) == name, "texts: " // names(1))
    call jd_all_gather_2d(me, "x", mine, last, stat=stat)
    if (n > 1) call expect_failure(stat, jd_invalid_argument, "after the first")
  end subroutine gather

  subroutine scatter()
    integer :: all_last(2, n), mine(2), all_first(2 * n, 3), rows(2, 3), k
    all_last = reshape([(k, k=1, 2 * n)], [2, n])
    call jd_psum_scatter(me, "x", all_last, mine)
    call expect(all(mine == n * all_last(:, i + 1)), "psum_scatter")
    all_first = reshape([(k, k=1, 6 * n)], [2 * n, 3])
    call jd_psum_scatter_2d(me, "x", all_first, rows)
    call expect(all(rows == n * all_first(2 * i + 1:2 * i + 2, :)), &
      "psum_scatter_2d")
  end subroutine scatter

  subroutine exchange()
    integer :: given(3, n), got(3, n), k, columns(2, 3 * n), cut(2 * n, 3)
    integer :: cube(2, 3 * n, 2), turned(2 * n, 3, 2)
    integer(int64) :: offsets(n), ones(n), mine(n)
    integer, allocatable :: parts(:)
    given = reshape([(100 * i + (k - 1) / 3, k=1, 3 * n)], [3, n])
    got = -1
    call jd_all_to_all(me, "x", given, got)
    call expect(all([(all(got(:, k + 1) == 100 * k + i), k=0, n - 1)]), &
      "all_to_all")
    call jd_all_to_all(me, "x", given)
    call expect(all(given == got), "all_to_all in place")
    ! Columns are dealt out, and rows joined: a transposition of blocks.
    columns = reshape([(1000 * i + k, k=1, 6 * n)], [2, 3 * n])
    call jd_all_to_all_2d(me, "x", columns, cut, split_dim=2, concat_dim=1)
    call expect(all([(all(cut(2 * k + 1:2 * k + 2, :) == &
      columns(:, 3 * i + 1:3 * i + 3) + 1000 * (k - i)), k=0, n - 1)]), &
      "all_to_all_2d")
    ! The last but one is dealt out, and the first joined, of each of two.
    cube = reshape([(1000 * i + k, k=1, 12 * n)], [2, 3 * n, 2])
    call jd_all_to_all_nd(me, "x", cube, turned, split_dim=2, concat_dim=1)
    call expect(all([(all(turned(2 * k + 1:2 * k + 2, :, :) == &
      cube(:, 3 * i + 1:3 * i + 3, :) + 1000 * (k - i)), k=0, n - 1)]), &
      "all_to_all_nd")
    call jd_all_to_all_nd(me, "x", cube, turned, 2, 4, stat=stat)
    call expect_failure(stat, jd_invalid_argument, &
      "concat_dim is 4; in has the dimensions 1 to 3")
    call jd_all_to_all_2d(me, "x", columns, cut, 0, 1, stat=stat)
    call expect_failure(stat, jd_invalid_argument, "split_dim is 0")
    ! One column of three to each member, which puts it where the sender is.
    given = reshape([(100 * i + (k - 1) / 3, k=1, 3 * n)], [3, n])
    got = -1
    offsets = [(int(k, int64), k=0, n - 1)]
    ones = 1
    mine = i
    call jd_ragged_all_to_all(me, "x", given, got, offsets, ones, mine, ones)
    call expect(all([(all(got(:, k + 1) == 100 * k + i), k=0, n - 1)]), &
      "ragged_all_to_all")
    ! One element from member 0, two from member 1, ...
    allocate (parts(n * (n + 1) / 2))
    call jd_ragged_all_gather(me, "x", [(i, k=0, i)], parts, &
      [(int(k, int64), k=1, n)])
    call expect(parts(1) == 0 .and. parts(size(parts)) == n - 1 .and. &
      count(parts == i) == i + 1, "ragged_all_gather")
    call jd_ragged_all_gather(me, "x", [i], parts, &
      [(1_int64, k=0, n)], stat=stat)
    call expect_failure(stat, jd_invalid_argument, " entries, and there are ")
  end subroutine exchange

  subroutine move()
    type(jd_route) :: ring(n), line(n - 1)
    integer :: a(2, 2), b(2, 2), k
    ring = [(jd_route(k, mod(k + 1, n)), k=0, n - 1)]
    line = ring(1:n - 1)
    a = i; b = -1
    call jd_ppermute(me, "x", a, b, ring)
    call expect(all(b == mod(i + n - 1, n)), "ppermute around a ring")
    b = -1
    call jd_ppermute(me, "x", a, b, line)
    call expect(all(b == max(i - 1, 0)), "ppermute along a line")
    b = -1
    call jd_ppermute_keep(me, "x", a(:, 1), b(1, :), line)
    call expect(all(b(1, :) == i - 1) .and. all(b(2, :) == -1), &
      "ppermute_keep into a section")
    a = i
    call jd_shift(me, "x", 1, jd_edge_wrap, a, b)
    call expect(all(b == mod(i + n - 1, n)), "shift around a ring")
    call jd_shift(me, "x", 1, jd_edge_zero, a, b)
    call expect(all(b == max(i - 1, 0)), "shift with zeros behind it")
    call jd_shift(me, "x", -1, jd_edge_keep, a)
    call expect(all(a == min(i + 1, n - 1)), "shift back in place")
    a = i
    call jd_pshuffle(me, "x", a, b, [(n - 1 - k, k=0, n - 1)])
    call expect(all(b == n - 1 - i), "pshuffle")
    call jd_pbroadcast(me, "x", n - 1, a, b)
    call expect(all(b == n - 1), "pbroadcast")
    call jd_pbroadcast(me, "x", 0, a)
    call expect(all(a == 0), "pbroadcast in place")
  end subroutine move

  subroutine send_and_receive()
    integer, asynchronous :: a(3), b(3)
    integer :: c(2, 3)
    a = i; b = -1; c = i
    call jd_group_begin(me)
    call jd_send(me, "x", mod(i + 1, n), a)
    call jd_recv(me, "x", mod(i + n - 1, n), b)
    call jd_group_end(me)
    call expect(all(b == mod(i + n - 1, n)), "a group of sends and receives")
    b = -1
    call jd_sendrecv(me, "x", mod(i + 1, n), a, mod(i + n - 1, n), b)
    call expect(all(b == mod(i + n - 1, n)), "a send and a receive at once")
    c = 2
    call jd_sendrecv(me, "x", -1, a, -1, c(1, :))
    call expect(all(c == 2), "with nobody")
    call jd_sendrecv(me, "x", -1, [1.5], -1, b, stat=stat)
    call expect_failure(stat, jd_invalid_argument, &
      "jd_sendrecv: in is real(kind=4) and out integer(kind=4)")
    c = i
    if (n == 1) return
    call jd_barrier(me, "x")
    b = -1
    if (i == 0) call jd_send_tagged(me, "x", 1, 7, c(1, :) + 5)
    if (i == 1) call jd_recv_tagged(me, "x", 0, 7, c(2, :))
    if (i == 1) call expect(all(c(2, :) == 5) .and. all(c(1, :) == 1), &
      "a receive into a section")
  end subroutine send_and_receive

  subroutine receive_any_size()
    integer, asynchronous :: a(3), b(8)
    integer :: c(2, 3)
    integer(c_size_t), asynchronous :: came
    a = i; b = -1; c = -1; came = 77
    call jd_group_begin(me)
    call jd_send(me, "x", mod(i + 1, n), a)
    call jd_recv_any_size(me, "x", mod(i + n - 1, n), b, came)
    call jd_group_end(me)
    call expect(came == 3, "how much came")
    call expect(all(b(:3) == mod(i + n - 1, n)) .and. all(b(4:) == -1), &
      "what came")
    call jd_recv_any_size(me, "x", n, b, came, stat=stat)
    call expect_failure(stat, jd_invalid_argument, &
      "jd_recv_any_size: from is ")
    if (n == 1) return
    if (i == 0) call jd_send(me, "x", 1, a(:2))
    if (i == 1) call jd_recv_any_size(me, "x", 0, c(2, :), came)
    if (i == 1) call expect(came == 2 .and. all(c(2, :) == [0, 0, -1]) &
      .and. all(c(1, :) == -1), "what came into a section")
  end subroutine receive_any_size

  subroutine refuse_in_a_group()
    integer :: c(2, 3)
    c = 0
    call jd_group_begin(me)
    call jd_send(me, "x", i, c(1, :), stat=stat)
    call expect_failure(stat, jd_invalid_argument, &
      "jd_send: in is a section that is not contiguous, and in a group")
    call jd_recv(me, "x", i, c(2, :), stat=stat)
    call expect_failure(stat, jd_invalid_argument, "jd_recv: out is a section")
    call jd_group_end(me)
  end subroutine refuse_in_a_group

  subroutine call_the_rest()
    type(c_ptr) :: stream
    call jd_barrier(me, jd_all_axes)
    call jd_shard_synchronize(me)
    stream = jd_shard_stream(me, stat=stat)
    call expect_failure(stat, jd_unimplemented, "jd_shard_stream")
    call jd_shard_use_stream(me, c_null_ptr, stat=stat)
    call expect_failure(stat, jd_unimplemented, "jd_shard_use_stream")
    call expect(.not. c_associated(stream), "no stream on cpu")
  end subroutine call_the_rest

end program test_collectives

! SPDX-License-Identifier: BSD-3-Clause
!
! test_multihost.f90 - what processes do together, with any number of them.
program test_multihost
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int64
  use expectations
  use jd
  implicit none
  logical(c_bool), parameter :: yes = .true.
  integer :: i, n, stat

  call jd_initialize()
  i = jd_process_index()
  n = jd_process_count()
  call broadcast()
  call gather()
  call compare()
  call list_leaves()
  call expect(.not. logical(jd_reached_preemption_sync_point(1_int64)), &
    "nobody preempts")
  call end_test()

contains

  subroutine broadcast()
    real :: a(3, 4), b(3, 4)
    character(len=6) :: texts(2)
    a = real(i)
    call jd_broadcast_one_to_all(a(::2, :), n - 1)
    b = real(i)
    b(::2, :) = real(n - 1)
    call expect(maxval(abs(a - b)) <= 0, "a section of process n - 1")
    texts = "none"
    if (i == 0) texts = ["first ", "second"]
    call jd_broadcast_one_to_all(texts, 0)
    call expect(texts(2) == "second", "texts: " // texts(2))
  end subroutine broadcast

  ! C has a(2, 3) as {3, 2}: the processes are its first dimension, and the last
  ! one here.
  subroutine gather()
    integer :: a(2, 3), stacked(2, 3, n), tiled(2, 3 * n), k
    a = reshape([(10 * i + k, k=1, 6)], [2, 3])
    stacked = 0
    call jd_process_allgather(a, stacked)
    call expect(all([(all(stacked(:, :, k + 1) == a + 10 * (k - i)), &
      k=0, n - 1)]), "stacked")
    call jd_process_allgather(a, tiled, tiled=yes)
    call expect(all(reshape(tiled, [2, 3, n]) == stacked), "tiled")
    call jd_process_allgather(a, stacked(:, 1:2, :), stat=stat)
    call expect(stat == jd_invalid_argument, "a wrong shape")
  end subroutine gather

  subroutine compare()
    real(c_double) :: x
    call jd_assert_equal([1, 2, 3], "the list")
    x = 1 + 1e-9_c_double * i
    call jd_assert_equal_with(x, "x", relative=1e-6_c_double)
    if (n == 1) return
    call jd_assert_equal(x, "what is not equal", stat=stat)
    call expect_failure(stat, jd_failed_precondition, "what is not equal")
    call jd_assert_equal_with(x, bitwise=yes, stat=stat)
    call expect(stat == jd_failed_precondition, "other bits")
  end subroutine compare

  ! Of unlike types and shapes, in one call.
  subroutine list_leaves()
    integer, target :: a(2, 2), both(2, 2, n)
    real(c_double), target :: b, all_b(n)
    type(jd_leaf) :: leaves(2), gathered(2), none
    a = i; b = i
    leaves = [jd_leaf_of(a), jd_leaf_of(b)]
    gathered = [jd_leaf_of(both), jd_leaf_of(all_b)]
    call jd_process_allgather_leaves(leaves, gathered)
    call expect(all(both(:, :, n) == n - 1) .and. nint(all_b(n)) == n - 1, &
      "leaves that are gathered")
    call jd_broadcast_leaves(leaves, n - 1)
    call expect(all(a == n - 1) .and. nint(b) == n - 1, "leaves of process n - 1")
    call jd_assert_leaves_equal(leaves, "the leaves", nan_differs=yes, &
      absolute=0.5_c_double)
    none = jd_leaf_of(a(1, :), stat=stat)
    call expect_failure(stat, jd_invalid_argument, "not contiguous")
    call expect(none%ndim == 0, "no leaf of a section")
    call jd_process_allgather_leaves(leaves, gathered(1:1), stat=stat)
    call expect_failure(stat, jd_invalid_argument, "in has 2 leaves and out 1")
  end subroutine list_leaves

end program test_multihost

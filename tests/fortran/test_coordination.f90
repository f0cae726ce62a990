! SPDX-License-Identifier: BSD-3-Clause
!
! test_coordination.f90 - the key-value store, barriers, who lives, and a
! preemption, with any number of processes.
module callbacks
  use, intrinsic :: iso_c_binding, only: c_double, c_int
  use jd
  implicit none
  private
  public :: ignore, tell

contains

  subroutine ignore(processes, text, age, arg)
    integer(c_int), intent(in) :: processes(:)
    character(len=*), intent(in) :: text
    real(c_double), intent(in) :: age
    class(*), intent(inout) :: arg
    select type (arg)
    type is (integer)
      arg = size(processes) + len(text) + int(age)
    end select
  end subroutine ignore

  ! Puts its argument into the store.
  subroutine tell(arg)
    class(*), intent(inout) :: arg
    character(len=20) :: key
    write (key, "(a, i0)") "told/", jd_process_index()
    select type (arg)
    type is (integer)
      call jd_kv_set(key, arg)
    end select
  end subroutine tell

end module callbacks

program test_coordination
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int64
  use callbacks
  use expectations
  use jd
  implicit none
  logical(c_bool), parameter :: yes = .true.
  type(jd_kv_entry), allocatable :: found(:)
  integer :: i, n, stat

  interface
    integer(c_int) function c_raise(signal) bind(C, name="raise")
      import :: c_int
      integer(c_int), value :: signal
    end function c_raise
  end interface

  call jd_initialize()
  i = jd_process_index()
  n = jd_process_count()
  call set_and_get()
  call refuse()
  call use_directories()
  call set_and_get_many()
  call count_up()
  call meet()
  call be_preempted()
  call end_test()

contains

  ! "NAME/3" on process 3.
  function own(name) result(key)
    character(len=*), intent(in) :: name
    character(len=:), allocatable :: key
    character(len=12) :: digits
    write (digits, "(i0)") i
    key = name // "/" // trim(digits)
  end function own

  ! The numbers that a value has.
  function numbers_of(value) result(numbers)
    character(len=*), intent(in) :: value
    integer, allocatable :: numbers(:)
    numbers = transfer(value, [0])
  end function numbers_of

  ! Blanks at the end count in a value, and not in a key.
  subroutine set_and_get()
    real(c_double) :: x(3, 2), y(3)
    character(len=:), allocatable :: value
    value = ""
    call jd_kv_set(own("text") // "   ", "two  ")
    value = jd_kv_get(own("text"))
    call expect(value == "two" .and. len(value) == 5, "a text: " // value)
    value = jd_kv_try_get(own("text"))
    call expect(len(value) == 5, "a text, without waiting")
    call jd_kv_set(own("text"), "", allow_overwrite=yes)
    call expect(len(jd_kv_get(own("text"))) == 0, "an empty text")
    x = reshape([1d0, 2d0, 3d0, 4d0, 5d0, 6d0], [3, 2])
    call jd_kv_set(own("numbers"), x(::2, :))
    y = 0
    value = jd_kv_get(own("numbers"), timeout=10d0)
    y = transfer(value, y, 3)
    call expect(maxval(abs(y - [1d0, 3d0, 4d0])) <= 0, "numbers of a section")
    if (i == n - 1) call jd_kv_set("from the last", [i, n])
    value = jd_kv_get("from the last")
    call expect(same(numbers_of(value), [n - 1, n]), "what another has set")
  end subroutine set_and_get

  subroutine refuse()
    character(len=:), allocatable :: value
    character(len=24) :: why
    why = ""
    call jd_kv_set(own("text"), "again", stat=stat, errmsg=why)
    call expect_failure(stat, jd_already_exists, own("text"))
    call expect(why(:10) == "jd_kv_set ", "errmsg= of a call: " // why)
    call jd_kv_set("key", .true., stat=stat)
    call expect_failure(stat, jd_invalid_argument, &
      "jd_kv_set: value is logical(kind=4)")
    call jd_kv_set("   ", "no key", stat=stat)
    call expect_failure(stat, jd_invalid_argument, "jd_kv_set")
    value = jd_kv_try_get("nothing", stat=stat, errmsg=why)
    call expect_failure(stat, jd_not_found, '"nothing"')
    call expect(len(value) == 0 .and. why(:14) == "jd_kv_try_get ", why)
    value = jd_kv_get("nothing either", timeout=0.01d0, stat=stat)
    call expect_failure(stat, jd_deadline_exceeded, '"nothing either"')
    call jd_kv_set(own("text"), "9x", allow_overwrite=yes)
    call expect(jd_kv_increment(own("text"), stat=stat) == 0, "no sum")
    call expect_failure(stat, jd_failed_precondition, own("text"))
    call jd_kv_delete("", stat=stat)
    call expect_failure(stat, jd_invalid_argument, "jd_kv_delete")
  end subroutine refuse

  subroutine use_directories()
    integer(int64) :: count
    call jd_kv_set(own("tree/b"), [i])
    call jd_kv_set(own("tree/a"), "one ")
    call jd_wait_at_barrier("the trees are there", timeout=30d0)
    found = jd_kv_dir_get("tree  ")
    call expect(size(found) == 2 * n, "a directory")
    call expect(found(1)%key == "tree/a/0", "its first key: " // found(1)%key)
    call expect(len(found(1)%value) == 4, "its value: " // found(1)%value)
    call expect(same(numbers_of(found(n + 1)%value), [0]), "numbers there")
    call jd_wait_at_barrier("the trees were seen")
    call jd_kv_delete(own("tree/b"), count)
    call expect(count == 1, "one is deleted")
    call jd_kv_delete("nothing", count)
    call expect(count == 0, "none is deleted")
    call jd_kv_delete(own("tree/a"))
    call expect(size(jd_kv_dir_get(own("tree/a"))) == 0, "an empty directory")
    found = jd_kv_dir_get("/", stat=stat)
    if (stat /= jd_ok) call expect(size(found) == 0, "none after a failure")
  end subroutine use_directories

  subroutine set_and_get_many()
    type(jd_kv_entry) :: given(3)
    character(len=12) :: keys(2)
    keys = [character(len=12) :: own("long/key"), own("k")]
    given(1)%key = own("k")
    given(2)%key = own("long/key")
    given(3)%key = own("l")
    given(1)%value = "1 "
    given(2)%value = ""
    given(3)%value = "three"
    call jd_kv_set_many(given)
    found = jd_kv_get_many(keys, timeout=10d0)
    call expect(size(found) == 2, "as many as were asked for")
    call expect(found(1)%key == own("long/key") .and. found(1)%value == "", &
      "the first: " // found(1)%key)
    call expect(found(2)%key == own("k") .and. len(found(2)%value) == 2, &
      "the second: " // found(2)%key)
    given(2)%key = own("new")
    call jd_kv_set_many(given, stat=stat)
    call expect_failure(stat, jd_already_exists, own("k"))
    given(1)%value = "22"
    call jd_kv_set_many(given(:1), allow_overwrite=yes)
    call expect(jd_kv_try_get(own("k")) == "22", "overwritten")
    keys(2) = "in no store"
    found = jd_kv_get_many(keys, timeout=0.01d0, stat=stat)
    call expect_failure(stat, jd_deadline_exceeded, '"in no store"')
    call expect(size(found) == 0, "none after a failure")
  end subroutine set_and_get_many

  subroutine count_up()
    integer(int64) :: total
    total = jd_kv_increment("tickets")
    call expect(total >= 1 .and. total <= n, "a ticket")
    call jd_wait_at_barrier("all have one")
    call expect(jd_kv_increment("tickets", by=0_int64) == n, "as many as there are")
    call expect(jd_kv_increment(own("down"), by=-3_int64) == -3, "a negative sum")
  end subroutine count_up

  subroutine meet()
    integer :: k
    call jd_wait_at_barrier("here", process_ids=[(k, k=n - 1, 0, -1)])
    call jd_wait_at_barrier(own("alone"), 10d0, [i])
    call jd_wait_at_barrier("nobody", process_ids=[integer ::], stat=stat)
    call expect_failure(stat, jd_invalid_argument, "its count 0")
    call jd_wait_at_barrier("somewhere", process_ids=[n], stat=stat)
    call expect_failure(stat, jd_invalid_argument, "there is no process")
    call jd_cancel_barrier("nowhere", stat=stat)
    call expect_failure(stat, jd_not_found, "nowhere")
    call expect(same(jd_live_processes(30d0), [(k, k=0, n - 1)]), "who lives")
    call expect(same(jd_live_processes(), [(k, k=0, n - 1)]), "who lives, again")
    call jd_report_error(jd_ok, "no failure at all", stat=stat)
    call expect_failure(stat, jd_invalid_argument, "jd_report_error")
  end subroutine meet

  logical function same(a, b)
    integer, intent(in) :: a(:), b(:)
    same = size(a) == size(b)
    if (same) same = all(a == b)
  end function same

  ! The last process gets the signal, and all of them hear of it.
  subroutine be_preempted()
    integer, parameter :: sigterm = 15
    procedure(jd_peer_failure_body), pointer :: on_failure
    procedure(jd_preemption_body), pointer :: on_preemption
    character(len=:), allocatable :: told
    integer, target, save :: number, other
    other = 0
    number = 40 + i
    on_failure => ignore
    on_preemption => tell
    call jd_on_peer_failure(on_failure, other)
    call jd_on_peer_failure()
    call jd_on_preemption(on_preemption)
    call jd_on_preemption()
    call jd_on_preemption(on_preemption, number)
    call jd_wait_at_barrier("all can hear")
    if (i == n - 1) stat = c_raise(sigterm)
    told = jd_kv_get(own("told"), timeout=30d0)
    call expect(same(numbers_of(told), [40 + i]), "what the callback has told")
    call jd_acknowledge_preemption()
    call jd_wait_at_barrier("all have acknowledged it")
    call expect(other == 0, "nobody has failed")
  end subroutine be_preempted

end program test_coordination

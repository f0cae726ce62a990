! SPDX-License-Identifier: BSD-3-Clause
!
! coordination.f90 - what processes tell each other beside their data:
! jd_coordination.h.
!
! A timeout is in seconds; without one it is JD_BARRIER_TIMEOUT (600 s), and a
! negative one is no deadline. Values are bytes: a text with the blanks at its
! end, or an array of numbers, which comes back by transfer().
module jdf_coordination
  use, intrinsic :: iso_c_binding
  use jdf_outcomes, only: end_call
  use jdf_texts, only: bytes_of, text_of
  use jdf_types
  implicit none
  private
  public :: jd_kv_set, jd_kv_get, jd_kv_try_get, jd_kv_dir_get
  public :: jd_kv_delete, jd_kv_increment, jd_kv_set_many, jd_kv_get_many
  public :: jd_wait_at_barrier, jd_cancel_barrier, jd_live_processes
  public :: jd_report_error, jd_on_peer_failure, jd_peer_failure_body
  public :: jd_on_preemption, jd_preemption_body, jd_acknowledge_preemption

  abstract interface

    ! What jd_on_peer_failure has run, on a thread of its own: who failed, the
    ! sentence, and how many seconds ago. The process ends when it returns.
    subroutine jd_peer_failure_body(processes, text, age, arg)
      import :: c_int, c_double
      integer(c_int), intent(in) :: processes(:)
      character(len=*), intent(in) :: text
      real(c_double), intent(in) :: age
      class(*), intent(inout) :: arg
    end subroutine jd_peer_failure_body

    ! What jd_on_preemption has run, on a thread of its own.
    subroutine jd_preemption_body(arg)
      class(*), intent(inout) :: arg
    end subroutine jd_preemption_body

  end interface

  interface

    ! Sets the key's value, an array of any type and rank.
    subroutine jd_kv_set(key, value, allow_overwrite, stat, errmsg) &
      bind(C, name="jdf_kv_set")
      import :: c_int, c_char, c_bool
      character(len=*, kind=c_char), intent(in) :: key
      type(*), dimension(..), intent(in) :: value
      logical(c_bool), intent(in), optional :: allow_overwrite
      include "outcome.inc"
    end subroutine jd_kv_set

    ! Deletes the key and all under it; count is how many there were.
    subroutine jd_kv_delete(key, count, stat, errmsg) &
      bind(C, name="jdf_kv_delete")
      import :: c_int, c_char, c_int64_t
      character(len=*, kind=c_char), intent(in) :: key
      integer(c_int64_t), intent(inout), optional :: count
      include "outcome.inc"
    end subroutine jd_kv_delete

    ! Adds to the key's decimal number, 1 without by, and gives the sum.
    integer(c_int64_t) function jd_kv_increment(key, by, stat, errmsg) &
      bind(C, name="jdf_kv_increment")
      import :: c_int, c_char, c_int64_t
      character(len=*, kind=c_char), intent(in) :: key
      integer(c_int64_t), intent(in), optional :: by
      include "outcome.inc"
    end function jd_kv_increment

    ! Waits until all processes, or those of the list, have come there.
    subroutine jd_wait_at_barrier(id, timeout, process_ids, stat, errmsg) &
      bind(C, name="jdf_wait_at_barrier")
      import :: c_int, c_char, c_double
      character(len=*, kind=c_char), intent(in) :: id
      real(c_double), intent(in), optional :: timeout
      integer(c_int), intent(in), contiguous, optional :: process_ids(:)
      include "outcome.inc"
    end subroutine jd_wait_at_barrier

    ! Ends the wait of all who wait there.
    subroutine jd_cancel_barrier(id, stat, errmsg) &
      bind(C, name="jdf_cancel_barrier")
      import :: c_int, c_char
      character(len=*, kind=c_char), intent(in) :: id
      include "outcome.inc"
    end subroutine jd_cancel_barrier

    ! Tells all other processes that something went wrong here, which ends them.
    subroutine jd_report_error(status, text, stat, errmsg) &
      bind(C, name="jdf_report_error")
      import :: c_int, c_char
      integer(c_int), intent(in) :: status
      character(len=*, kind=c_char), intent(in) :: text
      include "outcome.inc"
    end subroutine jd_report_error

    ! The program has dealt with the preemption.
    subroutine jd_acknowledge_preemption(stat, errmsg) &
      bind(C, name="jdf_acknowledge_preemption")
      import :: c_int, c_char
      include "outcome.inc"
    end subroutine jd_acknowledge_preemption

    ! ---- what the procedures below call -----------------------------------

    subroutine c_kv_get(key, timeout, value, stat) &
      bind(C, name="jdf_kv_get")
      import :: c_int, c_char, c_double
      character(len=*, kind=c_char), intent(in) :: key
      real(c_double), intent(in), optional :: timeout
      character(len=:, kind=c_char), allocatable, intent(out) :: value
      integer(c_int), intent(out) :: stat
    end subroutine c_kv_get

    subroutine c_kv_try_get(key, value, stat) bind(C, name="jdf_kv_try_get")
      import :: c_int, c_char
      character(len=*, kind=c_char), intent(in) :: key
      character(len=:, kind=c_char), allocatable, intent(out) :: value
      integer(c_int), intent(out) :: stat
    end subroutine c_kv_try_get

    type(c_ptr) function c_kv_dir_get(directory, count, stat) &
      bind(C, name="jdf_kv_dir_get")
      import :: c_ptr, c_int, c_char, c_size_t
      character(len=*, kind=c_char), intent(in) :: directory
      integer(c_size_t), intent(out) :: count
      integer(c_int), intent(out) :: stat
    end function c_kv_dir_get

    type(c_ptr) function c_kv_get_many(keys, timeout, stat) &
      bind(C, name="jdf_kv_get_many")
      import :: c_ptr, c_int, c_char, c_double
      character(len=*, kind=c_char), intent(in) :: keys(:)
      real(c_double), intent(in), optional :: timeout
      integer(c_int), intent(out) :: stat
    end function c_kv_get_many

    subroutine c_kv_set_many(keys, values, sizes, allow_overwrite, stat) &
      bind(C, name="jdf_kv_set_many")
      import :: c_int, c_char, c_bool, c_int64_t
      character(len=*, kind=c_char), intent(in) :: keys(:)
      character(len=*, kind=c_char), intent(in) :: values
      integer(c_int64_t), intent(in), contiguous :: sizes(:)
      logical(c_bool), intent(in), optional :: allow_overwrite
      integer(c_int), intent(out) :: stat
    end subroutine c_kv_set_many

    type(c_ptr) function c_live_processes(timeout, count, stat) &
      bind(C, name="jdf_live_processes")
      import :: c_ptr, c_int, c_double, c_size_t
      real(c_double), intent(in), optional :: timeout
      integer(c_size_t), intent(out) :: count
      integer(c_int), intent(out) :: stat
    end function c_live_processes

    subroutine c_on_peer_failure(run, context, stat) &
      bind(C, name="jdf_on_peer_failure")
      import :: c_funptr, c_ptr, c_int
      type(c_funptr), value :: run
      type(c_ptr), value :: context
      integer(c_int), intent(out) :: stat
    end subroutine c_on_peer_failure

    subroutine c_on_preemption(run, context, stat) &
      bind(C, name="jdf_on_preemption")
      import :: c_funptr, c_ptr, c_int
      type(c_funptr), value :: run
      type(c_ptr), value :: context
      integer(c_int), intent(out) :: stat
    end subroutine c_on_preemption

    subroutine c_free(memory) bind(C, name="free")
      import :: c_ptr
      type(c_ptr), value :: memory
    end subroutine c_free

  end interface

  ! An entry, and what a callback hears, as C has them.
  type, bind(C) :: c_kv_entry
    type(c_ptr) :: key
    type(c_ptr) :: value
    integer(c_size_t) :: size
  end type c_kv_entry

  type, bind(C) :: c_peer_failure
    type(c_ptr) :: processes
    integer(c_size_t) :: num_processes
    type(c_ptr) :: text
    real(c_double) :: age
  end type c_peer_failure

  ! What a callback of C is given: one of these is set. Those that another one
  ! has replaced stay, as their thread may be running.
  type :: callback_context
    procedure(jd_peer_failure_body), pointer, nopass :: on_failure => null()
    procedure(jd_preemption_body), pointer, nopass :: on_preemption => null()
    class(*), pointer :: arg => null()
    type(callback_context), pointer :: before => null()
  end type callback_context

  type(callback_context), pointer, save :: contexts => null()
  integer, target, save :: nothing = 0

contains

  ! ---- the key-value store ------------------------------------------------

  ! Waits until the key is there and gives its value.
  function jd_kv_get(key, timeout, stat, errmsg) result(value)
    character(len=*), intent(in) :: key
    real(c_double), intent(in), optional :: timeout
    character(len=:), allocatable :: value
    include "outcome.inc"
    integer(c_int) :: status
    character(len=:, kind=c_char), allocatable :: got
    got = ""
    call c_kv_get(key, timeout, got, status)
    value = got
    call end_call("jd_kv_get", status, stat, errmsg)
  end function jd_kv_get

  ! The same without waiting.
  function jd_kv_try_get(key, stat, errmsg) result(value)
    character(len=*), intent(in) :: key
    character(len=:), allocatable :: value
    include "outcome.inc"
    integer(c_int) :: status
    character(len=:, kind=c_char), allocatable :: got
    got = ""
    call c_kv_try_get(key, got, status)
    value = got
    call end_call("jd_kv_try_get", status, stat, errmsg)
  end function jd_kv_try_get

  ! A copy of C's list, which is freed.
  function entries_of(list, n) result(entries)
    type(c_ptr), intent(in) :: list
    integer(c_size_t), intent(in) :: n
    type(jd_kv_entry), allocatable :: entries(:)
    type(c_kv_entry), pointer :: each(:)
    integer(c_size_t) :: i
    allocate (entries(n))
    if (n > 0) call c_f_pointer(list, each, [n])
    do i = 1, n
      entries(i)%key = text_of(each(i)%key)
      entries(i)%value = bytes_of(each(i)%value, each(i)%size)
    end do
    call c_free(list)
  end function entries_of

  ! All entries under the directory, in the order of their keys; "" has all.
  function jd_kv_dir_get(directory, stat, errmsg) result(entries)
    character(len=*), intent(in) :: directory
    type(jd_kv_entry), allocatable :: entries(:)
    include "outcome.inc"
    integer(c_int) :: status
    integer(c_size_t) :: n
    type(c_ptr) :: list
    list = c_kv_dir_get(directory, n, status)
    entries = entries_of(list, n)
    call end_call("jd_kv_dir_get", status, stat, errmsg)
  end function jd_kv_dir_get

  ! Waits until all the keys are there and gives their entries, in their order.
  function jd_kv_get_many(keys, timeout, stat, errmsg) result(entries)
    character(len=*), intent(in) :: keys(:)
    real(c_double), intent(in), optional :: timeout
    type(jd_kv_entry), allocatable :: entries(:)
    include "outcome.inc"
    integer(c_int) :: status
    type(c_ptr) :: list
    list = c_kv_get_many(keys, timeout, status)
    entries = entries_of(list, merge(size(keys, kind=c_size_t), 0_c_size_t, &
      status == jd_ok))
    call end_call("jd_kv_get_many", status, stat, errmsg)
  end function jd_kv_get_many

  pure integer function longest_key(entries)
    type(jd_kv_entry), intent(in) :: entries(:)
    integer :: i
    longest_key = maxval([1, (len(entries(i)%key), i=1, size(entries))])
  end function longest_key

  ! Sets many in one round trip: all or none.
  subroutine jd_kv_set_many(entries, allow_overwrite, stat, errmsg)
    type(jd_kv_entry), intent(in) :: entries(:)
    logical(c_bool), intent(in), optional :: allow_overwrite
    include "outcome.inc"
    integer(c_int) :: status
    integer :: i
    integer(c_int64_t) :: sizes(size(entries)), at
    character(len=longest_key(entries)) :: keys(size(entries))
    character(len=:), allocatable :: values
    sizes = [(len(entries(i)%value, kind=c_int64_t), i=1, size(entries))]
    allocate (character(len=sum(sizes)) :: values)
    at = 0
    do i = 1, size(entries)
      keys(i) = entries(i)%key
      values(at + 1:at + sizes(i)) = entries(i)%value
      at = at + sizes(i)
    end do
    call c_kv_set_many(keys, values, sizes, allow_overwrite, status)
    call end_call("jd_kv_set_many", status, stat, errmsg)
  end subroutine jd_kv_set_many

  ! ---- who lives ----------------------------------------------------------

  ! Waits until every living process has called it; the sorted list of those.
  function jd_live_processes(timeout, stat, errmsg) result(processes)
    real(c_double), intent(in), optional :: timeout
    integer(c_int), allocatable :: processes(:)
    include "outcome.inc"
    integer(c_int) :: status
    integer(c_size_t) :: n
    integer(c_int), pointer :: each(:)
    type(c_ptr) :: list
    list = c_live_processes(timeout, n, status)
    allocate (processes(n))
    if (n > 0) then
      call c_f_pointer(list, each, [n])
      processes = each
    end if
    call c_free(list)
    call end_call("jd_live_processes", status, stat, errmsg)
  end function jd_live_processes

  ! ---- callbacks ----------------------------------------------------------

  ! A new context, which is the last of all.
  function context_of(arg) result(context)
    class(*), intent(inout), target, optional :: arg
    type(callback_context), pointer :: context
    allocate (context)
    context%arg => nothing
    if (present(arg)) context%arg => arg
    context%before => contexts
    contexts => context
  end function context_of

  ! Has the callback run when another process has failed; without one none runs
  ! any more. arg, a target, stays for as long.
  subroutine jd_on_peer_failure(callback, arg, stat, errmsg)
    procedure(jd_peer_failure_body), optional :: callback
    class(*), intent(inout), target, optional :: arg
    include "outcome.inc"
    integer(c_int) :: status
    type(callback_context), pointer :: context
    if (present(callback)) then
      context => context_of(arg)
      context%on_failure => callback
      call c_on_peer_failure(c_funloc(run_on_failure), c_loc(context), status)
    else
      call c_on_peer_failure(c_null_funptr, c_null_ptr, status)
    end if
    call end_call("jd_on_peer_failure", status, stat, errmsg)
  end subroutine jd_on_peer_failure

  subroutine run_on_failure(failure, context) bind(C)
    type(c_peer_failure), intent(in) :: failure
    type(c_ptr), value :: context
    type(callback_context), pointer :: it
    integer(c_int), pointer :: processes(:)
    call c_f_pointer(context, it)
    call c_f_pointer(failure%processes, processes, [failure%num_processes])
    call it%on_failure(processes, text_of(failure%text), failure%age, it%arg)
  end subroutine run_on_failure

  ! Has the callback run when a process of the job was sent the signal of a
  ! preemption; without one none runs any more. arg as above.
  subroutine jd_on_preemption(callback, arg, stat, errmsg)
    procedure(jd_preemption_body), optional :: callback
    class(*), intent(inout), target, optional :: arg
    include "outcome.inc"
    integer(c_int) :: status
    type(callback_context), pointer :: context
    if (present(callback)) then
      context => context_of(arg)
      context%on_preemption => callback
      call c_on_preemption(c_funloc(run_on_preemption), c_loc(context), status)
    else
      call c_on_preemption(c_null_funptr, c_null_ptr, status)
    end if
    call end_call("jd_on_preemption", status, stat, errmsg)
  end subroutine jd_on_preemption

  subroutine run_on_preemption(context) bind(C)
    type(c_ptr), value :: context
    type(callback_context), pointer :: it
    call c_f_pointer(context, it)
    call it%on_preemption(it%arg)
  end subroutine run_on_preemption

end module jdf_coordination

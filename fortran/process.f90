! SPDX-License-Identifier: BSD-3-Clause
!
! process.f90 - a process's place in the job, its failures and its named ranges
! of time: jd_process.h, jd_status.h, jd_mpi.h and jd_trace.h.
module jdf_process
  use, intrinsic :: iso_c_binding
  use jdf_texts, only: text_of
  use jdf_types
  implicit none
  private
  public :: jd_initialize, jd_initialize_on, jd_shutdown, jd_abort
  public :: jd_is_initialized, jd_process_index, jd_process_count
  public :: jd_mpi_comm, jd_wtime, jd_version
  public :: jd_status_name, jd_error_message, jd_fail_with, jd_check_failed
  public :: jd_dtype_name, jd_dtype_size
  public :: jd_trace_begin, jd_trace_end

  interface

    ! Joins this process to the job; all arguments by their names.
    subroutine jd_initialize( &
      coordinator_address, coordinator_bind_address, num_processes, &
      process_id, num_slices, slice_index, local_device_ids, &
      cluster_detection_method, initialization_timeout, heartbeat_timeout, &
      shutdown_timeout, collective_timeout, stat, errmsg) &
      bind(C, name="jdf_initialize")
      import :: c_int, c_char, c_double
      include "options.inc"
    end subroutine jd_initialize

    ! The same on the program's own communicator: a handle of "use mpi", or the
    ! MPI_VAL of one of "use mpi_f08".
    subroutine jd_initialize_on( &
      comm, coordinator_address, coordinator_bind_address, num_processes, &
      process_id, num_slices, slice_index, local_device_ids, &
      cluster_detection_method, initialization_timeout, heartbeat_timeout, &
      shutdown_timeout, collective_timeout, stat, errmsg) &
      bind(C, name="jdf_initialize_on")
      import :: c_int, c_char, c_double
      integer(c_int), intent(in) :: comm
      include "options.inc"
    end subroutine jd_initialize_on

    subroutine jd_shutdown(stat, errmsg) bind(C, name="jdf_shutdown")
      import :: c_int, c_char
      include "outcome.inc"
    end subroutine jd_shutdown

    ! Ends the whole job at once; does not return.
    subroutine jd_abort(code, why) bind(C, name="jdf_abort")
      import :: c_int, c_char
      integer(c_int), intent(in) :: code
      character(len=*, kind=c_char), intent(in) :: why
    end subroutine jd_abort

    logical(c_bool) function jd_is_initialized() &
      bind(C, name="jdf_is_initialized")
      import :: c_bool
    end function jd_is_initialized

    integer(c_int) function jd_process_index(stat, errmsg) &
      bind(C, name="jdf_process_index")
      import :: c_int, c_char
      include "outcome.inc"
    end function jd_process_index

    integer(c_int) function jd_process_count(stat, errmsg) &
      bind(C, name="jdf_process_count")
      import :: c_int, c_char
      include "outcome.inc"
    end function jd_process_count

    ! A communicator of all processes: a handle of "use mpi", and the MPI_VAL of
    ! one of "use mpi_f08". It is jd's, and never freed by the program.
    integer(c_int) function jd_mpi_comm(stat, errmsg) &
      bind(C, name="jdf_mpi_comm")
      import :: c_int, c_char
      include "outcome.inc"
    end function jd_mpi_comm

    ! Seconds since some moment in the past.
    real(c_double) function jd_wtime() bind(C, name="jdf_wtime")
      import :: c_double
    end function jd_wtime

    ! Makes a sentence this thread's last failure; gives the status.
    integer(c_int) function jd_fail_with(status, sentence) &
      bind(C, name="jdf_fail_with")
      import :: c_int, c_char
      integer(c_int), intent(in) :: status
      character(len=*, kind=c_char), intent(in) :: sentence
    end function jd_fail_with

    ! Ends the job by this thread's last failure, as a call without stat= does.
    subroutine jd_check_failed(status, what) bind(C, name="jdf_check_failed")
      import :: c_int, c_char
      integer(c_int), intent(in) :: status
      character(len=*, kind=c_char), intent(in) :: what
    end subroutine jd_check_failed

    ! Bytes of an element; 0 for a number that is no type.
    pure integer(c_size_t) function jd_dtype_size(dtype) &
      bind(C, name="jdf_dtype_size")
      import :: c_size_t, c_int
      integer(c_int), intent(in) :: dtype
    end function jd_dtype_size

    subroutine jd_trace_begin(name, stat, errmsg) &
      bind(C, name="jdf_trace_begin")
      import :: c_int, c_char
      character(len=*, kind=c_char), intent(in) :: name
      include "outcome.inc"
    end subroutine jd_trace_begin

    subroutine jd_trace_end(stat, errmsg) bind(C, name="jdf_trace_end")
      import :: c_int, c_char
      include "outcome.inc"
    end subroutine jd_trace_end

    type(c_ptr) function c_status_name(status) bind(C, name="jd_status_name")
      import :: c_ptr, c_int
      integer(c_int), value :: status
    end function c_status_name

    type(c_ptr) function c_dtype_name(dtype) bind(C, name="jd_dtype_name")
      import :: c_ptr, c_int
      integer(c_int), value :: dtype
    end function c_dtype_name

    type(c_ptr) function c_error_message() bind(C, name="jd_error_message")
      import :: c_ptr
    end function c_error_message

    type(c_ptr) function c_version() bind(C, name="jd_version")
      import :: c_ptr
    end function c_version

  end interface

contains

  ! "DEADLINE_EXCEEDED"
  function jd_status_name(status) result(name)
    integer(c_int), intent(in) :: status
    character(len=:), allocatable :: name
    name = text_of(c_status_name(status))
  end function jd_status_name

  ! This thread's last failure as a whole sentence, of any length.
  function jd_error_message() result(sentence)
    character(len=:), allocatable :: sentence
    sentence = text_of(c_error_message())
  end function jd_error_message

  ! "F32"
  function jd_dtype_name(dtype) result(name)
    integer(c_int), intent(in) :: dtype
    character(len=:), allocatable :: name
    name = text_of(c_dtype_name(dtype))
  end function jd_dtype_name

  ! The version of the library that runs.
  function jd_version() result(version)
    character(len=:), allocatable :: version
    version = text_of(c_version())
  end function jd_version

end module jdf_process

! SPDX-License-Identifier: BSD-3-Clause
!
! test_ends.f90 - calls without stat=, which end the job: one of those that
! Fortran calls directly ("direct"), of the module's own procedures
! ("procedure"), jd_check_failed ("check"), a body that fails ("body"), members
! that do not make the same call ("differ"), jd_abort ("abort"), and a failure
! that process 0 reports, which the others' callbacks hear ("report"). The lines
! are marked, for the test that looks for them.
module failing
  use, intrinsic :: iso_c_binding, only: c_double, c_int
  use, intrinsic :: iso_fortran_env, only: output_unit
  use jd
  implicit none
  private
  public :: fail, hear

contains

  subroutine fail(shard, arg, stat)
    type(jd_shard), intent(in) :: shard
    class(*), intent(inout) :: arg
    integer(c_int), intent(inout) :: stat
    select type (arg)
    type is (integer)
      stat = jd_fail_with(jd_not_found, "100% of it is missing   ")
    end select
    if (jd_is_null(shard)) stat = jd_internal
  end subroutine fail

  subroutine hear(processes, text, age, arg)
    integer(c_int), intent(in) :: processes(:)
    character(len=*), intent(in) :: text
    real(c_double), intent(in) :: age
    class(*), intent(inout) :: arg
    select type (arg)
    type is (integer)
      print "(a, i0, a, *(1x, i0))", "heard ", arg, " from", processes
    end select
    print "(a)", text // merge(" now", "    ", age >= 0)
    flush (output_unit)
  end subroutine hear

end module failing

program test_ends
  use, intrinsic :: iso_fortran_env, only: error_unit
  use failing
  use jd
  implicit none
  type(jd_mesh) :: mesh
  type(jd_shard) :: me
  character(len=20) :: how
  real :: x(2)
  character(len=:), allocatable :: value
  integer, target :: stat

  call get_command_argument(1, how)
  call jd_initialize()
  call jd_mesh_create(mesh, [-1], ["x"])
  me = jd_mesh_shard(mesh)
  x = 1
  write (error_unit, "(a)") "its own words"
  select case (how)
  case ("direct")
    call jd_psum(me, "nowhere", x) ! direct
  case ("procedure")
    me = jd_mesh_shard(null_mesh()) ! procedure
  case ("check")
    call jd_psum(me, "nowhere", x, stat=stat)
    if (stat /= jd_ok) call jd_check_failed(stat, "the sum") ! check
  case ("body")
    call jd_shard_map(mesh, fail, stat) ! body
  case ("differ")
    call jd_psum(me, "x", x(:1 + jd_process_index())) ! differ
  case ("abort")
    call jd_abort(7, "enough of it   ")
  case ("report")
    stat = 42
    if (jd_process_index() > 0) call jd_on_peer_failure(hear, stat)
    call jd_wait_at_barrier("all can hear")
    if (jd_process_index() == 0) &
      call jd_report_error(jd_data_loss, "the disk is full   ")
    value = jd_kv_get("what nobody sets", timeout=40d0)
  end select
  print "(a)", "still here"

contains

  type(jd_mesh) function null_mesh()
    null_mesh = jd_mesh()
  end function null_mesh

end program test_ends

! SPDX-License-Identifier: BSD-3-Clause
!
! test_checkpoint.f90 - checkpoints of Fortran that C reads, and of C that Fortran
! reads (look.c), with any number of processes that have a device each.
program test_checkpoint
  use, intrinsic :: iso_c_binding
  use expectations
  use jd
  implicit none
  integer(c_int64_t), parameter :: m = 5, n = 7
  character(len=*), parameter :: names(2) = [character(len=8) :: "x", "numbers"]
  type(jd_mesh) :: mesh
  type(jd_sharding) :: rows, columns, everywhere
  type(jd_array) :: arrays(2), again(2), one(1)
  type(jd_checkpoint) :: checkpoint
  type(jd_leaf) :: leaf
  character(len=:), allocatable :: dir
  integer :: x(m, n), y(m, n), i, j, stat

  interface
    integer(c_int) function look_at(array, m, n) bind(C)
      import :: c_int, c_int64_t, c_ptr
      type(c_ptr), value :: array
      integer(c_int64_t), value :: m, n
    end function look_at

    integer(c_int) function save_in_c(dir, array) bind(C)
      import :: c_char, c_int, c_ptr
      character(kind=c_char), intent(in) :: dir(*)
      type(c_ptr), value :: array
    end function save_in_c

    integer(c_int) function restore_in_c(dir, mesh, m, n) bind(C)
      import :: c_char, c_int, c_int64_t, c_ptr
      character(kind=c_char), intent(in) :: dir(*)
      type(c_ptr), value :: mesh
      integer(c_int64_t), value :: m, n
    end function restore_in_c
  end interface

  call jd_initialize()
  call jd_mesh_create(mesh, [-1], ["data"])
  call jd_sharding_create(rows, mesh, "data,-")
  call jd_sharding_create(columns, mesh, "-,data")
  call jd_sharding_create(everywhere, mesh, "")
  x = reshape([((100 * i + j, i=1, int(m)), j=1, int(n))], [m, n])
  dir = own_folder()
  call jd_device_put(arrays(1), x, rows)
  call jd_device_put(arrays(2), [1d0, 2d0, 3d0], everywhere)
  call jd_array_save(dir // "  ", names, arrays)
  call expect(restore_in_c(dir // c_null_char, mesh%c, m, n) == 1, "C reads it")
  call jd_array_restore(dir, names, [columns, everywhere], again)
  call expect(look_at(again(1)%c, m, n) == 1, "what is restored")
  call look_into()
  call refuse()
  call expect(save_in_c(dir // c_null_char, again(1)%c) == jd_ok, "C saves it")
  call jd_array_restore(dir, ["c"], [everywhere], one)
  y = 0
  call jd_array_to_host(one(1), y)
  call expect(all(y == x), "what C has saved")
  call release()
  call end_test()

contains

  ! A name of its own for each job, the same on all processes.
  function own_folder() result(name)
    character(len=:), allocatable :: name
    integer :: clock(1)
    character(len=40) :: text
    call system_clock(clock(1))
    call jd_broadcast_one_to_all(clock, 0)
    write (text, "(a, i0, a, i0)") "/tmp/jd-fortran-", clock(1), "-", &
      jd_process_count()
    name = trim(text)
  end function own_folder

  subroutine look_into()
    call jd_checkpoint_open(checkpoint, dir)
    call expect(jd_checkpoint_count(checkpoint) == 2, "two arrays")
    call expect(jd_checkpoint_name(checkpoint, 2) == "numbers", "its name")
    call expect(jd_checkpoint_name(checkpoint, 3) == "", "there is no third")
    call expect(jd_checkpoint_name(checkpoint, 0) == "", "they begin at 1")
    call jd_checkpoint_leaf(checkpoint, "x  ", leaf)
    call expect(leaf%dtype == jd_s32 .and. leaf%ndim == 2, "its type")
    call expect(all(leaf%shape(:2) == [n, m]), "its shape, as C sees it")
    call jd_checkpoint_leaf(checkpoint, "y", leaf, stat)
    call expect_failure(stat, jd_not_found, "jd_checkpoint_leaf")
    call jd_checkpoint_verify(checkpoint)
    call jd_checkpoint_verify(checkpoint, "numbers")
    call jd_checkpoint_verify(checkpoint, "y", stat=stat)
    call expect(stat /= jd_ok, "nothing of that name to verify")
    call jd_checkpoint_close(checkpoint)
    call expect(.not. c_associated(checkpoint%c), "null when it is closed")
  end subroutine look_into

  subroutine refuse()
    type(jd_array) :: none(2)
    call jd_checkpoint_open(checkpoint, dir // "-nowhere", stat)
    call expect_failure(stat, jd_not_found, "jd_checkpoint_open")
    call jd_array_save(dir, names, arrays(:1), stat=stat)
    call expect_failure(stat, jd_invalid_argument, &
      "jd_array_save: names has 2 elements and arrays 1")
    call jd_array_restore(dir, names, [rows], none, stat=stat)
    call expect_failure(stat, jd_invalid_argument, "and shardings 1")
    call jd_array_restore(dir, names, [rows, rows], none, stat=stat)
    call expect(stat == jd_invalid_argument, "another rank")
    call jd_array_restore(dir, names(2:), [columns], none(:1), stat=stat)
    call expect_failure(stat, jd_invalid_argument, "the shape [3] has 1 dimension")
    call expect(all(jd_is_null(none)), "none is restored")
  end subroutine refuse

  subroutine release()
    integer :: k
    call jd_array_release(one(1))
    do k = 1, 2
      call jd_array_release(arrays(k))
      call jd_array_release(again(k))
    end do
    call jd_mesh_destroy(mesh)
    call jd_sync_global_devices("all have read it")
    if (jd_process_index() == 0) &
      call execute_command_line("rm -r " // dir)
  end subroutine release

end program test_checkpoint

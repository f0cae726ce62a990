! SPDX-License-Identifier: BSD-3-Clause
!
! save_numbers.f90 - for test_numpy.sh: saves x(i, j) = 100 i + j in the directory
! of its argument, cut by columns and, as "whole", not at all.
program save_numbers
  use, intrinsic :: iso_fortran_env, only: real32
  use jd
  implicit none
  integer, parameter :: m = 5, n = 7
  character(len=*), parameter :: names(2) = [character(len=7) :: "columns", &
    "whole"]
  type(jd_mesh) :: mesh
  type(jd_sharding) :: columns, everywhere
  type(jd_array) :: arrays(2)
  character(len=200) :: dir
  real(real32) :: x(m, n)
  integer :: i, j

  call get_command_argument(1, dir)
  x = reshape([((real(100 * i + j, real32), i=1, m), j=1, n)], [m, n])
  call jd_initialize()
  call jd_mesh_create(mesh, [-1], ["data"])
  call jd_sharding_create(columns, mesh, "-,data")
  call jd_sharding_create(everywhere, mesh, "")
  call jd_device_put(arrays(1), x, columns)
  call jd_device_put(arrays(2), x, everywhere)
  call jd_array_save(trim(dir), names, arrays)
  do i = 1, 2
    call jd_array_release(arrays(i))
  end do
  call jd_sharding_release(columns)
  call jd_sharding_release(everywhere)
  call jd_mesh_destroy(mesh)
  call jd_shutdown()
end program save_numbers

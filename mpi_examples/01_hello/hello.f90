! SPDX-License-Identifier: BSD-3-Clause
!
! hello.f90 - the smallest whole program of jd, in Fortran: what hello.c does.
program hello
  use, intrinsic :: iso_fortran_env, only: real64
  use jd
  implicit none
  type(jd_mesh) :: mesh
  type(jd_shard) :: me
  real(real64) :: mine, total

  call jd_initialize()

  call jd_mesh_create(mesh, [-1], ["data"])
  me = jd_mesh_shard(mesh)

  mine = jd_axis_index(me, "data") + 1
  call jd_psum(me, "data", mine, total)
  call jd_sync_global_devices("summed")
  if (jd_process_index() == 0) &
    print "(i0, a, i0, a, i0)", jd_device_count(), " devices in ", &
    jd_process_count(), " processes: ", nint(total)

  call jd_mesh_destroy(mesh)
  call jd_shutdown()
end program hello

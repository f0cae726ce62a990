! SPDX-License-Identifier: BSD-3-Clause
!
! jd.f90 - jd for Fortran 2018:
!
!     use jd
!     type(jd_mesh) :: mesh
!     type(jd_shard) :: me
!     real :: x(100, 20), y(100, 20)
!
!     call jd_initialize()
!     call jd_mesh_create(mesh, [-1], ["data"])
!     me = jd_mesh_shard(mesh)
!     call jd_psum(me, "data", x, y)
!
! doc/fortran.md says where it differs from C; all else is in C's headers.
module jd
  use jdf_arrays
  use jdf_checkpoint
  use jdf_collectives
  use jdf_coordination
  use jdf_halo
  use jdf_memory
  use jdf_mesh
  use jdf_multihost
  use jdf_overlap
  use jdf_process
  use jdf_sharding
  use jdf_types
  implicit none
  public
end module jd

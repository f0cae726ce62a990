! SPDX-License-Identifier: BSD-3-Clause
!
! sharding.f90 - how arrays are cut along the axes of a mesh, in Fortran's order
! of dimensions: the shardings of jd_array.h.
!
! The first entry of a spec is of the first dimension: "data,-" cuts the rows of
! x(m, n). Shapes are lists of integers, as shape(x) gives; elements are counted
! from 1.
module jdf_sharding
  use, intrinsic :: iso_c_binding
  use jdf_outcomes, only: end_call
  use jdf_texts, only: write_lines
  use jdf_types
  implicit none
  private
  public :: jd_sharding_create, jd_sharding_create_even, jd_sharding_release
  public :: jd_sharding_spec, jd_sharding_mesh
  public :: jd_sharding_is_fully_replicated, jd_sharding_is_fully_addressable
  public :: jd_sharding_is_equivalent
  public :: jd_sharding_index, jd_sharding_shard_shape
  public :: jd_visualize_sharding, jd_visualize_sharding_svg

  interface

    ! Of arrays that have as many dimensions as the spec has entries, or ndim:
    ! those after the last entry are not cut.
    subroutine jd_sharding_create(sharding, mesh, spec, ndim, stat, errmsg) &
      bind(C, name="jdf_sharding_create")
      import :: jd_sharding, jd_mesh, c_int, c_char
      type(jd_sharding), intent(inout) :: sharding
      type(jd_mesh), intent(in) :: mesh
      character(len=*, kind=c_char), intent(in) :: spec
      integer(c_int), intent(in), optional :: ndim
      include "outcome.inc"
    end subroutine jd_sharding_create

    ! The same, of arrays whose lengths divide.
    subroutine jd_sharding_create_even( &
      sharding, mesh, spec, ndim, stat, errmsg) &
      bind(C, name="jdf_sharding_create_even")
      import :: jd_sharding, jd_mesh, c_int, c_char
      type(jd_sharding), intent(inout) :: sharding
      type(jd_mesh), intent(in) :: mesh
      character(len=*, kind=c_char), intent(in) :: spec
      integer(c_int), intent(in), optional :: ndim
      include "outcome.inc"
    end subroutine jd_sharding_create_even

    subroutine jd_sharding_release(sharding) &
      bind(C, name="jdf_sharding_release")
      import :: jd_sharding
      type(jd_sharding), intent(inout) :: sharding
    end subroutine jd_sharding_release

    logical(c_bool) function jd_sharding_is_fully_replicated(sharding) &
      bind(C, name="jdf_sharding_is_replicated")
      import :: jd_sharding, c_bool
      type(jd_sharding), intent(in) :: sharding
    end function jd_sharding_is_fully_replicated

    logical(c_bool) function jd_sharding_is_fully_addressable(sharding) &
      bind(C, name="jdf_sharding_is_addressable")
      import :: jd_sharding, c_bool
      type(jd_sharding), intent(in) :: sharding
    end function jd_sharding_is_fully_addressable

    ! Whether both put the same blocks of arrays of that rank on the same devices.
    logical(c_bool) function jd_sharding_is_equivalent(a, b, ndim) &
      bind(C, name="jdf_sharding_is_equivalent")
      import :: jd_sharding, c_bool, c_int
      type(jd_sharding), intent(in) :: a, b
      integer(c_int), intent(in) :: ndim
    end function jd_sharding_is_equivalent

    ! A mesh like the one that it was made on; for jd_mesh_destroy.
    subroutine jd_sharding_mesh(mesh, sharding, stat, errmsg) &
      bind(C, name="jdf_sharding_mesh")
      import :: jd_mesh, jd_sharding, c_int, c_char
      type(jd_mesh), intent(inout) :: mesh
      type(jd_sharding), intent(in) :: sharding
      include "outcome.inc"
    end subroutine jd_sharding_mesh

    ! The shape of the longest block.
    subroutine jd_sharding_shard_shape( &
      sharding, shape, shard_shape, stat, errmsg) &
      bind(C, name="jdf_sharding_shard_shape")
      import :: jd_sharding, c_int, c_char, c_int64_t
      type(jd_sharding), intent(in) :: sharding
      type(*), dimension(..), intent(in) :: shape
      integer(c_int64_t), intent(inout), contiguous :: shard_shape(:)
      include "outcome.inc"
    end subroutine jd_sharding_shard_shape

    subroutine c_sharding_spec(sharding, spec, stat) &
      bind(C, name="jdf_sharding_spec")
      import :: jd_sharding, c_int, c_char
      type(jd_sharding), intent(in) :: sharding
      character(len=:, kind=c_char), allocatable, intent(out) :: spec
      integer(c_int), intent(out) :: stat
    end subroutine c_sharding_spec

    subroutine c_sharding_index( &
      sharding, shape, device, first, last, replica_id, stat) &
      bind(C, name="jdf_sharding_index")
      import :: jd_sharding, c_ptr, c_int, c_int64_t
      type(jd_sharding), intent(in) :: sharding
      type(*), dimension(..), intent(in) :: shape
      type(c_ptr), intent(in) :: device
      integer(c_int64_t), intent(inout), contiguous :: first(:), last(:)
      integer(c_int), intent(inout), optional :: replica_id
      integer(c_int), intent(out) :: stat
    end subroutine c_sharding_index

    subroutine c_visualize_sharding(sharding, shape, picture, stat) &
      bind(C, name="jdf_visualize_sharding")
      import :: jd_sharding, c_int, c_char
      type(jd_sharding), intent(in) :: sharding
      type(*), dimension(..), intent(in) :: shape
      character(len=:, kind=c_char), allocatable, intent(out) :: picture
      integer(c_int), intent(out) :: stat
    end subroutine c_visualize_sharding

    subroutine c_visualize_sharding_svg(sharding, shape, picture, stat) &
      bind(C, name="jdf_visualize_sharding_svg")
      import :: jd_sharding, c_int, c_char
      type(jd_sharding), intent(in) :: sharding
      type(*), dimension(..), intent(in) :: shape
      character(len=:, kind=c_char), allocatable, intent(out) :: picture
      integer(c_int), intent(out) :: stat
    end subroutine c_visualize_sharding_svg

  end interface

contains

  ! The spec in its shortest form: "data" for "data,-".
  function jd_sharding_spec(sharding, stat, errmsg) result(spec)
    type(jd_sharding), intent(in) :: sharding
    character(len=:), allocatable :: spec
    include "outcome.inc"
    integer(c_int) :: status
    character(len=:, kind=c_char), allocatable :: got
    got = ""
    call c_sharding_spec(sharding, got, status)
    spec = got
    call end_call("jd_sharding_spec", status, stat, errmsg)
  end function jd_sharding_spec

  ! Which elements of an array of that shape a device has: first(d) to last(d)
  ! of dimension d; and its number among those that have the same ones, from 0.
  subroutine jd_sharding_index( &
    sharding, shape, device, first, last, replica_id, stat, errmsg)
    type(jd_sharding), intent(in) :: sharding
    type(*), dimension(..), intent(in) :: shape
    type(jd_device), intent(in) :: device
    integer(c_int64_t), intent(inout), contiguous :: first(:), last(:)
    integer(c_int), intent(inout), optional :: replica_id
    include "outcome.inc"
    integer(c_int) :: status
    call c_sharding_index(sharding, shape, device%c, first, last, replica_id, &
      status)
    call end_call("jd_sharding_index", status, stat, errmsg)
  end subroutine jd_sharding_index

  ! Draws which device has which block, to a unit or the program's output.
  subroutine jd_visualize_sharding(sharding, shape, unit, stat, errmsg)
    type(jd_sharding), intent(in) :: sharding
    type(*), dimension(..), intent(in) :: shape
    integer, intent(in), optional :: unit
    include "outcome.inc"
    integer(c_int) :: status
    character(len=:, kind=c_char), allocatable :: picture
    picture = ""
    call c_visualize_sharding(sharding, shape, picture, status)
    if (status == jd_ok) call write_lines(picture, unit)
    call end_call("jd_visualize_sharding", status, stat, errmsg)
  end subroutine jd_visualize_sharding

  ! Draws the same in SVG.
  subroutine jd_visualize_sharding_svg(sharding, shape, unit, stat, errmsg)
    type(jd_sharding), intent(in) :: sharding
    type(*), dimension(..), intent(in) :: shape
    integer, intent(in), optional :: unit
    include "outcome.inc"
    integer(c_int) :: status
    character(len=:, kind=c_char), allocatable :: picture
    picture = ""
    call c_visualize_sharding_svg(sharding, shape, picture, status)
    if (status == jd_ok) call write_lines(picture, unit)
    call end_call("jd_visualize_sharding_svg", status, stat, errmsg)
  end subroutine jd_visualize_sharding_svg

end module jdf_sharding

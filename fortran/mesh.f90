! SPDX-License-Identifier: BSD-3-Clause
!
! mesh.f90 - devices, meshes of them, and a device's place in one: jd_device.h,
! jd_mesh.h and jd_shard.h.
!
! The axes of a mesh are in C's order: devices that follow each other in the
! list are neighbours along the last one. Indices along axes begin at 0.
module jdf_mesh
  use, intrinsic :: iso_c_binding
  use jdf_devices, only: device_at, devices_of
  use jdf_outcomes, only: end_call
  use jdf_texts, only: text_of, write_lines
  use jdf_types
  implicit none
  private
  public :: jd_devices, jd_local_devices, jd_platform_devices
  public :: jd_device_count, jd_local_device_count
  public :: jd_mesh_create, jd_mesh_shape, jd_mesh_destroy, jd_mesh_visualize
  public :: jd_mesh_set_nccl
  public :: jd_mesh_visualize_svg
  public :: jd_mesh_ndim, jd_mesh_axis_names, jd_mesh_axis_sizes
  public :: jd_mesh_devices, jd_mesh_local_devices
  public :: jd_mesh_shard, jd_shard_map, jd_shard_body, jd_shard_groups
  public :: jd_axis_index, jd_axis_size
  public :: jd_shard_coordinates, jd_shard_device

  abstract interface
    ! What jd_shard_map runs: a stat that is not jd_ok ends the others, and
    ! jd_fail_with says why. Where a process has several devices it runs in
    ! several threads at once.
    subroutine jd_shard_body(shard, arg, stat)
      import :: jd_shard, c_int
      type(jd_shard), intent(in) :: shard
      class(*), intent(inout) :: arg
      integer(c_int), intent(inout) :: stat
    end subroutine jd_shard_body
  end interface

  type :: body_context
    procedure(jd_shard_body), pointer, nopass :: body => null()
    class(*), pointer :: arg => null()
  end type body_context

  ! A mesh of all devices, or of those in the list.
  interface jd_mesh_create
    subroutine jd_mesh_create_of_all(mesh, shape, axis_names, stat, errmsg) &
      bind(C, name="jdf_mesh_create")
      import :: jd_mesh, c_int, c_char
      type(jd_mesh), intent(inout) :: mesh
      integer(c_int), intent(in), contiguous :: shape(:)
      character(len=*, kind=c_char), intent(in) :: axis_names(:)
      include "outcome.inc"
    end subroutine jd_mesh_create_of_all
    procedure create_of_some
  end interface jd_mesh_create

  interface

    integer(c_int) function jd_device_count(stat, errmsg) &
      bind(C, name="jdf_device_count")
      import :: c_int, c_char
      include "outcome.inc"
    end function jd_device_count

    integer(c_int) function jd_local_device_count(stat, errmsg) &
      bind(C, name="jdf_local_device_count")
      import :: c_int, c_char
      include "outcome.inc"
    end function jd_local_device_count

    ! Cuts n into the sizes of a mesh's axes; those that are 0 are filled in.
    subroutine jd_mesh_shape(n, shape, stat, errmsg) &
      bind(C, name="jdf_mesh_shape")
      import :: c_int, c_char
      integer(c_int), intent(in) :: n
      integer(c_int), intent(inout), contiguous :: shape(:)
      include "outcome.inc"
    end subroutine jd_mesh_shape

    ! Sets an option of NCCL, by NCCL's name, before the first collective.
    subroutine jd_mesh_set_nccl(mesh, name, value, stat, errmsg) &
      bind(C, name="jdf_mesh_set_nccl")
      import :: jd_mesh, c_int, c_char
      type(jd_mesh), intent(in) :: mesh
      character(len=*, kind=c_char), intent(in) :: name
      integer(c_int), intent(in) :: value
      include "outcome.inc"
    end subroutine jd_mesh_set_nccl

    integer(c_int) function jd_mesh_ndim(mesh, stat, errmsg) &
      bind(C, name="jdf_mesh_ndim")
      import :: jd_mesh, c_int, c_char
      type(jd_mesh), intent(in) :: mesh
      include "outcome.inc"
    end function jd_mesh_ndim

    ! Collective; the mesh is null then.
    subroutine jd_mesh_destroy(mesh) bind(C, name="jdf_mesh_destroy")
      import :: jd_mesh
      type(jd_mesh), intent(inout) :: mesh
    end subroutine jd_mesh_destroy

    ! The shard's index along the axes, from 0, and their size.
    integer(c_int) function jd_axis_index(shard, axes, stat, errmsg) &
      bind(C, name="jdf_axis_index")
      import :: jd_shard, c_int, c_char
      include "along.inc"
    end function jd_axis_index

    integer(c_int) function jd_axis_size(shard, axes, stat, errmsg) &
      bind(C, name="jdf_axis_size")
      import :: jd_shard, c_int, c_char
      include "along.inc"
    end function jd_axis_size

    subroutine jd_shard_coordinates(shard, coordinates, stat, errmsg) &
      bind(C, name="jdf_shard_coordinates")
      import :: jd_shard, c_int, c_char
      type(jd_shard), intent(in) :: shard
      integer(c_int), intent(inout), contiguous :: coordinates(:)
      include "outcome.inc"
    end subroutine jd_shard_coordinates

    ! A shard whose collectives are among the members of its group.
    subroutine jd_shard_groups( &
      group, shard, axes, group_sizes, indices, stat, errmsg) &
      bind(C, name="jdf_shard_groups")
      import :: jd_shard, c_int, c_char
      type(jd_shard), intent(inout) :: group
      integer(c_int), intent(in), contiguous :: group_sizes(:)
      integer(c_int), intent(in), contiguous :: indices(:)
      include "along.inc"
    end subroutine jd_shard_groups

    ! ---- what the procedures below call -----------------------------------

    subroutine c_mesh_create_on( &
      mesh, shape, axis_names, devices, stat) &
      bind(C, name="jdf_mesh_create_on")
      import :: jd_mesh, c_int, c_char, c_ptr
      type(jd_mesh), intent(inout) :: mesh
      integer(c_int), intent(in), contiguous :: shape(:)
      character(len=*, kind=c_char), intent(in) :: axis_names(:)
      type(c_ptr), intent(in), contiguous :: devices(:)
      integer(c_int), intent(out) :: stat
    end subroutine c_mesh_create_on

    type(c_ptr) function c_devices(count, stat) &
      bind(C, name="jdf_devices")
      import :: c_ptr, c_int, c_char
      integer(c_int), intent(out) :: count
      integer(c_int), intent(out) :: stat
    end function c_devices

    type(c_ptr) function c_local_devices(count, stat) &
      bind(C, name="jdf_local_devices")
      import :: c_ptr, c_int, c_char
      integer(c_int), intent(out) :: count
      integer(c_int), intent(out) :: stat
    end function c_local_devices

    type(c_ptr) function c_platform_devices(platform, count, stat) &
      bind(C, name="jdf_platform_devices")
      import :: c_ptr, c_int, c_char
      character(len=*, kind=c_char), intent(in) :: platform
      integer(c_int), intent(out) :: count
      integer(c_int), intent(out) :: stat
    end function c_platform_devices

    type(c_ptr) function c_mesh_devices(mesh, count, stat) &
      bind(C, name="jdf_mesh_devices")
      import :: jd_mesh, c_ptr, c_int, c_char
      type(jd_mesh), intent(in) :: mesh
      integer(c_int), intent(out) :: count
      integer(c_int), intent(out) :: stat
    end function c_mesh_devices

    type(c_ptr) function c_mesh_local_devices(mesh, count, stat) &
      bind(C, name="jdf_mesh_local_devices")
      import :: jd_mesh, c_ptr, c_int, c_char
      type(jd_mesh), intent(in) :: mesh
      integer(c_int), intent(out) :: count
      integer(c_int), intent(out) :: stat
    end function c_mesh_local_devices

    type(c_ptr) function c_mesh_axis_name(mesh, axis) &
      bind(C, name="jdf_mesh_axis_name")
      import :: jd_mesh, c_ptr, c_int
      type(jd_mesh), intent(in) :: mesh
      integer(c_int), intent(in) :: axis
    end function c_mesh_axis_name

    integer(c_int) function c_mesh_axis_size(mesh, axis) &
      bind(C, name="jdf_mesh_axis_size")
      import :: jd_mesh, c_int
      type(jd_mesh), intent(in) :: mesh
      integer(c_int), intent(in) :: axis
    end function c_mesh_axis_size

    subroutine c_mesh_visualize(mesh, picture, stat) &
      bind(C, name="jdf_mesh_visualize")
      import :: jd_mesh, c_int, c_char
      type(jd_mesh), intent(in) :: mesh
      character(len=:, kind=c_char), allocatable, intent(out) :: picture
      integer(c_int), intent(out) :: stat
    end subroutine c_mesh_visualize

    subroutine c_mesh_visualize_svg(mesh, picture, stat) &
      bind(C, name="jdf_mesh_visualize_svg")
      import :: jd_mesh, c_int, c_char
      type(jd_mesh), intent(in) :: mesh
      character(len=:, kind=c_char), allocatable, intent(out) :: picture
      integer(c_int), intent(out) :: stat
    end subroutine c_mesh_visualize_svg

    subroutine c_mesh_shard(shard, mesh, stat) &
      bind(C, name="jdf_mesh_shard")
      import :: jd_mesh, jd_shard, c_int, c_char
      type(jd_shard), intent(inout) :: shard
      type(jd_mesh), intent(in) :: mesh
      integer(c_int), intent(out) :: stat
    end subroutine c_mesh_shard

    type(c_ptr) function c_shard_device(shard, stat) &
      bind(C, name="jdf_shard_device")
      import :: jd_shard, c_ptr, c_int, c_char
      type(jd_shard), intent(in) :: shard
      integer(c_int), intent(out) :: stat
    end function c_shard_device

    subroutine c_shard_map(mesh, run, context, stat) &
      bind(C, name="jdf_shard_map")
      import :: jd_mesh, c_funptr, c_ptr, c_int, c_char
      type(jd_mesh), intent(in) :: mesh
      type(c_funptr), value :: run
      type(c_ptr), value :: context
      integer(c_int), intent(out) :: stat
    end subroutine c_shard_map

  end interface

contains

  ! ---- devices ------------------------------------------------------------

  ! All devices of the default platform; those of this process; of another one.
  function jd_devices(stat, errmsg) result(devices)
    type(jd_device), allocatable :: devices(:)
    include "outcome.inc"
    integer(c_int) :: status
    type(c_ptr) :: list
    integer(c_int) :: n
    list = c_devices(n, status)
    devices = devices_of(list, n)
    call end_call("jd_devices", status, stat, errmsg)
  end function jd_devices

  function jd_local_devices(stat, errmsg) result(devices)
    type(jd_device), allocatable :: devices(:)
    include "outcome.inc"
    integer(c_int) :: status
    type(c_ptr) :: list
    integer(c_int) :: n
    list = c_local_devices(n, status)
    devices = devices_of(list, n)
    call end_call("jd_local_devices", status, stat, errmsg)
  end function jd_local_devices

  function jd_platform_devices(platform, stat, errmsg) result(devices)
    character(len=*), intent(in) :: platform
    type(jd_device), allocatable :: devices(:)
    include "outcome.inc"
    integer(c_int) :: status
    type(c_ptr) :: list
    integer(c_int) :: n
    list = c_platform_devices(platform, n, status)
    devices = devices_of(list, n)
    call end_call("jd_platform_devices", status, stat, errmsg)
  end function jd_platform_devices

  ! ---- meshes -------------------------------------------------------------

  ! The list has the devices at the mesh's places, the last axis first to move.
  subroutine create_of_some(mesh, shape, axis_names, devices, stat, errmsg)
    type(jd_mesh), intent(inout) :: mesh
    integer(c_int), intent(in) :: shape(:)
    character(len=*), intent(in) :: axis_names(:)
    type(jd_device), intent(in) :: devices(:)
    include "outcome.inc"
    integer(c_int) :: status
    type(c_ptr) :: list(size(devices))
    integer :: i
    do i = 1, size(devices)
      list(i) = devices(i)%c
    end do
    call c_mesh_create_on(mesh, shape, axis_names, list, status)
    call end_call("jd_mesh_create", status, stat, errmsg)
  end subroutine create_of_some

  ! The names have the length of the longest.
  function jd_mesh_axis_names(mesh, stat, errmsg) result(names)
    type(jd_mesh), intent(in) :: mesh
    character(len=:), allocatable :: names(:)
    include "outcome.inc"
    integer(c_int) :: status
    integer(c_int) :: i, n
    integer :: longest
    n = jd_mesh_ndim(mesh, status)
    longest = 0
    do i = 0, n - 1
      longest = max(longest, len(text_of(c_mesh_axis_name(mesh, i))))
    end do
    allocate (character(len=longest) :: names(n))
    do i = 0, n - 1
      names(i + 1) = text_of(c_mesh_axis_name(mesh, i))
    end do
    call end_call("jd_mesh_axis_names", status, stat, errmsg)
  end function jd_mesh_axis_names

  function jd_mesh_axis_sizes(mesh, stat, errmsg) result(sizes)
    type(jd_mesh), intent(in) :: mesh
    integer(c_int), allocatable :: sizes(:)
    include "outcome.inc"
    integer(c_int) :: status
    integer(c_int) :: i, n
    n = jd_mesh_ndim(mesh, status)
    allocate (sizes(n))
    do i = 0, n - 1
      sizes(i + 1) = c_mesh_axis_size(mesh, i)
    end do
    call end_call("jd_mesh_axis_sizes", status, stat, errmsg)
  end function jd_mesh_axis_sizes

  ! The devices at the mesh's places, and those of them of this process.
  function jd_mesh_devices(mesh, stat, errmsg) result(devices)
    type(jd_mesh), intent(in) :: mesh
    type(jd_device), allocatable :: devices(:)
    include "outcome.inc"
    integer(c_int) :: status
    type(c_ptr) :: list
    integer(c_int) :: n
    list = c_mesh_devices(mesh, n, status)
    devices = devices_of(list, n)
    call end_call("jd_mesh_devices", status, stat, errmsg)
  end function jd_mesh_devices

  function jd_mesh_local_devices(mesh, stat, errmsg) result(devices)
    type(jd_mesh), intent(in) :: mesh
    type(jd_device), allocatable :: devices(:)
    include "outcome.inc"
    integer(c_int) :: status
    type(c_ptr) :: list
    integer(c_int) :: n
    list = c_mesh_local_devices(mesh, n, status)
    devices = devices_of(list, n)
    call end_call("jd_mesh_local_devices", status, stat, errmsg)
  end function jd_mesh_local_devices

  ! Writes the mesh for a person, to a unit or the program's output.
  subroutine jd_mesh_visualize(mesh, unit, stat, errmsg)
    type(jd_mesh), intent(in) :: mesh
    integer, intent(in), optional :: unit
    include "outcome.inc"
    integer(c_int) :: status
    character(len=:, kind=c_char), allocatable :: picture
    picture = ""
    call c_mesh_visualize(mesh, picture, status)
    call write_lines(picture, unit)
    call end_call("jd_mesh_visualize", status, stat, errmsg)
  end subroutine jd_mesh_visualize

  ! Writes the same as a picture in SVG.
  subroutine jd_mesh_visualize_svg(mesh, unit, stat, errmsg)
    type(jd_mesh), intent(in) :: mesh
    integer, intent(in), optional :: unit
    include "outcome.inc"
    integer(c_int) :: status
    character(len=:, kind=c_char), allocatable :: picture
    picture = ""
    call c_mesh_visualize_svg(mesh, picture, status)
    call write_lines(picture, unit)
    call end_call("jd_mesh_visualize_svg", status, stat, errmsg)
  end subroutine jd_mesh_visualize_svg

  ! ---- shards -------------------------------------------------------------

  ! The shard of a process that has exactly one device in the mesh; a failure
  ! where it has none or several.
  function jd_mesh_shard(mesh, stat, errmsg) result(shard)
    type(jd_mesh), intent(in) :: mesh
    type(jd_shard) :: shard
    include "outcome.inc"
    integer(c_int) :: status
    call c_mesh_shard(shard, mesh, status)
    call end_call("jd_mesh_shard", status, stat, errmsg)
  end function jd_mesh_shard

  function jd_shard_device(shard, stat, errmsg) result(device)
    type(jd_shard), intent(in) :: shard
    type(jd_device) :: device
    include "outcome.inc"
    integer(c_int) :: status
    device = device_at(c_shard_device(shard, status))
    call end_call("jd_shard_device", status, stat, errmsg)
  end function jd_shard_device

  ! Runs the body for every device that this process has in the mesh.
  subroutine jd_shard_map(mesh, body, arg, stat, errmsg)
    type(jd_mesh), intent(in) :: mesh
    procedure(jd_shard_body) :: body
    class(*), intent(inout), target, optional :: arg
    include "outcome.inc"
    integer(c_int) :: status
    type(body_context), target :: context
    type(c_funptr) :: run
    type(c_ptr) :: where
    integer, target :: nothing
    nothing = 0
    context%body => body
    context%arg => nothing
    if (present(arg)) context%arg => arg
    run = c_funloc(run_body)
    where = c_loc(context)
    call c_shard_map(mesh, run, where, status)
    call end_call("jd_shard_map", status, stat, errmsg)
  end subroutine jd_shard_map

  ! One body, on its thread.
  subroutine run_body(shard, context, stat) bind(C)
    type(jd_shard), intent(in) :: shard
    type(c_ptr), value :: context
    integer(c_int), intent(inout) :: stat
    type(body_context), pointer :: it
    call c_f_pointer(context, it)
    call it%body(shard, it%arg, stat)
  end subroutine run_body

end module jdf_mesh

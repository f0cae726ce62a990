! SPDX-License-Identifier: BSD-3-Clause
!
! test_process.f90 - processes, devices, meshes, shards, failures and MPI, with
! any number of processes and JD_NUM_CPU_DEVICES of 1 or 2.
module bodies
  use, intrinsic :: iso_c_binding, only: c_int
  use jd
  implicit none
  private
  public :: sum_up

contains

  ! The first of this process's bodies leaves the sum in arg.
  subroutine sum_up(shard, arg, stat)
    type(jd_shard), intent(in) :: shard
    class(*), intent(inout) :: arg
    integer(c_int), intent(inout) :: stat
    integer :: total
    total = 1
    call jd_psum(shard, "data", total, stat=stat)
    if (jd_axis_index(shard, "data") /= &
      jd_process_index() * jd_local_device_count()) return
    select type (arg)
    type is (integer)
      arg = total
    end select
  end subroutine sum_up

end module bodies

program test_process
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int64
  use bodies
  use expectations
  use jd
  implicit none
  type(jd_mesh) :: mesh, other
  type(jd_device), allocatable :: all(:), mine(:)
  integer :: stat, n

  call expect(.not. logical(jd_is_initialized()), "not initialised at the start")
  call jd_initialize(num_processes=-3, stat=stat)
  call expect_failure(stat, jd_invalid_argument, "num_processes")
  call jd_initialize(initialization_timeout=60d0, heartbeat_timeout=100d0)
  call expect(logical(jd_is_initialized()), "initialised")
  n = jd_device_count()
  call look_at_devices()
  call look_at_a_mesh()
  call look_at_shards()
  call run_bodies()
  call name_things()
  call jd_mesh_destroy(mesh)
  call end_test()

contains

  subroutine look_at_devices()
    all = jd_devices()
    mine = jd_local_devices()
    call expect(size(all) == n, "jd_devices")
    call expect(size(mine) == jd_local_device_count(), "jd_local_devices")
    call expect(mine(1)%process_index == jd_process_index(), "its process")
    call expect(mine(1)%id == int(jd_process_index(), int64) * 2**17, "its id")
    call expect(mine(1)%platform == "cpu", "its platform")
    call expect(len(mine(1)%host) > 0 .and. mine(1)%local_ordinal == 0, "host")
    call expect(size(jd_platform_devices("cpu  ")) == n, "jd_platform_devices")
    all = jd_platform_devices("abacus", stat=stat)
    call expect_failure(stat, jd_not_found, "abacus")
    call expect(size(all) == 0, "no devices of an unknown platform")
  end subroutine look_at_devices

  subroutine look_at_a_mesh()
    integer(c_int) :: shape(2), k
    character(len=80) :: line
    integer :: unit, failure
    all = jd_devices()
    shape = [0, 1]
    call jd_mesh_shape(n, shape)
    call expect(shape(1) == n, "jd_mesh_shape")
    call jd_mesh_create(mesh, [1, n], [character(len=8) :: "a", "data"])
    call expect(jd_mesh_ndim(mesh) == 2, "jd_mesh_ndim")
    call expect(all_equal(jd_mesh_axis_sizes(mesh), [1, n]), "axis sizes")
    associate (names => jd_mesh_axis_names(mesh))
      call expect(size(names) == 2 .and. len(names) == 4, "axis names")
      call expect(names(1) == "a" .and. names(2) == "data", "axis names")
    end associate
    call expect(size(jd_mesh_devices(mesh)) == n, "jd_mesh_devices")
    call expect(size(jd_mesh_local_devices(mesh)) == size(mine), "local ones")
    call jd_mesh_create(other, [n], ["x"], [(all(k), k=n, 1, -1)])
    associate (turned => jd_mesh_devices(other))
      call expect(turned(1)%id == all(n)%id, "a mesh of a list of devices")
    end associate
    call jd_mesh_destroy(other)
    call jd_mesh_create(other, [n + 1], ["x"], all, stat=stat)
    call expect_failure(stat, jd_invalid_argument, "places, and devices has")
    call jd_mesh_create(other, [n, 1], ["x"], stat=stat)
    call expect_failure(stat, jd_invalid_argument, &
      "shape has 2 sizes and axis_names 1 names")
    call expect(jd_is_null(other), "no mesh after a failure")
    call expect(jd_mesh_ndim(other, stat=stat) == 0 .and. stat /= jd_ok, "null")
    call jd_mesh_set_nccl(mesh, "minCTAs", 4)
    call jd_mesh_set_nccl(mesh, "maxCTAs", 3, stat=stat)
    call expect_failure(stat, jd_invalid_argument, "would be 4 and maxCTAs 3")
    open (newunit=unit, status="scratch", action="readwrite")
    call jd_mesh_visualize(mesh, unit)
    rewind (unit)
    read (unit, "(a)", iostat=failure) line
    call expect(failure == 0, "a picture")
    call expect_text(line, 'mesh "a" 1 x "data"')
    close (unit)
    open (newunit=unit, status="scratch", action="readwrite")
    call jd_mesh_visualize_svg(mesh, unit)
    rewind (unit)
    read (unit, "(a)", iostat=failure) line
    call expect(failure == 0, "a picture in SVG")
    call expect_text(line, '<svg ')
    close (unit)
  end subroutine look_at_a_mesh

  logical function all_equal(a, b)
    integer, intent(in) :: a(:), b(:)
    all_equal = size(a) == size(b)
    if (all_equal) all_equal = maxval(abs(a - b)) == 0
  end function all_equal

  subroutine look_at_shards()
    type(jd_shard) :: me, group
    type(jd_device) :: device
    integer(c_int) :: place(2), k, total
    me = jd_mesh_shard(mesh, stat=stat)
    if (size(mine) > 1) then
      call expect_failure(stat, jd_failed_precondition, "jd_shard_map")
      call expect(jd_is_null(me), "no shard of several")
      return
    end if
    call expect(jd_axis_size(me, "a,data") == n, "jd_axis_size")
    call expect(jd_axis_index(me, jd_all_axes) == jd_process_index(), "index")
    call expect(jd_axis_index(me, "b", stat=stat) == -1, "an unknown axis")
    call expect_failure(stat, jd_invalid_argument, '"b"')
    call jd_shard_coordinates(me, place)
    call expect(all_equal(place, [0, jd_process_index()]), "its place")
    device = jd_shard_device(me)
    call expect(device%id == mine(1)%id, "jd_shard_device")
    call jd_shard_groups(group, me, "data", [(1, k=1, n)], [(k, k=0, n - 1)])
    total = 5
    call jd_psum(group, "data", total)
    call expect(total == 5, "the sum of a group of one")
    call jd_shard_groups(group, me, "data", [n], [0], stat=stat)
    if (n > 1) call expect_failure(stat, jd_invalid_argument, "add up to")
  end subroutine look_at_shards

  subroutine run_bodies()
    procedure(jd_shard_body), pointer :: body
    integer :: total
    total = 0
    body => sum_up
    call jd_shard_map(mesh, body, total)
    call expect(total == n, "what a body leaves in its argument")
    call jd_shard_map(mesh, sum_up)
  end subroutine run_bodies

  subroutine name_things()
    real(c_double) :: before
    before = jd_wtime()
    call expect(jd_status_name(jd_data_loss) == "DATA_LOSS", "jd_status_name")
    call expect(jd_dtype_name(jd_bf16) == "BF16", "jd_dtype_name")
    call expect(jd_dtype_size(jd_c128) == 16, "jd_dtype_size")
    call expect_text(jd_version(), ".")
    call expect(jd_wtime() >= before, "jd_wtime")
    call jd_trace_begin("a range of Fortran")
    call jd_trace_end()
    call jd_trace_end(stat=stat)
    call expect_failure(stat, jd_failed_precondition, "jd_trace_end")
    call jd_sync_global_devices("a name   ")
  end subroutine name_things

end program test_process

! SPDX-License-Identifier: BSD-3-Clause
!
! arrays.f90 - arrays that are spread over the devices of a mesh, in Fortran's
! order of dimensions: the arrays of jd_array.h.
!
!     call jd_sharding_create(rows, mesh, "data,-")
!     call jd_device_put(array, x, rows)
module jdf_arrays
  use, intrinsic :: iso_c_binding
  use jdf_devices, only: device_at
  use jdf_outcomes, only: end_call
  use jdf_texts, only: write_lines
  use jdf_types
  implicit none
  private
  public :: jd_array_zeros, jd_array_from_callback, jd_fill_body
  public :: jd_array_from_process_local_data, jd_array_from_shards
  public :: jd_array_from_one
  public :: jd_device_put, jd_array_retain, jd_array_release
  public :: jd_array_dtype, jd_array_ndim, jd_array_shape, jd_array_sharding
  public :: jd_array_shards, jd_array_to_host
  public :: jd_array_reshard, jd_array_reshard_donate
  public :: jd_process_allgather_array, jd_process_gather_array
  public :: jd_array_assert_replicas_equal
  public :: jd_host_local_array_to_global_array
  public :: jd_global_array_to_host_local_array
  public :: jd_visualize_array_sharding, jd_visualize_array_sharding_svg

  abstract interface
    ! What jd_array_from_callback runs for each block: it sets the elements at
    ! block%data. A stat that is not jd_ok ends the call.
    subroutine jd_fill_body(block, arg, stat)
      import :: jd_block, c_int
      type(jd_block), intent(in) :: block
      class(*), intent(inout) :: arg
      integer(c_int), intent(inout) :: stat
    end subroutine jd_fill_body
  end interface

  type :: fill_context
    procedure(jd_fill_body), pointer, nopass :: fill => null()
    class(*), pointer :: arg => null()
  end type fill_context

  interface

    ! dtype: jd_f32 and so on.
    subroutine jd_array_zeros(array, sharding, shape, dtype, stat, errmsg) &
      bind(C, name="jdf_array_zeros")
      import :: jd_array, jd_sharding, c_int, c_char
      type(jd_array), intent(inout) :: array
      type(jd_sharding), intent(in) :: sharding
      type(*), dimension(..), intent(in) :: shape
      integer(c_int), intent(in) :: dtype
      include "outcome.inc"
    end subroutine jd_array_zeros

    ! An array of what each process has; without global_shape it is worked out.
    subroutine jd_array_from_process_local_data( &
      array, sharding, local, global_shape, dtype, stat, errmsg) &
      bind(C, name="jdf_array_from_local")
      import :: jd_array, jd_sharding, c_int, c_char
      type(jd_array), intent(inout) :: array
      type(jd_sharding), intent(in) :: sharding
      type(*), dimension(..), intent(in) :: local
      type(*), dimension(..), intent(in), optional :: global_shape
      integer(c_int), intent(in), optional :: dtype
      include "outcome.inc"
    end subroutine jd_array_from_process_local_data

    ! Of blocks from jd_device_alloc, which are the array's then.
    subroutine jd_array_from_shards( &
      array, sharding, shape, dtype, buffers, stat, errmsg) &
      bind(C, name="jdf_array_from_shards")
      import :: jd_array, jd_sharding, c_ptr, c_int, c_char
      type(jd_array), intent(inout) :: array
      type(jd_sharding), intent(in) :: sharding
      type(*), dimension(..), intent(in) :: shape
      integer(c_int), intent(in) :: dtype
      type(c_ptr), intent(in), contiguous :: buffers(:)
      include "outcome.inc"
    end subroutine jd_array_from_shards

    ! A value that process source alone has; the others give its shape and
    ! dtype.
    subroutine jd_array_from_one( &
      array, sharding, source, value, shape, dtype, stat, errmsg) &
      bind(C, name="jdf_array_from_one")
      import :: jd_array, jd_sharding, c_int, c_char
      type(jd_array), intent(inout) :: array
      type(jd_sharding), intent(in) :: sharding
      integer(c_int), intent(in) :: source
      type(*), dimension(..), intent(in), optional :: value
      type(*), dimension(..), intent(in), optional :: shape
      integer(c_int), intent(in), optional :: dtype
      include "outcome.inc"
    end subroutine jd_array_from_one

    ! A value that every process has.
    subroutine jd_device_put(array, value, sharding, dtype, stat, errmsg) &
      bind(C, name="jdf_device_put")
      import :: jd_array, jd_sharding, c_int, c_char
      type(jd_array), intent(inout) :: array
      type(*), dimension(..), intent(in) :: value
      type(jd_sharding), intent(in) :: sharding
      integer(c_int), intent(in), optional :: dtype
      include "outcome.inc"
    end subroutine jd_device_put

    ! One reference more, for a copy of the handle; and one less.
    subroutine jd_array_retain(array) bind(C, name="jdf_array_retain")
      import :: jd_array
      type(jd_array), intent(in) :: array
    end subroutine jd_array_retain

    subroutine jd_array_release(array) bind(C, name="jdf_array_release")
      import :: jd_array
      type(jd_array), intent(inout) :: array
    end subroutine jd_array_release

    integer(c_int) function jd_array_dtype(array) &
      bind(C, name="jdf_array_dtype")
      import :: jd_array, c_int
      type(jd_array), intent(in) :: array
    end function jd_array_dtype

    integer(c_int) function jd_array_ndim(array) bind(C, name="jdf_array_ndim")
      import :: jd_array, c_int
      type(jd_array), intent(in) :: array
    end function jd_array_ndim

    subroutine c_array_sharding(array, sharding) &
      bind(C, name="jdf_array_sharding")
      import :: jd_array, jd_sharding
      type(jd_array), intent(in) :: array
      type(jd_sharding), intent(inout) :: sharding
    end subroutine c_array_sharding

    ! The whole array, of which this process has all.
    subroutine jd_array_to_host(array, out, dtype, stat, errmsg) &
      bind(C, name="jdf_array_to_host")
      import :: jd_array, c_int, c_char
      type(jd_array), intent(in) :: array
      type(*), dimension(..), intent(inout) :: out
      integer(c_int), intent(in), optional :: dtype
      include "outcome.inc"
    end subroutine jd_array_to_host

    ! An array of the same value that lies as the sharding says.
    subroutine jd_array_reshard(moved, array, sharding, stat, errmsg) &
      bind(C, name="jdf_array_reshard")
      import :: jd_array, jd_sharding, c_int, c_char
      type(jd_array), intent(inout) :: moved
      type(jd_array), intent(in) :: array
      type(jd_sharding), intent(in) :: sharding
      include "outcome.inc"
    end subroutine jd_array_reshard

    ! The same in the array's place.
    subroutine jd_array_reshard_donate(array, sharding, stat, errmsg) &
      bind(C, name="jdf_array_reshard_donate")
      import :: jd_array, jd_sharding, c_int, c_char
      type(jd_array), intent(inout) :: array
      type(jd_sharding), intent(in) :: sharding
      include "outcome.inc"
    end subroutine jd_array_reshard_donate

    ! The whole array, on each process.
    subroutine jd_process_allgather_array(array, out, dtype, stat, errmsg) &
      bind(C, name="jdf_process_allgather_array")
      import :: jd_array, c_int, c_char
      type(jd_array), intent(in) :: array
      type(*), dimension(..), intent(inout) :: out
      integer(c_int), intent(in), optional :: dtype
      include "outcome.inc"
    end subroutine jd_process_allgather_array

    ! The same on process root alone; the others need no out.
    subroutine jd_process_gather_array(array, root, out, dtype, stat, errmsg) &
      bind(C, name="jdf_process_gather_array")
      import :: jd_array, c_int, c_char
      type(jd_array), intent(in) :: array
      integer(c_int), intent(in) :: root
      type(*), dimension(..), intent(inout), optional :: out
      integer(c_int), intent(in), optional :: dtype
      include "outcome.inc"
    end subroutine jd_process_gather_array

    ! Checks that devices that have the same block hold the same in it.
    subroutine jd_array_assert_replicas_equal( &
      array, what, bitwise, nan_differs, absolute, relative, stat, errmsg) &
      bind(C, name="jdf_assert_replicas_equal")
      import :: jd_array, c_int, c_char, c_bool, c_double
      type(jd_array), intent(in) :: array
      character(len=*, kind=c_char), intent(in), optional :: what
      logical(c_bool), intent(in), optional :: bitwise, nan_differs
      real(c_double), intent(in), optional :: absolute, relative
      include "outcome.inc"
    end subroutine jd_array_assert_replicas_equal

    ! Between what this process's devices have together and an array of all.
    subroutine jd_host_local_array_to_global_array( &
      array, local, mesh, spec, dtype, stat, errmsg) &
      bind(C, name="jdf_local_to_global")
      import :: jd_array, jd_mesh, c_int, c_char
      type(jd_array), intent(inout) :: array
      type(*), dimension(..), intent(in) :: local
      type(jd_mesh), intent(in) :: mesh
      character(len=*, kind=c_char), intent(in) :: spec
      integer(c_int), intent(in), optional :: dtype
      include "outcome.inc"
    end subroutine jd_host_local_array_to_global_array

    subroutine jd_global_array_to_host_local_array( &
      array, mesh, spec, out, dtype, stat, errmsg) &
      bind(C, name="jdf_global_to_local")
      import :: jd_array, jd_mesh, c_int, c_char
      type(jd_array), intent(in) :: array
      type(jd_mesh), intent(in) :: mesh
      character(len=*, kind=c_char), intent(in) :: spec
      type(*), dimension(..), intent(inout) :: out
      integer(c_int), intent(in), optional :: dtype
      include "outcome.inc"
    end subroutine jd_global_array_to_host_local_array

    ! ---- what the procedures below call -----------------------------------

    subroutine c_array_from_callback( &
      array, sharding, shape, dtype, run, context, stat) &
      bind(C, name="jdf_array_from_callback")
      import :: jd_array, jd_sharding, c_funptr, c_ptr, c_int
      type(jd_array), intent(inout) :: array
      type(jd_sharding), intent(in) :: sharding
      type(*), dimension(..), intent(in) :: shape
      integer(c_int), intent(in) :: dtype
      type(c_funptr), value :: run
      type(c_ptr), value :: context
      integer(c_int), intent(out) :: stat
    end subroutine c_array_from_callback

    integer(c_int64_t) function c_array_length(array, dim) &
      bind(C, name="jdf_array_length")
      import :: jd_array, c_int, c_int64_t
      type(jd_array), intent(in) :: array
      integer(c_int), intent(in) :: dim
    end function c_array_length

    integer(c_int) function c_num_shards(array) &
      bind(C, name="jdf_array_num_shards")
      import :: jd_array, c_int
      type(jd_array), intent(in) :: array
    end function c_num_shards

    type(c_ptr) function c_array_shard( &
      array, i, first, last, replica_id, data) bind(C, name="jdf_array_shard")
      import :: jd_array, c_ptr, c_int, c_int64_t
      type(jd_array), intent(in) :: array
      integer(c_int), intent(in) :: i
      integer(c_int64_t), intent(inout), contiguous :: first(:), last(:)
      integer(c_int), intent(out) :: replica_id
      type(c_ptr), intent(out) :: data
    end function c_array_shard

    subroutine c_visualize_array(array, picture, stat) &
      bind(C, name="jdf_visualize_array")
      import :: jd_array, c_int, c_char
      type(jd_array), intent(in) :: array
      character(len=:, kind=c_char), allocatable, intent(out) :: picture
      integer(c_int), intent(out) :: stat
    end subroutine c_visualize_array

    subroutine c_visualize_array_svg(array, picture, stat) &
      bind(C, name="jdf_visualize_array_svg")
      import :: jd_array, c_int, c_char
      type(jd_array), intent(in) :: array
      character(len=:, kind=c_char), allocatable, intent(out) :: picture
      integer(c_int), intent(out) :: stat
    end subroutine c_visualize_array_svg

  end interface

contains

  ! Makes an array of the blocks that fill sets, once for each distinct one of
  ! this process's devices.
  subroutine jd_array_from_callback( &
    array, sharding, shape, dtype, fill, arg, stat, errmsg)
    type(jd_array), intent(inout) :: array
    type(jd_sharding), intent(in) :: sharding
    type(*), dimension(..), intent(in) :: shape
    integer(c_int), intent(in) :: dtype
    procedure(jd_fill_body) :: fill
    class(*), intent(inout), target, optional :: arg
    include "outcome.inc"
    integer(c_int) :: status
    type(fill_context), target :: context
    integer, target :: nothing
    nothing = 0
    context%fill => fill
    context%arg => nothing
    if (present(arg)) context%arg => arg
    call c_array_from_callback(array, sharding, shape, dtype, &
      c_funloc(run_fill), c_loc(context), status)
    call end_call("jd_array_from_callback", status, stat, errmsg)
  end subroutine jd_array_from_callback

  subroutine run_fill(context, ndim, first, last, data, stat) bind(C)
    type(c_ptr), value :: context
    integer(c_int), value :: ndim
    integer(c_int64_t), intent(in) :: first(ndim), last(ndim)
    type(c_ptr), value :: data
    integer(c_int), intent(inout) :: stat
    type(fill_context), pointer :: it
    type(jd_block) :: block
    call c_f_pointer(context, it)
    block = block_of(first, last, data)
    call it%fill(block, it%arg, stat)
  end subroutine run_fill

  function block_of(first, last, data) result(block)
    integer(c_int64_t), intent(in) :: first(:), last(:)
    type(c_ptr), intent(in) :: data
    type(jd_block) :: block
    allocate (block%first(size(first)), source=first)
    allocate (block%last(size(last)), source=last)
    allocate (block%shape(size(first)), source=last - first + 1)
    block%count = product(block%shape)
    block%data = data
  end function block_of

  function jd_array_shape(array) result(shape)
    type(jd_array), intent(in) :: array
    integer(c_int64_t), allocatable :: shape(:)
    integer(c_int) :: i
    allocate (shape(max(jd_array_ndim(array), 0)))
    do i = 1, size(shape)
      shape(i) = c_array_length(array, i)
    end do
  end function jd_array_shape

  ! The array's own, which the program does not release.
  function jd_array_sharding(array) result(sharding)
    type(jd_array), intent(in) :: array
    type(jd_sharding) :: sharding
    call c_array_sharding(array, sharding)
  end function jd_array_sharding

  ! The blocks of this process's devices, in the mesh's order.
  function jd_array_shards(array) result(shards)
    type(jd_array), intent(in) :: array
    type(jd_array_shard), allocatable :: shards(:)
    integer(c_int64_t), allocatable :: first(:), last(:)
    type(c_ptr) :: data, device
    integer(c_int) :: i
    allocate (shards(c_num_shards(array)))
    allocate (first(max(jd_array_ndim(array), 0)))
    allocate (last(size(first)))
    do i = 1, size(shards)
      device = c_array_shard(array, i - 1, first, last, shards(i)%replica_id, &
        data)
      shards(i)%jd_block = block_of(first, last, data)
      shards(i)%device = device_at(device)
    end do
  end function jd_array_shards

  ! Draws which device has which block, to a unit or the program's output.
  subroutine jd_visualize_array_sharding(array, unit, stat, errmsg)
    type(jd_array), intent(in) :: array
    integer, intent(in), optional :: unit
    include "outcome.inc"
    integer(c_int) :: status
    character(len=:, kind=c_char), allocatable :: picture
    picture = ""
    call c_visualize_array(array, picture, status)
    if (status == jd_ok) call write_lines(picture, unit)
    call end_call("jd_visualize_array_sharding", status, stat, errmsg)
  end subroutine jd_visualize_array_sharding

  ! Draws the same in SVG.
  subroutine jd_visualize_array_sharding_svg(array, unit, stat, errmsg)
    type(jd_array), intent(in) :: array
    integer, intent(in), optional :: unit
    include "outcome.inc"
    integer(c_int) :: status
    character(len=:, kind=c_char), allocatable :: picture
    picture = ""
    call c_visualize_array_svg(array, picture, status)
    if (status == jd_ok) call write_lines(picture, unit)
    call end_call("jd_visualize_array_sharding_svg", status, stat, errmsg)
  end subroutine jd_visualize_array_sharding_svg

end module jdf_arrays

! SPDX-License-Identifier: BSD-3-Clause
!
! types.f90 - the constants and derived types of jd for Fortran.
!
! A handle is what C has a pointer to: assignment copies the handle and not the
! thing, and nothing is freed when a variable goes out of scope. Most of what
! frees is collective, and a final procedure runs where the compiler puts it, on
! one process sooner than on another; so each thing is given back by the call
! that C has for it, which leaves the handle as it was before (jd_is_null).
module jdf_types
  use, intrinsic :: iso_c_binding, only: c_associated, c_int, c_int64_t, &
    c_null_ptr, c_ptr
  implicit none
  private
  public :: jd_mesh, jd_shard, jd_route, jd_leaf, jd_device, jd_kv_entry
  public :: jd_sharding, jd_array, jd_block, jd_array_shard
  public :: jd_checkpoint, jd_request
  public :: jd_is_null

  ! Statuses, stat= of each call.
  integer(c_int), parameter, public :: &
    jd_ok = 0, jd_cancelled = 1, jd_unknown = 2, jd_invalid_argument = 3, &
    jd_deadline_exceeded = 4, jd_not_found = 5, jd_already_exists = 6, &
    jd_permission_denied = 7, jd_resource_exhausted = 8, &
    jd_failed_precondition = 9, jd_aborted = 10, jd_out_of_range = 11, &
    jd_unimplemented = 12, jd_internal = 13, jd_unavailable = 14, &
    jd_data_loss = 15, jd_unauthenticated = 16

  ! Types of elements, dtype= where Fortran has no such type.
  integer(c_int), parameter, public :: &
    jd_pred = 1, jd_s8 = 2, jd_s16 = 3, jd_s32 = 4, jd_s64 = 5, jd_u8 = 6, &
    jd_u16 = 7, jd_u32 = 8, jd_u64 = 9, jd_f16 = 10, jd_f32 = 11, &
    jd_f64 = 12, jd_c64 = 15, jd_bf16 = 16, jd_c128 = 18, jd_f8e5m2 = 19, &
    jd_f8e4m3fn = 20, jd_s4 = 21, jd_u4 = 22, jd_f8e4m3b11fnuz = 23, &
    jd_f8e5m2fnuz = 24, jd_f8e4m3fnuz = 25, jd_f8e4m3 = 28, &
    jd_f8e3m4 = 29, jd_f8e8m0fnu = 33

  ! The most dimensions that a sharded array has.
  integer(c_int), parameter, public :: jd_max_ndim = 8

  ! What jd_shift does beyond the ends of an axis.
  integer(c_int), parameter, public :: &
    jd_edge_wrap = 0, jd_edge_zero = 1, jd_edge_keep = 2

  ! What jd_scan reduces by, and of whom: those up to a member, or before it.
  integer(c_int), parameter, public :: &
    jd_op_sum = 0, jd_op_prod = 1, jd_op_max = 2, jd_op_min = 3, &
    jd_op_and = 4, jd_op_or = 5, jd_op_xor = 6
  integer(c_int), parameter, public :: &
    jd_scan_inclusive = 0, jd_scan_exclusive = 1

  ! All axes of a mesh, where C has NULL.
  character(len=*), parameter, public :: jd_all_axes = "*"

  integer(c_int), parameter, public :: &
    jd_version_major = 0, jd_version_minor = 1, jd_version_patch = 0

  ! Handles; c is what C's calls take.
  type, bind(C) :: jd_mesh
    type(c_ptr) :: c = c_null_ptr
  end type jd_mesh

  type, bind(C) :: jd_shard
    type(c_ptr) :: c = c_null_ptr
  end type jd_shard

  ! How arrays of ndim dimensions are cut; of any number where it is -1.
  type, bind(C) :: jd_sharding
    type(c_ptr) :: c = c_null_ptr
    integer(c_int) :: ndim = -1
  end type jd_sharding

  type, bind(C) :: jd_array
    type(c_ptr) :: c = c_null_ptr
  end type jd_array

  type, bind(C) :: jd_checkpoint
    type(c_ptr) :: c = c_null_ptr
  end type jd_checkpoint

  ! A call that was started, until jd_wait.
  type, bind(C) :: jd_request
    type(c_ptr) :: c = c_null_ptr
  end type jd_request

  ! From one member to another, by their indices along the axes, from 0.
  type, bind(C) :: jd_route
    integer(c_int) :: from
    integer(c_int) :: to
  end type jd_route

  ! An array of the program among several that travel together: jd_leaf_of.
  ! The shape is as C sees it, the last dimension first.
  type, bind(C) :: jd_leaf
    type(c_ptr) :: data = c_null_ptr
    integer(c_int) :: dtype = 0
    integer(c_int) :: ndim = 0
    integer(c_int64_t) :: shape(jd_max_ndim) = 0
  end type jd_leaf

  ! One device of the job, as C's jd_device; a copy, which stays.
  type :: jd_device
    integer(c_int64_t) :: id = -1
    integer(c_int) :: process_index = -1
    integer(c_int) :: local_ordinal = -1
    character(len=:), allocatable :: platform
    character(len=:), allocatable :: kind
    character(len=:), allocatable :: host
    integer(c_int) :: slice_index = -1
    integer(c_int) :: numa_node = -1
    character(len=:), allocatable :: pci_bus_id
    character(len=:), allocatable :: uuid
    integer(c_int64_t) :: memory_bytes = 0
    integer(c_int) :: index = -1 ! from 0, as in C
    type(c_ptr) :: c = c_null_ptr ! C's own, until jd_shutdown
  end type jd_device

  ! A key of the store and its value: text, or any bytes.
  type :: jd_kv_entry
    character(len=:), allocatable :: key
    character(len=:), allocatable :: value
  end type jd_kv_entry

  ! A block of a sharded array: its elements first(d) to last(d) of dimension d,
  ! from 1, and where they are: call c_f_pointer(block%data, x, block%shape).
  type :: jd_block
    integer(c_int64_t), allocatable :: first(:)
    integer(c_int64_t), allocatable :: last(:)
    integer(c_int64_t), allocatable :: shape(:)
    integer(c_int64_t) :: count = 0
    type(c_ptr) :: data = c_null_ptr
  end type jd_block

  ! One on a device of this process.
  type, extends(jd_block) :: jd_array_shard
    type(jd_device) :: device
    integer(c_int) :: replica_id = 0
  end type jd_array_shard

  interface jd_is_null
    procedure is_null_mesh, is_null_shard, is_null_sharding, is_null_array
    procedure is_null_request
  end interface jd_is_null

contains

  ! True for a handle that nothing was made of, or that was given back.
  elemental logical function is_null_mesh(mesh)
    type(jd_mesh), intent(in) :: mesh
    is_null_mesh = .not. c_associated(mesh%c)
  end function is_null_mesh

  elemental logical function is_null_shard(shard)
    type(jd_shard), intent(in) :: shard
    is_null_shard = .not. c_associated(shard%c)
  end function is_null_shard

  elemental logical function is_null_sharding(sharding)
    type(jd_sharding), intent(in) :: sharding
    is_null_sharding = .not. c_associated(sharding%c)
  end function is_null_sharding

  elemental logical function is_null_array(array)
    type(jd_array), intent(in) :: array
    is_null_array = .not. c_associated(array%c)
  end function is_null_array

  elemental logical function is_null_request(request)
    type(jd_request), intent(in) :: request
    is_null_request = .not. c_associated(request%c)
  end function is_null_request

end module jdf_types

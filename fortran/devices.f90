! SPDX-License-Identifier: BSD-3-Clause
!
! devices.f90 - C's devices as those of Fortran, for the modules' own use.
module jdf_devices
  use, intrinsic :: iso_c_binding
  use jdf_texts, only: text_of
  use jdf_types
  implicit none
  private
  public :: device_at, devices_of

  ! A device as C has it.
  type, bind(C) :: c_device
    integer(c_int64_t) :: id
    integer(c_int) :: process_index
    integer(c_int) :: local_ordinal
    type(c_ptr) :: platform
    type(c_ptr) :: kind
    type(c_ptr) :: host
    integer(c_int) :: slice_index
    integer(c_int) :: numa_node
    type(c_ptr) :: pci_bus_id
    type(c_ptr) :: uuid
    integer(c_int64_t) :: memory_bytes
    integer(c_int) :: index
  end type c_device

contains

  ! A copy of a device of C's.
  function device_at(from) result(device)
    type(c_ptr), intent(in) :: from
    type(jd_device) :: device
    type(c_device), pointer :: it
    if (.not. c_associated(from)) return
    call c_f_pointer(from, it)
    device%id = it%id
    device%process_index = it%process_index
    device%local_ordinal = it%local_ordinal
    device%platform = text_of(it%platform)
    device%kind = text_of(it%kind)
    device%host = text_of(it%host)
    device%slice_index = it%slice_index
    device%numa_node = it%numa_node
    device%pci_bus_id = text_of(it%pci_bus_id)
    device%uuid = text_of(it%uuid)
    device%memory_bytes = it%memory_bytes
    device%index = it%index
    device%c = from
  end function device_at

  function devices_of(list, n) result(devices)
    type(c_ptr), intent(in) :: list
    integer(c_int), intent(in) :: n
    type(jd_device), allocatable :: devices(:)
    type(c_ptr), pointer :: each(:)
    integer :: i
    allocate (devices(n))
    if (n == 0) return
    call c_f_pointer(list, each, [n])
    do i = 1, n
      devices(i) = device_at(each(i))
    end do
  end function devices_of

end module jdf_devices

! SPDX-License-Identifier: BSD-3-Clause
!
! test_memory.f90 - memory of devices, and conversions of elements, with any
! number of processes that have a device each.
program test_memory
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int16, int32, real32, real64
  use expectations
  use jd
  implicit none
  type(jd_mesh) :: mesh
  type(jd_shard) :: me
  type(jd_device), allocatable :: devices(:)
  integer :: n, i, stat

  call jd_initialize()
  call jd_mesh_create(mesh, [-1], ["x"])
  me = jd_mesh_shard(mesh)
  n = jd_axis_size(me, "x")
  i = jd_axis_index(me, "x")
  call use_memory()
  call refuse_memory()
  call convert()
  call refuse_conversions()
  call jd_mesh_destroy(mesh)
  call end_test()

contains

  subroutine use_memory()
    type(c_ptr) :: memory
    real(real64), pointer :: x(:, :)
    real(real64) :: mine(3, 4)
    memory = c_null_ptr
    call jd_device_alloc(jd_shard_device(me), 12 * c_sizeof(mine(1, 1)), memory)
    call c_f_pointer(memory, x, [3, 4])
    call expect(maxval(abs(x)) <= 0, "memory is zeros")
    mine = i + 1
    mine(3, 4) = 7
    call jd_device_copy(x, mine)
    call jd_psum(me, "x", x)
    mine = 0
    call jd_device_copy(mine, x)
    call expect(nint(mine(1, 1)) == n * (n + 1) / 2, "a sum there")
    call expect(nint(mine(3, 4)) == 7 * n, "its last element")
    call jd_device_copy(mine(:, 2), x(:, 4))
    call expect(nint(mine(3, 2)) == 7 * n, "a column of it")
    call jd_device_free(c_loc(x))
    call jd_device_free(memory, stat=stat)
    call expect_failure(stat, jd_invalid_argument, "jd_device_free")
    call jd_device_alloc(jd_shard_device(me), 0_c_size_t, memory)
    call expect(.not. c_associated(memory), "no bytes are a NULL")
    call jd_device_free(memory)
  end subroutine use_memory

  subroutine refuse_memory()
    type(jd_device) :: none
    type(c_ptr) :: memory
    integer :: a(4, 2), b(8)
    character(len=40) :: why
    a = 1
    b = 0
    memory = c_null_ptr
    devices = jd_devices()
    call jd_device_alloc(none, 8_c_size_t, memory, stat, why)
    call expect_failure(stat, jd_invalid_argument, "jd_device_alloc")
    call expect(why(:16) == "jd_device_alloc:", "errmsg= of it: " // why)
    if (n > 1) then
      call jd_device_alloc(devices(mod(i + 1, n) + 1), &
        8_c_size_t, memory, stat)
      call expect_failure(stat, jd_invalid_argument, "is one of process")
    end if
    call expect(.not. c_associated(memory), "no memory after a failure")
    call jd_device_copy(b, a(:, 1), stat=stat)
    call expect_failure(stat, jd_invalid_argument, &
      "jd_device_copy: to has 32 bytes and from 16")
    call jd_device_copy(b(:4), a(::2, :), stat=stat)
    call expect_failure(stat, jd_invalid_argument, &
      "jd_device_copy: from is a section that is not contiguous")
    call jd_device_copy(b(::2), a(:, 1), stat=stat)
    call expect_failure(stat, jd_invalid_argument, "jd_device_copy: to is a")
    call copy_without_end(a, b)
    call jd_device_copy(b(2:5), b(1:4), stat=stat)
    call expect_failure(stat, jd_invalid_argument, "jd_device_copy")
    call expect(all_are(b, 0), "nothing was copied")
  end subroutine refuse_memory

  logical function all_are(list, value)
    integer, intent(in) :: list(:), value
    all_are = all(list == value)
  end function all_are

  subroutine copy_without_end(a, b)
    integer, intent(in) :: a(*)
    integer, intent(inout) :: b(:)
    call jd_device_copy(b, a(1:8))
    b = 0
    call jd_device_copy(b, a, stat=stat)
    call expect_failure(stat, jd_invalid_argument, &
      "jd_device_copy: from is an assumed-size array")
  end subroutine copy_without_end

  subroutine convert()
    real(real32) :: x(2, 3)
    integer(int32) :: whole(2, 3), spread(4, 3)
    integer(int16) :: half(6)
    complex(real64) :: c(6)
    x = reshape([1.0, -2.75, 3.0, 0.5, 1e10, -0.0], [2, 3])
    whole = 0
    call jd_convert(x, whole)
    call expect(all(whole(:, 1) == [1, -2]), "to integers, towards zero")
    call expect(whole(1, 3) == huge(1), "the nearest that there is")
    spread = 9
    call jd_convert(x, spread(::2, :))
    call expect(all(spread(::2, :) == whole) .and. all(spread(2::2, :) == 9), &
      "into a section")
    half = 0
    call jd_convert(x, half, out_dtype=jd_bf16)
    call expect(half(1) == int(z"3f80", int16), "1 as bf16")
    call jd_convert(half, c, in_dtype=jd_bf16)
    call expect(nint(real(c(3))) == 3 .and. nint(aimag(c(3))) == 0, &
      "from bf16 to complex")
  end subroutine convert

  subroutine refuse_conversions()
    real(real32) :: x(4), y(5)
    x = 0
    y = 0
    call jd_convert(x, y, stat=stat)
    call expect_failure(stat, jd_invalid_argument, &
      "jd_convert: in has 4 elements and out 5")
    call jd_convert(x, y, in_dtype=jd_bf16, stat=stat)
    call expect_failure(stat, jd_invalid_argument, &
      "jd_convert: an element of in has 4 bytes")
    call jd_convert(x, y(:4), out_dtype=99, stat=stat)
    call expect_failure(stat, jd_invalid_argument, "dtype=99 is no type")
  end subroutine refuse_conversions

end program test_memory

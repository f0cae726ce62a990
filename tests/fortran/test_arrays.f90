! SPDX-License-Identifier: BSD-3-Clause
!
! test_arrays.f90 - sharded arrays in Fortran's order of dimensions, which C
! looks at too (look.c), with any number of processes and JD_NUM_CPU_DEVICES of 1
! or 2.
module filling
  use, intrinsic :: iso_c_binding
  use jd
  implicit none
  private
  public :: fill, number_at

contains

  elemental integer function number_at(i, j)
    integer(c_int64_t), intent(in) :: i, j
    number_at = int(100 * i + j)
  end function number_at

  ! arg counts the blocks; a negative one is a failure.
  subroutine fill(block, arg, stat)
    type(jd_block), intent(in) :: block
    class(*), intent(inout) :: arg
    integer(c_int), intent(inout) :: stat
    integer, pointer :: x(:, :)
    integer(c_int64_t) :: i, j
    call c_f_pointer(block%data, x, block%shape)
    do j = block%first(2), block%last(2)
      do i = block%first(1), block%last(1)
        x(i - block%first(1) + 1, j - block%first(2) + 1) = number_at(i, j)
      end do
    end do
    select type (arg)
    type is (integer)
      if (arg < 0) stat = jd_fail_with(jd_not_found, "no numbers for it")
      arg = arg + 1
    end select
  end subroutine fill

end module filling

program test_arrays
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int64
  use expectations
  use filling
  use jd
  implicit none
  integer(c_int64_t), parameter :: m = 5, n = 7
  type(jd_mesh) :: mesh
  type(jd_sharding) :: rows, columns, everywhere
  type(jd_device), allocatable :: mine(:)
  type(jd_array_shard), allocatable :: shards(:)
  integer :: x(m, n), devices, stat
  integer(c_int64_t) :: i, j

  interface
    integer(c_int) function look_at(array, m, n) bind(C)
      import :: c_int, c_int64_t, c_ptr
      type(c_ptr), value :: array
      integer(c_int64_t), value :: m, n
    end function look_at

    integer(c_int) function make_in_c(array, mesh, m, n) bind(C)
      import :: c_int, c_int64_t, c_ptr, jd_array
      type(jd_array), intent(inout) :: array
      type(c_ptr), value :: mesh
      integer(c_int64_t), value :: m, n
    end function make_in_c
  end interface

  call jd_initialize()
  devices = jd_device_count()
  call jd_mesh_create(mesh, [-1], ["data"])
  mine = jd_mesh_local_devices(mesh)
  x = reshape([((number_at(i, j), i=1, m), j=1, n)], [m, n])
  call jd_sharding_create(rows, mesh, "data", ndim=2)
  call jd_sharding_create(columns, mesh, "-,data")
  call jd_sharding_create(everywhere, mesh, "")
  call ask_shardings()
  call refuse_shardings()
  call put_and_move()
  call make_by_procedure()
  call make_of_parts()
  call take_of_one()
  call gather()
  call draw()
  call refuse()
  call jd_sharding_release(rows)
  call jd_sharding_release(columns)
  call jd_sharding_release(everywhere)
  call expect(jd_is_null(rows), "null when it is released")
  call jd_mesh_destroy(mesh)
  call end_test()

contains

  ! ---- shardings ----------------------------------------------------------

  subroutine ask_shardings()
    type(jd_sharding) :: other
    type(jd_mesh) :: like
    integer(c_int64_t) :: first(2), last(2), longest(2), each
    integer(c_int) :: replica
    call expect(jd_sharding_spec(rows) == "data", "the spec of rows")
    call expect(jd_sharding_spec(columns) == "-,data", "the spec of columns")
    call expect(jd_sharding_spec(everywhere) == "", "the spec of all")
    call expect(logical(jd_sharding_is_fully_replicated(everywhere)), "replicas")
    call expect(logical(jd_sharding_is_fully_addressable(rows)) .eqv. &
      jd_process_count() == 1, "addressable")
    call jd_sharding_create_even(other, mesh, "data,-")
    call expect(logical(jd_sharding_is_equivalent(rows, other, 2)), "the same")
    call expect(.not. logical(jd_sharding_is_equivalent(rows, other, 3)), "rank")
    call expect((devices == 1) .eqv. &
      logical(jd_sharding_is_equivalent(rows, columns, 2)), "others")
    each = (m + devices - 1) / devices
    call jd_sharding_shard_shape(rows, shape(x), longest)
    call expect(all(longest == [each, n]), "the longest block")
    call jd_sharding_index(rows, [m, n], mine(1), first, last, replica)
    call expect(first(1) == min(each * place(), m) + 1, "its first row")
    call expect(last(1) == min(each * (place() + 1), m), "its last row")
    call expect(first(2) == 1 .and. last(2) == n, "all columns")
    call expect(replica == 0, "no replica")
    call jd_sharding_index(rows, [m, n], mine(1), first, last)
    call jd_sharding_shard_shape(other, [devices + 1, 2], longest, stat=stat)
    if (devices > 1) call expect_failure(stat, jd_invalid_argument, "divide")
    call jd_sharding_release(other)
    call jd_sharding_mesh(like, rows)
    call expect(size(jd_mesh_devices(like)) == devices, "a mesh like its own")
    call jd_mesh_destroy(like)
  end subroutine ask_shardings

  ! Of this process's first device along the axis.
  integer function place()
    place = jd_process_index() * size(mine)
  end function place

  subroutine refuse_shardings()
    type(jd_sharding) :: none
    integer(c_int64_t) :: longest(2)
    character(len=:), allocatable :: spec
    call jd_sharding_create(none, mesh, "data,-,-", ndim=2, stat=stat)
    call expect_failure(stat, jd_invalid_argument, &
      'jd_sharding_create: the spec "data,-,-" has 3 entries, for arrays of 2')
    call jd_sharding_create(none, mesh, "nowhere,-", stat=stat)
    call expect_failure(stat, jd_invalid_argument, '"nowhere"')
    call jd_sharding_create(none, mesh, "data,", stat=stat)
    call expect_failure(stat, jd_invalid_argument, "empty")
    call jd_sharding_create_even(none, mesh, "data", ndim=9, stat=stat)
    call expect_failure(stat, jd_invalid_argument, "has at most 8")
    call expect(jd_is_null(none), "none is made")
    spec = jd_sharding_spec(none, stat=stat)
    call expect(stat == jd_invalid_argument .and. spec == "", "no spec of null")
    call jd_sharding_shard_shape(rows, [1, 2, 3], longest, stat=stat)
    call expect_failure(stat, jd_invalid_argument, &
      "the sharding is one of arrays of 2 dimensions, and this one has 3")
    call jd_sharding_shard_shape(rows, [1.0, 2.0], longest, stat=stat)
    call expect_failure(stat, jd_invalid_argument, "shape is no list of integers")
    call jd_sharding_shard_shape(rows, [1, 2], longest(:1), stat=stat)
    call expect_failure(stat, jd_invalid_argument, &
      "shard_shape has 1 elements, and shape 2")
  end subroutine refuse_shardings

  ! ---- arrays -------------------------------------------------------------

  ! Each block is a section of x; and C sees it too.
  subroutine expect_x(array, what)
    type(jd_array), intent(in) :: array
    character(len=*), intent(in) :: what
    integer, pointer :: block(:, :)
    integer :: k
    call expect(look_at(array%c, m, n) == 1, "C sees " // what)
    call expect(all(jd_array_shape(array) == [m, n]), "the shape of " // what)
    shards = jd_array_shards(array)
    call expect(size(shards) == size(mine), "the blocks of " // what)
    do k = 1, size(shards)
      call expect(shards(k)%device%id == mine(k)%id, "the device of " // what)
      if (shards(k)%count == 0) cycle
      call c_f_pointer(shards(k)%data, block, shards(k)%shape)
      associate (first => shards(k)%first, last => shards(k)%last)
        call expect(all(block == x(first(1):last(1), first(2):last(2))), &
          "a block of " // what)
      end associate
    end do
  end subroutine expect_x

  subroutine put_and_move()
    type(jd_array) :: a, b
    integer :: wide(2 * m, n)
    wide = 0
    wide(::2, :) = x
    call jd_device_put(a, x, rows)
    call expect_x(a, "rows")
    call expect(jd_array_dtype(a) == jd_s32 .and. jd_array_ndim(a) == 2, "type")
    call expect(jd_sharding_spec(jd_array_sharding(a)) == "data", "its spec")
    call jd_array_reshard(b, a, columns)
    call expect_x(b, "columns")
    call jd_array_release(b)
    call expect(jd_is_null(b), "null when it is released")
    call jd_device_put(b, wide(::2, :), columns)
    call expect_x(b, "a section")
    call jd_array_release(b)
    call jd_array_retain(a)
    b = a
    call jd_array_release(a)
    call jd_array_reshard_donate(b, everywhere)
    call expect_x(b, "replicas")
    call jd_array_assert_replicas_equal(b, "replicas")
    wide = 0
    call jd_array_to_host(b, wide(2::2, :))
    call expect(all(wide(2::2, :) == x) .and. all(wide(::2, :) == 0), &
      "into a section of the host")
    call jd_array_release(b)
    call jd_device_put(b, real(x), rows, dtype=jd_u32)
    call expect(jd_array_dtype(b) == jd_u32, "the type that is said")
    call jd_array_release(b)
  end subroutine put_and_move

  subroutine make_by_procedure()
    procedure(jd_fill_body), pointer :: body
    type(jd_array) :: a
    integer :: count
    body => fill
    count = 0
    call jd_array_from_callback(a, columns, [m, n], jd_s32, body, count)
    call expect_x(a, "what a procedure has set")
    call expect(count <= size(mine), "once for each block")
    call jd_array_release(a)
    call jd_array_from_callback(a, rows, shape(x), jd_s32, fill)
    call expect_x(a, "the same by rows")
    call jd_array_release(a)
    count = -9
    call jd_array_from_callback(a, everywhere, [m, n], jd_s32, fill, &
      count, stat=stat)
    call expect_failure(stat, jd_not_found, "no numbers for it")
    call expect(make_in_c(a, mesh%c, m, n) == jd_ok, "an array of C's")
    call expect_x(a, "an array of C's")
    call expect(jd_sharding_spec(jd_array_sharding(a)) == "data", "C's spec")
    call jd_array_release(a)
  end subroutine make_by_procedure

  subroutine make_of_parts()
    type(jd_array) :: a
    integer(c_int64_t) :: first(2), last(2), end(2)
    type(c_ptr) :: buffers(size(mine))
    integer :: k, local(3, 2)
    integer, pointer :: block(:, :)
    call jd_sharding_index(rows, [m, n], mine(1), first, last)
    call jd_sharding_index(rows, [m, n], mine(size(mine)), end, last)
    call jd_array_from_process_local_data(a, rows, x(first(1):last(1), :), &
      global_shape=[m, n])
    call expect_x(a, "local data")
    call jd_array_release(a)
    buffers = c_null_ptr
    do k = 1, size(mine)
      call jd_sharding_index(rows, [m, n], mine(k), first, last)
      if (last(1) < first(1)) cycle
      call jd_device_alloc(mine(k), (last(1) - first(1) + 1) * n * 4, buffers(k))
      call c_f_pointer(buffers(k), block, [last(1) - first(1) + 1, n])
      block = x(first(1):last(1), :)
    end do
    call jd_array_from_shards(a, rows, [m, n], jd_s32, buffers)
    call expect_x(a, "buffers")
    call jd_array_release(a)
    call jd_array_zeros(a, everywhere, shape(x), jd_s32)
    local = 7
    call jd_array_to_host(a, local, stat=stat)
    call expect(stat == jd_invalid_argument, "another shape")
    call jd_array_release(a)
    local = jd_process_index()
    call jd_host_local_array_to_global_array(a, local, mesh, "-,data")
    call expect(all(jd_array_shape(a) == [3, 2 * jd_process_count()]), "global")
    local = -1
    call jd_global_array_to_host_local_array(a, mesh, "-,data", local)
    call expect(all(local == jd_process_index()), "and local again")
    call jd_array_release(a)
  end subroutine make_of_parts

  subroutine take_of_one()
    type(jd_array) :: a
    integer :: wide(2 * m, n), last
    last = jd_process_count() - 1
    wide = 0
    wide(::2, :) = x
    if (jd_process_index() == last) then
      call jd_array_from_one(a, columns, last, wide(::2, :))
    else
      call jd_array_from_one(a, columns, last, shape=[m, n], dtype=jd_s32)
    end if
    call expect_x(a, "what one process has")
    call jd_array_release(a)
    call jd_array_from_one(a, columns, last, shape=[m, n], stat=stat)
    call expect_failure(stat, jd_invalid_argument, "gives shape and dtype")
    call jd_array_from_one(a, columns, -1, x, stat=stat)
    call expect_failure(stat, jd_invalid_argument, "source is -1")
    call jd_array_from_one(a, columns, 0, x(1, :), stat=stat)
    call expect_failure(stat, jd_invalid_argument, "and this one has 1")
  end subroutine take_of_one

  subroutine gather()
    type(jd_array) :: a
    integer :: y(m, n)
    logical :: is_root
    is_root = jd_process_index() == jd_process_count() - 1
    call jd_device_put(a, x, rows)
    y = 0
    call jd_process_allgather_array(a, y)
    call expect(all(y == x), "all of it on each process")
    y = 0
    if (is_root) then
      call jd_process_gather_array(a, jd_process_count() - 1, y)
    else
      call jd_process_gather_array(a, jd_process_count() - 1)
    end if
    call expect(all(y == x) .eqv. is_root, "all of it on one process")
    call jd_array_to_host(a, y, stat=stat)
    if (jd_process_count() > 1) &
      call expect_failure(stat, jd_failed_precondition, "jd_array_to_host")
    call jd_array_release(a)
  end subroutine gather

  ! The words are in what the unit has.
  subroutine expect_svg(unit, words)
    integer, intent(in) :: unit
    character(len=*), intent(in) :: words
    character(len=120) :: line
    integer :: at
    rewind (unit)
    at = 0
    line = ""
    do while (at == 0 .and. index(line, words) == 0)
      read (unit, "(a)", iostat=at) line
    end do
    call expect_text(line, words)
  end subroutine expect_svg

  ! The picture has Fortran's order: rows are the first dimension.
  subroutine draw()
    type(jd_array) :: a
    character(len=120) :: line
    integer :: unit
    call jd_device_put(a, x, columns)
    open (newunit=unit, status="scratch", action="readwrite")
    call jd_visualize_array_sharding(a, unit)
    call jd_visualize_sharding(rows, [m, n], unit)
    rewind (unit)
    read (unit, "(a)") line
    call expect_text(line, '[5,7] as "-,data"')
    do while (index(line, '[5,7] as "data"') == 0)
      read (unit, "(a)", iostat=stat) line
      if (stat /= 0) exit
    end do
    call expect_text(line, '[5,7] as "data"')
    call jd_visualize_array_sharding_svg(a, unit)
    call expect_svg(unit, '[5,7] as &quot;-,data&quot;')
    call jd_visualize_sharding_svg(rows, [m, n], unit)
    call expect_svg(unit, '[5,7] as &quot;data&quot;')
    close (unit)
    call jd_array_release(a)
  end subroutine draw

  subroutine refuse()
    type(jd_array) :: a
    character(len=30) :: why
    call jd_device_put(a, x(1, :), rows, stat=stat, errmsg=why)
    call expect_failure(stat, jd_invalid_argument, "and this one has 1")
    call expect(why(:14) == "jd_device_put:", why)
    call jd_array_zeros(a, rows, [-1, 2], jd_s32, stat=stat)
    call expect_failure(stat, jd_invalid_argument, "jd_array_zeros")
    call jd_array_zeros(a, rows, [1, 1, 1, 1, 1, 1, 1, 1, 1], jd_s32, stat=stat)
    call expect_failure(stat, jd_invalid_argument, "shape has 9 lengths")
    call jd_array_from_process_local_data(a, rows, x, [5], stat=stat)
    call expect_failure(stat, jd_invalid_argument, &
      "global_shape has 1 lengths, and local 2 dimensions")
    call jd_array_reshard(a, a, rows, stat=stat)
    call expect_failure(stat, jd_invalid_argument, "jd_array_reshard")
    call jd_visualize_array_sharding(a, stat=stat)
    call expect(stat == jd_invalid_argument, "no picture of null")
    call jd_host_local_array_to_global_array(a, x, mesh, "-,-,data", stat=stat)
    call expect_failure(stat, jd_invalid_argument, "has 3 entries")
    call expect(jd_is_null(a) .and. size(jd_array_shards(a)) == 0, "none made")
  end subroutine refuse

end program test_arrays

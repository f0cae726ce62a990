! SPDX-License-Identifier: BSD-3-Clause
!
! decks.f90 - the input deck: a text of settings, key=value, and of states, each
! a line that begins with "state" and says what is in some part of the box.
!
!     x_cells=60 y_cells=40          # settings, in any order
!     x_size=1.5
!     state density=1 energy=1       # the first one is everywhere
!     state density=1 energy=10 shape=circle x=0.75 y=0.5 radius=0.1
module decks
  use, intrinsic :: iso_fortran_env, only: real64
  use words
  implicit none
  private
  public :: problem, state, load_deck, parse_deck, min_block

  ! A block has at least so many cells along a side: its neighbours' frames.
  integer, parameter :: min_block = 3
  integer, parameter :: max_cells = 32768, max_text = 1000000

  ! ---- settings ------------------------------------------------------------

  integer, parameter :: num_keys = 12, name_length = 13
  integer, parameter :: x_cells = 1, y_cells = 2, x_size = 3, y_size = 4, &
    gamma = 5, end_time = 6, end_step = 7, report_every = 8, first_step = 9, &
    largest_step = 10, smallest_step = 11, growth = 12
  character(len=name_length), parameter :: keys(num_keys) = &
    [character(len=name_length) :: "x_cells", "y_cells", "x_size", "y_size", &
    "gamma", "end_time", "end_step", "report_every", "first_step", &
    "largest_step", "smallest_step", "growth"]
  real(real64), parameter :: tiny_number = 1e-30_real64
  real(real64), parameter :: large_number = 1e30_real64
  real(real64), parameter :: max_count = 1e9_real64

  ! The least and the greatest that a key can have, and what it has where the
  ! deck does not say; 0 is no value of any.
  real(real64), parameter :: least(num_keys) = [ &
    real(min_block, real64), real(min_block, real64), tiny_number, &
    tiny_number, 1.01_real64, tiny_number, 1.0_real64, 1.0_real64, &
    tiny_number, tiny_number, tiny_number, 1.0_real64]
  real(real64), parameter :: greatest(num_keys) = [ &
    real(max_cells, real64), real(max_cells, real64), large_number, &
    large_number, 10.0_real64, large_number, max_count, max_count, &
    large_number, large_number, large_number, 10.0_real64]
  real(real64), parameter :: defaults(num_keys) = [ &
    0.0_real64, 0.0_real64, 1.0_real64, 1.0_real64, 1.4_real64, &
    large_number, 100.0_real64, 10.0_real64, large_number, large_number, &
    1e-12_real64, 1.5_real64]
  logical, parameter :: is_whole(num_keys) = [ &
    .true., .true., .false., .false., .false., .false., .true., .true., &
    .false., .false., .false., .false.]

  ! ---- states --------------------------------------------------------------

  integer, parameter :: num_words = 11
  integer, parameter, public :: state_density = 1, state_energy = 2, &
    x_velocity = 3, y_velocity = 4, left = 5, right = 6, bottom = 7, top = 8, &
    centre_x = 9, centre_y = 10, radius = 11
  character(len=10), parameter :: state_words(num_words) = &
    [character(len=10) :: "density", "energy", "x_velocity", "y_velocity", &
    "left", "right", "bottom", "top", "x", "y", "radius"]
  integer, parameter, public :: everywhere = 0, rectangle = 1, circle = 2, &
    point = 3
  character(len=9), parameter :: shapes(3) = &
    [character(len=9) :: "rectangle", "circle", "point"]

  type :: state
    integer :: shape = everywhere
    real(real64) :: value(num_words) = 0
    logical :: is_given(num_words) = .false.
  end type state

  ! What a deck asks for.
  type :: problem
    character(len=:), allocatable :: deck    ! the file's name
    integer :: cells(2) = 0                  ! along x and y
    integer :: line_of_cells(2) = 0          ! of the deck
    real(real64) :: size(2) = 1              ! of the box, from 0
    real(real64) :: gamma = 1.4_real64
    real(real64) :: end_time = 0
    integer :: end_step = 0, report_every = 1
    real(real64) :: first_step = 0, largest_step = 0, smallest_step = 0
    real(real64) :: growth = 1               ! of a step over that before
    character(len=:), allocatable :: picture ! a file's name, if any
    type(state), allocatable :: states(:)    ! later ones over earlier ones
  end type problem

  ! A deck that is being read: where, what it has said, and what was wrong.
  type :: reader
    integer :: line = 0
    integer :: line_of(num_keys) = 0
    real(real64) :: value(num_keys) = defaults
    type(problem) :: asked
    character(len=:), allocatable :: why
  end type reader

contains

  ! The file's text; why is allocated where it cannot be read.
  subroutine load_deck(name, text, why)
    character(len=*), intent(in) :: name
    character(len=:), allocatable, intent(out) :: text, why
    character(len=300) :: message
    integer :: unit, length, failure
    text = ""
    open (newunit=unit, file=name, access="stream", form="unformatted", &
      status="old", action="read", iostat=failure, iomsg=message)
    if (failure == 0) then
      inquire (unit=unit, size=length)
      length = min(max(length, 0), max_text)
      deallocate (text)
      allocate (character(len=length) :: text)
      read (unit, iostat=failure, iomsg=message) text
      close (unit)
    end if
    if (failure /= 0) why = name // ": the deck cannot be read: " // &
      trim(message) // "; give the name of a deck that is there"
  end subroutine load_deck

  ! The same on all processes, which have the same text.
  subroutine parse_deck(name, text, asked, why)
    character(len=*), intent(in) :: name, text
    type(problem), intent(out) :: asked
    character(len=:), allocatable, intent(out) :: why
    type(reader) :: r
    character(len=:), allocatable :: line
    integer :: position
    allocate (r%asked%states(0))
    r%asked%deck = name
    position = 1
    do while (position <= len(text) .and. .not. allocated(r%why))
      r%line = r%line + 1
      call take_line(text, position, line)
      call parse_line(r, tidy(line))
    end do
    if (.not. allocated(r%why)) call finish(r)
    if (allocated(r%why)) why = r%why
    asked = r%asked
  end subroutine parse_deck

  subroutine parse_line(r, line)
    type(reader), intent(inout) :: r
    character(len=*), intent(in) :: line
    character(len=:), allocatable :: word
    integer :: position
    position = 1
    call take_word(line, position, word)
    if (word == "state") then
      call parse_state(r, line(position:))
      return
    end if
    do while (len(word) > 0 .and. .not. allocated(r%why))
      call parse_setting(r, word)
      call take_word(line, position, word)
    end do
  end subroutine parse_line

  subroutine parse_setting(r, word)
    type(reader), intent(inout) :: r
    character(len=*), intent(in) :: word
    character(len=:), allocatable :: key, value
    integer :: k
    call split_word(word, key, value)
    if (key == "picture" .and. len(value) > 0) then
      r%asked%picture = value
      return
    end if
    k = place_of(key, keys)
    if (k == 0) then
      call complain(r, '"' // key // '" is no key of a deck; its keys are ' // &
        list_of(keys) // ", picture, and its states begin with ""state""")
    else if (r%line_of(k) > 0) then
      call complain(r, key // " is in line " // text_of(r%line_of(k)) // &
        " already; take one of the two out")
    else
      r%line_of(k) = r%line
      call take_number(r, word, value, is_whole(k), least(k), greatest(k), &
        r%value(k))
    end if
  end subroutine parse_setting

  subroutine parse_state(r, line)
    type(reader), intent(inout) :: r
    character(len=*), intent(in) :: line
    type(state) :: new
    character(len=:), allocatable :: word, key, value
    integer :: position
    position = 1
    do
      call take_word(line, position, word)
      if (len(word) == 0 .or. allocated(r%why)) exit
      call split_word(word, key, value)
      if (key == "shape") then
        call parse_shape(r, value, new)
      else
        call parse_state_word(r, word, new)
      end if
    end do
    if (.not. allocated(r%why)) call check_state(r, new)
    r%asked%states = [r%asked%states, new]
  end subroutine parse_state

  subroutine parse_shape(r, value, new)
    type(reader), intent(inout) :: r
    character(len=*), intent(in) :: value
    type(state), intent(inout) :: new
    new%shape = place_of(value, shapes)
    if (new%shape == 0) call complain(r, "shape=" // value // &
      ": the shapes are " // list_of(shapes))
  end subroutine parse_shape

  subroutine parse_state_word(r, word, new)
    type(reader), intent(inout) :: r
    character(len=*), intent(in) :: word
    type(state), intent(inout) :: new
    character(len=:), allocatable :: key, value
    real(real64) :: low
    integer :: k
    call split_word(word, key, value)
    k = place_of(key, state_words)
    if (k == 0) then
      call complain(r, '"' // key // '" is no word of a state; those are ' // &
        list_of(state_words) // ", shape")
      return
    end if
    low = -large_number
    if (k == state_density .or. k == state_energy) low = tiny_number
    call take_number(r, word, value, .false., low, large_number, new%value(k))
    new%is_given(k) = .true.
  end subroutine parse_state_word

  ! ---- what a deck has to say ----------------------------------------------

  subroutine check_state(r, new)
    type(reader), intent(inout) :: r
    type(state), intent(in) :: new
    integer :: k
    do k = 1, num_words
      if (new%is_given(k) .or. .not. is_needed(new%shape, k)) cycle
      call complain(r, "the state has no " // trim(state_words(k)) // &
        "; add " // trim(state_words(k)) // "=NUMBER")
      return
    end do
    if (size(r%asked%states) == 0 .and. new%shape /= everywhere) &
      call complain(r, "the first state has a shape; say before it, by " // &
      "one without, what is everywhere else")
  end subroutine check_state

  pure logical function is_needed(shape, word)
    integer, intent(in) :: shape, word
    select case (word)
    case (state_density, state_energy)
      is_needed = .true.
    case (left:top)
      is_needed = shape == rectangle
    case (centre_x, centre_y)
      is_needed = shape == circle .or. shape == point
    case (radius)
      is_needed = shape == circle
    case default
      is_needed = .false.
    end select
  end function is_needed

  subroutine finish(r)
    type(reader), intent(inout) :: r
    integer :: i
    do i = x_cells, y_cells
      if (r%line_of(i) > 0) cycle
      r%why = r%asked%deck // ": the deck has no " // trim(keys(i)) // &
        "; add " // trim(keys(i)) // "=NUMBER"
      return
    end do
    if (size(r%asked%states) == 0) then
      r%why = r%asked%deck // ": the deck has no state; add one of what " // &
        "is everywhere, as ""state density=1 energy=1"""
      return
    end if
    r%asked%cells = int(r%value(x_cells:y_cells))
    r%asked%line_of_cells = r%line_of(x_cells:y_cells)
    r%asked%size = r%value(x_size:y_size)
    r%asked%gamma = r%value(gamma)
    r%asked%end_time = r%value(end_time)
    r%asked%end_step = int(r%value(end_step))
    r%asked%report_every = int(r%value(report_every))
    r%asked%first_step = r%value(first_step)
    r%asked%largest_step = r%value(largest_step)
    r%asked%smallest_step = r%value(smallest_step)
    r%asked%growth = r%value(growth)
  end subroutine finish

  ! ---- pieces --------------------------------------------------------------

  subroutine take_number(r, word, text, whole, low, high, number)
    type(reader), intent(inout) :: r
    character(len=*), intent(in) :: word, text
    logical, intent(in) :: whole
    real(real64), intent(in) :: low, high
    real(real64), intent(inout) :: number
    real(real64) :: value
    logical :: is_right
    is_right = read_number(text, whole, value)
    if (is_right) is_right = value >= low .and. value <= high
    if (is_right) then
      number = value
    else if (whole) then
      call complain(r, word // ": give a whole number from " // &
        text_of(int(low)) // " to " // text_of(int(high)))
    else
      call complain(r, word // ": give a number from " // text_of(low) // &
        " to " // text_of(high))
    end if
  end subroutine take_number

  ! Where a name stands in a list; 0 where it does not.
  pure integer function place_of(name, list)
    character(len=*), intent(in) :: name, list(:)
    integer :: i
    place_of = 0
    do i = 1, size(list)
      if (name == list(i)) place_of = i
    end do
    if (len(name) == 0) place_of = 0
  end function place_of

  function list_of(names) result(text)
    character(len=*), intent(in) :: names(:)
    character(len=:), allocatable :: text
    integer :: i
    text = trim(names(1))
    do i = 2, size(names)
      text = text // ", " // trim(names(i))
    end do
  end function list_of

  ! The first complaint is the one that counts.
  subroutine complain(r, what)
    type(reader), intent(inout) :: r
    character(len=*), intent(in) :: what
    if (allocated(r%why)) return
    r%why = r%asked%deck // ", line " // text_of(r%line) // ": " // what
  end subroutine complain

end module decks

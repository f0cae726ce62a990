! SPDX-License-Identifier: BSD-3-Clause
!
! test_mpi.f90 - jd beside "use mpi": its communicator, and a world of the
! program's own.
program test_mpi
  use mpi
  use expectations
  use jd
  implicit none
  integer :: comm, error
  integer :: total, rank, count

  call MPI_Init(error)
  call jd_initialize_on(MPI_COMM_WORLD)
  comm = jd_mpi_comm()
  call MPI_Comm_rank(comm, rank, error)
  call MPI_Comm_size(comm, count, error)
  call expect(rank == jd_process_index(), "the rank is the process index")
  call expect(count == jd_process_count(), "all processes are there")
  total = rank
  call MPI_Allreduce(MPI_IN_PLACE, total, 1, MPI_INTEGER, MPI_SUM, comm, &
    error)
  call expect(total == count * (count - 1) / 2, "a sum by MPI")
  call end_test()
  call MPI_Finalize(error)
end program test_mpi

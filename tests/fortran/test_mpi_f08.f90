! SPDX-License-Identifier: BSD-3-Clause
!
! test_mpi_f08.f90 - jd beside "use mpi_f08": its communicator, and a world of
! the program's own.
program test_mpi_f08
  use mpi_f08
  use expectations
  use jd
  implicit none
  type(MPI_Comm) :: comm
  integer :: total, rank, count

  call MPI_Init()
  call jd_initialize_on(MPI_COMM_WORLD%mpi_val)
  comm%mpi_val = jd_mpi_comm()
  call MPI_Comm_rank(comm, rank)
  call MPI_Comm_size(comm, count)
  call expect(rank == jd_process_index(), "the rank is the process index")
  call expect(count == jd_process_count(), "all processes are there")
  total = rank
  call MPI_Allreduce(MPI_IN_PLACE, total, 1, MPI_INTEGER, MPI_SUM, comm)
  call expect(total == count * (count - 1) / 2, "a sum by MPI")
  call end_test()
  call MPI_Finalize()
end program test_mpi_f08

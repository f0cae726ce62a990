/* SPDX-License-Identifier: BSD-3-Clause */
/* Needs the folder of mpi.h, and not MPI's library. */
#include <jd_mpi.h>
#include <stddef.h>

int main(void)
{
    MPI_Comm (*comm)(void) = jd_mpi_comm;
    return comm == NULL;
}

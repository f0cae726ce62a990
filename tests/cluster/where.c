/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * where.c - each process says which it is and where, what the launcher called
 * it, what MPI calls it, and the host that the device table has for it.
 */
#include <jd.h>
#include <jd_mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char *launcher_rank(void)
{
    const char *names[] = { "OMPI_COMM_WORLD_RANK", "SLURM_PROCID" };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (getenv(names[i]) != NULL)
            return getenv(names[i]);
    return "none";
}

int main(void)
{
    char host[256] = "";
    int rank = -1, count;

    JD_CHECK(jd_initialize());
    gethostname(host, sizeof host - 1);
    MPI_Comm_rank(jd_mpi_comm(), &rank);

    const jd_device *const *mine = jd_local_devices(&count);

    printf(
        "process %d of %d on %s, launcher %s, MPI %d, table %s, %d devices\n",
        jd_process_index(), jd_process_count(), host, launcher_rank(), rank,
        count > 0 ? mine[0]->host : "none", jd_device_count());
    return jd_shutdown();
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* flavour.c - the table of MPIs. */
#include "runtime/mpi/flavour.h"

#include <string.h>

/* Cray's says CRAY MPICH, and so comes before MPICH. */
static const struct jd_mpi_flavour *const flavours[] = {
    &jd__flavour_open_mpi, &jd__flavour_cray,    &jd__flavour_mpich,
    &jd__flavour_intel,    &jd__flavour_mvapich,
};

static const struct jd_mpi_flavour unknown = {
    .sign = "",
    .launcher = "mpiexec",
    .srun = "pmi2",
    .by = JD_SERVED_BY_PMI,
};

const struct jd_mpi_flavour *jd__flavour_of(const char *library_name)
{
    for (size_t i = 0; i < sizeof flavours / sizeof *flavours; i++)
        if (strstr(library_name, flavours[i]->sign))
            return flavours[i];
    return &unknown;
}

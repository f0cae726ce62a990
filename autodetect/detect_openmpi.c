/* SPDX-License-Identifier: BSD-3-Clause */
/* detect_openmpi.c - mpirun of Open MPI 4 (ORTE) and 5 (PRRTE), which set the
 * same OMPI_COMM_WORLD_* variables. OMPI_MCA_* proves nothing: Slurm 24.11
 * exports some, and so do users. */
#include "autodetect/detector.h"

static const struct jd_detector_ranks variables = {
    .rank = { { "OMPI_COMM_WORLD_RANK" } },
    .size = { { "OMPI_COMM_WORLD_SIZE" } },
    .local_rank = { { "OMPI_COMM_WORLD_LOCAL_RANK" } },
    .local_size = { { "OMPI_COMM_WORLD_LOCAL_SIZE" } },
};

static bool openmpi_present(const struct jd_env *env, char *reason, size_t size)
{
    const struct jd_variables minimum[] = { variables.rank, variables.size };
    return jd__detector_minimum(env, minimum, 2, reason, size);
}

/* The launcher's URI is mpirun's host, which need not be process 0's. */
static jd_status detect_openmpi(const struct jd_env *env,
                                struct jd_cluster *cluster)
{
    jd__detector_no_coordinator(cluster,
                                "only MPI can tell where process 0 is");
    return jd__detector_ranks(env, &variables, cluster);
}

const struct jd_detector jd__detector_openmpi = {
    .name = "openmpi",
    .aliases = { "ompi" },
    .doc = "mpirun of Open MPI 4 and 5",
    .present = openmpi_present,
    .detect = detect_openmpi,
};

/* SPDX-License-Identifier: BSD-3-Clause */
/* detect_pmi.c - the PMI family: mpiexec of MPICH (Hydra), Intel MPI and Cray
 * PALS, mpirun_rsh of MVAPICH, and whoever else sets PMI_RANK and PMI_SIZE.
 * srun --mpi=pmi2 and flux set them too; these come first in the order. */
#include "autodetect/detector.h"

static const struct jd_detector_ranks variables = {
    .rank = { { "PMI_RANK", "PALS_RANKID", "MV2_COMM_WORLD_RANK", "PMI_ID" } },
    .size = { { "PMI_SIZE", "MV2_COMM_WORLD_SIZE" } },
    .local_rank = { { "MPI_LOCALRANKID", "PMI_LOCAL_RANK", "PALS_LOCAL_RANKID",
                      "MV2_COMM_WORLD_LOCAL_RANK" } },
    .local_size = { { "MPI_LOCALNRANKS", "PMI_LOCAL_SIZE", "PALS_LOCAL_SIZE",
                      "MV2_COMM_WORLD_LOCAL_SIZE" } },
};

static bool pmi_present(const struct jd_env *env, char *reason, size_t size)
{
    const struct jd_variables minimum[] = { variables.rank, variables.size };
    return jd__detector_minimum(env, minimum, 2, reason, size);
}

static jd_status detect_pmi(const struct jd_env *env,
                            struct jd_cluster *cluster)
{
    jd__detector_no_coordinator(cluster,
                                "only MPI can tell where process 0 is");
    return jd__detector_ranks(env, &variables, cluster);
}

const struct jd_detector jd__detector_pmi = {
    .name = "pmi",
    .doc = "mpiexec of MPICH, Intel MPI, Cray PALS; mpirun_rsh of MVAPICH",
    .present = pmi_present,
    .detect = detect_pmi,
};

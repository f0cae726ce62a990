/* SPDX-License-Identifier: BSD-3-Clause */
/* detect_jsrun.c - LSF's jsrun. It may set OMPI_COMM_WORLD_* too (Spectrum
 * MPI), with the same numbers. */
#include "autodetect/detector.h"

static const struct jd_detector_ranks variables = {
    .rank = { { "JSM_NAMESPACE_RANK" } },
    .size = { { "JSM_NAMESPACE_SIZE" } },
    .local_rank = { { "JSM_NAMESPACE_LOCAL_RANK" } },
    .local_size = { { "JSM_NAMESPACE_LOCAL_SIZE" } },
};

static bool jsrun_present(const struct jd_env *env, char *reason, size_t size)
{
    const struct jd_variables minimum[] = { variables.rank, variables.size };
    return jd__detector_minimum(env, minimum, 2, reason, size);
}

static jd_status detect_jsrun(const struct jd_env *env,
                              struct jd_cluster *cluster)
{
    jd__detector_no_coordinator(cluster,
                                "only MPI can tell where process 0 is");
    return jd__detector_ranks(env, &variables, cluster);
}

const struct jd_detector jd__detector_jsrun = {
    .name = "jsrun",
    .doc = "jsrun of IBM's LSF",
    .present = jsrun_present,
    .detect = detect_jsrun,
};

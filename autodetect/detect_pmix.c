/* SPDX-License-Identifier: BSD-3-Clause */
/* detect_pmix.c - a PMIx server that nothing else names: the variables tell
 * this process's index, and only the server knows how many there are. */
#include "autodetect/detector.h"

#include <stdio.h>
#include <string.h>

static const struct jd_variables minimum[] = {
    { { "PMIX_RANK" } },
    { { "PMIX_NAMESPACE" } },
};

/* MPI_Init of a process that nobody started sets both itself. */
static bool is_singleton(const struct jd_env *env)
{
    const char *ess = jd__env_get(env, "OMPI_MCA_ess");
    return ess && strcmp(ess, "singleton") == 0;
}

static bool pmix_present(const struct jd_env *env, char *reason, size_t size)
{
    if (is_singleton(env)) {
        snprintf(reason, size,
                 "OMPI_MCA_ess is singleton: MPI_Init has set PMIX_* itself");
        return false;
    }
    if (jd__cluster_is_of_jd_run(env)) {
        snprintf(reason, size,
                 "PMIX_NAMESPACE is jd-run's, whose JD_* variables tell all");
        return false;
    }
    return jd__detector_minimum(env, minimum, 2, reason, size);
}

static jd_status detect_pmix(const struct jd_env *env,
                             struct jd_cluster *cluster)
{
    jd__detector_no_coordinator(cluster,
                                "only MPI can tell where process 0 is");
    return jd__detector_number(env, cluster, &minimum[0], 0,
                               &cluster->process_id);
}

const struct jd_detector jd__detector_pmix = {
    .name = "pmix",
    .doc = "a PMIx server without a launcher of the above",
    .present = pmix_present,
    .detect = detect_pmix,
};

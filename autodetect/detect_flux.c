/* SPDX-License-Identifier: BSD-3-Clause */
/* detect_flux.c - flux run and flux submit. */
#include "autodetect/detector.h"

#include <stdio.h>
#include <string.h>

static const struct jd_detector_ranks variables = {
    .rank = { { "FLUX_TASK_RANK" } },
    .size = { { "FLUX_JOB_SIZE" } },
    .local_rank = { { "FLUX_TASK_LOCAL_ID" } },
};

static bool flux_present(const struct jd_env *env, char *reason, size_t size)
{
    const struct jd_variables minimum[] = { variables.rank, variables.size };
    return jd__detector_minimum(env, minimum, 2, reason, size);
}

/* Flux says how many nodes there are, not how many tasks each has. */
static void set_local_count(const struct jd_env *env,
                            struct jd_cluster *cluster)
{
    const char *nodes = jd__env_get(env, "FLUX_JOB_NNODES");
    struct jd_cluster_number *local = &cluster->local_num_processes;
    if (!nodes || strcmp(nodes, "1") != 0)
        return;
    *local = cluster->num_processes;
    snprintf(local->source, sizeof local->source,
             "FLUX_JOB_NNODES, FLUX_JOB_SIZE");
}

static jd_status detect_flux(const struct jd_env *env,
                             struct jd_cluster *cluster)
{
    jd__detector_no_coordinator(cluster,
                                "Flux does not say where process 0 is");
    jd_status status = jd__detector_ranks(env, &variables, cluster);
    if (status == JD_OK)
        set_local_count(env, cluster);
    return status;
}

const struct jd_detector jd__detector_flux = {
    .name = "flux",
    .doc = "flux run, flux submit",
    .present = flux_present,
    .detect = detect_flux,
};

/* SPDX-License-Identifier: BSD-3-Clause */
/* service.c - is there somebody whom MPI_Init can ask? */
#include "runtime/mpi/service.h"
#include "runtime/mpi/library.h"

#include <stdio.h>

/* "the job has 4 processes (SLURM_NTASKS)", or what else is told. */
static void describe_job(const struct jd_cluster *cluster, char *text,
                         size_t size)
{
    const struct jd_cluster_number *count = &cluster->num_processes;
    if (count->known)
        snprintf(text, size, "the job has %lld processes (%s)", count->value,
                 count->source);
    else
        snprintf(text, size, "this is process %lld (%s) of a job",
                 cluster->process_id.value, cluster->process_id.source);
}

static jd_status refuse_start(const struct jd_cluster *cluster,
                              enum jd_served_by by, const char *missing)
{
    char job[256];
    describe_job(cluster, job, sizeof job);
    return jd_fail(JD_FAILED_PRECONDITION,
                   "jd_initialize: %s, but %s, so %s cannot join them to one "
                   "world; %s",
                   job, missing, jd__mpi_library_name(),
                   jd__cluster_served_start(cluster, by));
}

static jd_status refuse_library(const struct jd_cluster *cluster)
{
    char job[256];
    describe_job(cluster, job, sizeof job);
    return jd_fail(JD_UNIMPLEMENTED,
                   "jd_initialize: %s, and jd starts Open MPI, MPICH and its "
                   "descendants (Cray MPICH, Intel MPI, MVAPICH), but this "
                   "program is linked with %s; call MPI_Init in the program "
                   "and then jd_initialize_on(MPI_COMM_WORLD, NULL, 0)",
                   job, jd__mpi_library_name());
}

jd_status jd__mpi_service_check(const struct jd_env *env,
                                const struct jd_cluster *cluster)
{
    const struct jd_mpi_flavour *flavour = jd__mpi_library_flavour();
    char missing[512];
    if (!flavour->is_served)
        return refuse_library(cluster);
    return flavour->is_served(env, missing, sizeof missing)
               ? JD_OK
               : refuse_start(cluster, flavour->by, missing);
}

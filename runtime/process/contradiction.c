/* SPDX-License-Identifier: BSD-3-Clause */
/* contradiction.c - who started whom, as far as /proc and the PMIx server
 * show, and an MPI of one process where there should be more. */
#include "base/parse.h"
#include "base/proc.h"
#include "runtime/mpi/library.h"
#include "runtime/mpi/service.h"
#include "runtime/process/contradiction.h"

#include <limits.h>
#include <string.h>

/* ---- which launcher is the inner one ------------------------------------ */

enum nesting {
    NESTING_UNKNOWN,
    NESTING_INSIDE,    /* the launcher was started in the Slurm task */
    NESTING_INHERITED, /* the Slurm task was started under the launcher */
};

static bool is_same(const struct jd_env *ours, const struct jd_env *theirs,
                    const char *name)
{
    const char *our = jd__env_get(ours, name);
    const char *their = jd__env_get(theirs, name);
    return our && their ? strcmp(our, their) == 0 : our == their;
}

/* The variable that told the count, and what tells two jobs of one kind
 * apart. */
static bool has_our_launcher(const struct jd_env *ours,
                             const struct jd_env *theirs,
                             const struct jd_cluster *cluster)
{
    const char *count = cluster->num_processes.source;
    return jd__env_get(theirs, count) && is_same(ours, theirs, count) &&
           is_same(ours, theirs, "PMIX_NAMESPACE") &&
           is_same(ours, theirs, "TORCHELASTIC_RUN_ID");
}

/* A pid of another host, or one that is another process's by now, has not our
 * task's variables. */
static enum nesting compare_with_task(const struct jd_env *ours,
                                      const struct jd_env *theirs,
                                      const struct jd_cluster *cluster)
{
    if (!is_same(ours, theirs, "SLURM_JOB_ID") ||
        !is_same(ours, theirs, "SLURM_STEP_ID") ||
        !is_same(ours, theirs, "SLURM_PROCID"))
        return NESTING_UNKNOWN;
    return has_our_launcher(ours, theirs, cluster) ? NESTING_INHERITED
                                                   : NESTING_INSIDE;
}

static enum nesting nesting_in_slurm(const struct jd_env *env,
                                     const struct jd_cluster *cluster)
{
    const char *text = jd__env_get_nonempty(env, "SLURM_TASK_PID");
    long long pid;
    if (!text || !jd__parse_integer(text, &pid) || pid < 1 || pid > INT_MAX)
        return NESTING_UNKNOWN;
    struct jd_env *task = jd__proc_environment((int)pid);
    if (!task)
        return NESTING_UNKNOWN;
    enum nesting nesting = compare_with_task(env, task, cluster);
    jd__env_destroy(task);
    return nesting;
}

static bool is_inherited(const struct jd_env *env,
                         const struct jd_cluster *cluster)
{
    enum nesting nesting = NESTING_UNKNOWN;
    if (strcmp(cluster->rival.detector, "slurm") == 0)
        nesting = nesting_in_slurm(env, cluster);
    if (nesting == NESTING_UNKNOWN && strcmp(cluster->method, "openmpi") == 0)
        return jd__mpi_library_flavour()->by == JD_SERVED_BY_PMIX &&
               jd__mpi_service_check(env, cluster) != JD_OK;
    return nesting == NESTING_INHERITED;
}

jd_status jd__contradiction_check(const struct jd_env *env,
                                  const struct jd_cluster *cluster)
{
    if (!cluster->rival.detector || !cluster->rival.is_outer ||
        !is_inherited(env, cluster))
        return JD_OK;
    return jd__cluster_fail_rival(
        cluster,
        strcmp(cluster->method, "openmpi") == 0
            ? "its variables come from an mpirun around the other: take them "
              "out before that starts (in bash: unset ${!OMPI_*} ${!PMIX_*})"
            : "its variables come from around the other: unset them before "
              "that starts");
}

/* ---- an MPI that nobody serves ------------------------------------------ */

static jd_status fail_unserved(const struct jd_cluster *cluster)
{
    return jd_fail(
        JD_FAILED_PRECONDITION,
        "jd_initialize: the launcher (method %s) says %lld processes (%s), but "
        "MPI_COMM_WORLD of %s has this process alone: each would be a world of "
        "one; %s, or set JD_NUM_PROCESSES=1 and JD_PROCESS_ID=0 if that is "
        "meant",
        cluster->method, cluster->num_processes.value,
        cluster->num_processes.source, jd__mpi_library_name(),
        jd__cluster_served_start(cluster, jd__mpi_library_flavour()->by));
}

jd_status jd__contradiction_check_mpi(const struct jd_env *env,
                                      const struct jd_cluster *cluster,
                                      int size, bool is_explicit)
{
    if (size > 1 || is_explicit)
        return JD_OK;
    if (cluster->num_processes.known && cluster->num_processes.value > 1)
        return fail_unserved(cluster);
    if (cluster->rival.detector && !cluster->rival.is_outer)
        return jd__cluster_fail_rival(cluster, NULL);
    return jd__contradiction_check(env, cluster);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* cluster.c - the end of a cluster object, and what a start needs of it. */
#include "autodetect/cluster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void jd__cluster_destroy(struct jd_cluster *cluster)
{
    if (!cluster)
        return;
    for (size_t i = 0; i < cluster->trace_length; i++)
        free(cluster->trace[i].reason);
    free(cluster->trace);
    for (size_t i = 0; i < cluster->num_coordinator_candidates; i++)
        free(cluster->coordinator_candidates[i]);
    free(cluster->coordinator_candidates);
    free(cluster->coordinator_address.value);
    free(cluster);
}

bool jd__cluster_is_served(const struct jd_env *env, enum jd_served_by by)
{
    if (by == JD_SERVED_BY_PMI)
        return jd__env_get_nonempty(env, "PMI_FD") ||
               jd__env_get_nonempty(env, "PMI_PORT");
    return jd__env_get_nonempty(env, "PMIX_NAMESPACE") &&
           jd__env_get_nonempty(env, "PMIX_RANK") &&
           jd__env_has_prefix(env, "PMIX_SERVER_URI");
}

bool jd__cluster_is_of_jd_run(const struct jd_env *env)
{
    static const char prefix[] = "jd-" JD_RUN_JOB "-";
    const char *name = jd__env_get(env, "PMIX_NAMESPACE");
    return name && strncmp(name, prefix, sizeof prefix - 1) == 0;
}

/* ---- what is missing ---------------------------------------------------- */

/* What is missing, and why it is, the first that says so. */
struct missing {
    char names[384];
    const char *why;
};

/* "num_processes (JD_NUM_PROCESSES or JAX_NUM_PROCESSES)" */
static void add_missing(struct missing *missing, enum jd_option option,
                        const char *why)
{
    const struct jd_option_row *row = jd__option_table_row(option);
    size_t length = strlen(missing->names);
    snprintf(missing->names + length, sizeof missing->names - length,
             "%s%s (%s or %s)", length ? ", " : "", row->field, row->variable,
             row->jax_variable);
    if (!missing->why && why[0])
        missing->why = why;
}

static bool has_address(const struct jd_cluster *cluster)
{
    return cluster->coordinator_address.value ||
           cluster->num_coordinator_candidates;
}

static jd_status fail_missing(const struct jd_cluster *cluster, bool served)
{
    struct missing missing = { .why = NULL };
    if (!cluster->num_processes.known)
        add_missing(&missing, JD_OPTION_NUM_PROCESSES,
                    cluster->num_processes.source);
    if (!cluster->process_id.known)
        add_missing(&missing, JD_OPTION_PROCESS_ID, cluster->process_id.source);
    if (!served && !has_address(cluster))
        add_missing(&missing, JD_OPTION_COORDINATOR_ADDRESS,
                    cluster->coordinator_address.source);
    return jd_fail(JD_FAILED_PRECONDITION,
                   "jd_initialize: the launcher (method %s) does not tell "
                   "%s%s%s; give it as an option or as that variable, in "
                   "every process (jd-info shows what each variable says)",
                   cluster->method, missing.names, missing.why ? ": " : "",
                   missing.why ? missing.why : "");
}

/* "JD_COORDINATOR_ADDRESS is not set" where no launcher can have said it. */
static const char *why_no_address(const struct jd_cluster *cluster)
{
    const char *why = cluster->coordinator_address.source;
    return why[0] ? why : "JD_COORDINATOR_ADDRESS is not set";
}

static const char *start_by_pmi(const struct jd_cluster *cluster)
{
    if (strcmp(cluster->method, "slurm") == 0)
        return "start it with `srun --mpi=pmi2` (`srun --mpi=list` shows "
               "whether Slurm has it), or with the mpiexec of this MPI inside "
               "the allocation";
    return "start it with the mpiexec of this MPI, `mpiexec -n N` over the "
           "same hosts; the launcher of another MPI cannot start it";
}

static const char *start_by_pmix(const struct jd_cluster *cluster)
{
    const char *method = cluster->method;
    if (strcmp(method, "slurm") == 0)
        return "start it with `srun --mpi=pmix` (`srun --mpi=list` shows "
               "whether Slurm has it), or with the mpirun of this MPI inside "
               "the allocation";
    if (strcmp(method, "pmi") == 0)
        return "start it with the mpirun of this MPI; the mpiexec of another "
               "MPI cannot start it";
    if (strcmp(method, "flux") == 0)
        return "start it with `flux run -o pmi=pmix`, or with the mpirun of "
               "this MPI";
    return "start it with the mpirun of this MPI, `mpirun -n N` over the same "
           "hosts";
}

const char *jd__cluster_served_start(const struct jd_cluster *cluster,
                                     enum jd_served_by by)
{
    return by == JD_SERVED_BY_PMI ? start_by_pmi(cluster)
                                  : start_by_pmix(cluster);
}

jd_status jd__cluster_require_address(const struct jd_cluster *cluster,
                                      enum jd_served_by by)
{
    const struct jd_cluster_number *count = &cluster->num_processes;
    if (has_address(cluster))
        return JD_OK;
    return jd_fail(JD_FAILED_PRECONDITION,
                   "jd_initialize: the job has %lld processes (%s), but "
                   "nothing tells where process 0 is: %s, and no %s server "
                   "serves them; set JD_COORDINATOR_ADDRESS to HOST:PORT, "
                   "process 0's host and a free port there, in every process, "
                   "or %s",
                   count->value, count->source, why_no_address(cluster),
                   by == JD_SERVED_BY_PMI ? "PMI" : "PMIx",
                   jd__cluster_served_start(cluster, by));
}

/* ---- what contradicts --------------------------------------------------- */

jd_status jd__cluster_fail_rival(const struct jd_cluster *cluster,
                                 const char *remedy)
{
    const struct jd_cluster_rival *rival = &cluster->rival;
    bool is_none = strcmp(cluster->method, "none") == 0;
    char choose[128];
    if (rival->is_left_out || is_none)
        snprintf(choose, sizeof choose,
                 "leave JD_CLUSTER_DETECTION_METHOD out, which leaves %s out",
                 rival->is_left_out ? rival->detector : "its launcher");
    else
        snprintf(choose, sizeof choose,
                 "set JD_CLUSTER_DETECTION_METHOD=%s to take the latter",
                 rival->detector);
    return jd_fail(
        JD_FAILED_PRECONDITION,
        "jd_initialize: the launcher (method %s) says 1 process (%s), but %s "
        "says %lld (%s): each would be a world of one; %s, or set "
        "JD_NUM_PROCESSES=1 and JD_PROCESS_ID=0 if that is meant",
        cluster->method, cluster->num_processes.source, rival->detector,
        rival->num_processes.value, rival->num_processes.source,
        remedy ? remedy : choose);
}

/* ---- all of it ---------------------------------------------------------- */

jd_status jd__cluster_require(const struct jd_env *env,
                              const struct jd_cluster *cluster)
{
    bool served = jd__cluster_is_served(env, JD_SERVED_BY_PMIX);
    if (cluster->rival.detector && !cluster->rival.is_outer)
        return jd__cluster_fail_rival(cluster, NULL);
    if (!cluster->process_id.known ||
        (!cluster->num_processes.known && !served))
        return fail_missing(cluster, served);
    return JD_OK;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * detect_slurm.c - a task of a Slurm step, started by srun with any --mpi.
 *
 * Five variables are the minimum: a shell that was ssh'ed into an allocation,
 * sbatch without srun and salloc without a step have fewer. The step's count
 * and node list are used, not the job's.
 */
#include "autodetect/detector.h"
#include "autodetect/hostlist.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_PORT 61440 /* 4096 ports up to 65535, as JAX does */
#define NUM_PORTS 4096

static const struct jd_detector_ranks variables = {
    .rank = { { "SLURM_PROCID" } },
    .size = { { "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS" } },
    .local_rank = { { "SLURM_LOCALID" } },
};

static bool present(const struct jd_env *env, char *reason, size_t size)
{
    const struct jd_variables minimum[] = {
        { { "SLURM_JOB_ID" } }, { { "SLURM_STEP_NODELIST" } },
        variables.rank,         variables.local_rank,
        variables.size,
    };
    return jd__detector_minimum(env, minimum, sizeof minimum / sizeof *minimum,
                                reason, size) &&
           !jd__detector_is_outer(env, &jd__detector_slurm, reason, size);
}

/* ---- how many tasks are on this node --------------------------------- */

/* A number up to INT_MAX at *at, which is moved behind it; -1 for none. */
static long long read_number(const char **at)
{
    long long value = 0;
    if (!isdigit((unsigned char)**at))
        return -1;
    for (; isdigit((unsigned char)**at); ++*at)
        if ((value = 10 * value + (**at - '0')) > INT_MAX)
            return -1;
    return value;
}

/* Reads "2" or "2(x3)", followed by ',' or the end. */
static bool read_group(const char **at, long long *tasks, long long *nodes)
{
    *nodes = 1;
    *tasks = read_number(at);
    if (*tasks < 0)
        return false;
    if (strncmp(*at, "(x", 2) == 0) {
        *at += 2;
        *nodes = read_number(at);
        if (*nodes < 1 || *(*at)++ != ')')
            return false;
    }
    return !**at || **at == ',';
}

/* Looks the node up in "2(x3),1"; 0 where the list ends before it. */
static bool tasks_of_node(const char *list, long long node,
                          long long *ret_tasks)
{
    long long tasks, nodes;
    *ret_tasks = 0;
    for (const char *at = list;; at++) {
        if (!read_group(&at, &tasks, &nodes))
            return false;
        if (node >= 0 && node < nodes)
            *ret_tasks = tasks;
        node -= nodes;
        if (!*at)
            return true;
    }
}

/* Both variables are optional, and in jobs of several components they need
 * not fit: a count that is not above SLURM_LOCALID is not told. */
static jd_status set_local_count(const struct jd_env *env,
                                 struct jd_cluster *cluster)
{
    static const struct jd_variables node_id = { { "SLURM_NODEID" } };
    const char *list = jd__env_get_nonempty(env, "SLURM_STEP_TASKS_PER_NODE");
    struct jd_cluster_number node = { .known = false };
    long long tasks;
    jd_status status = jd__detector_number(env, cluster, &node_id, 0, &node);
    if (status != JD_OK || !node.known || !list)
        return status;
    if (!tasks_of_node(list, node.value, &tasks))
        return jd_fail(JD_INVALID_ARGUMENT,
                       "SLURM_STEP_TASKS_PER_NODE is \"%s\", but it must be a "
                       "list like 2(x3),1; correct it or unset it",
                       list);
    if (tasks <= cluster->local_process_id.value)
        return JD_OK;
    cluster->local_num_processes = (struct jd_cluster_number){
        .known = true,
        .value = tasks,
        .source = "SLURM_STEP_TASKS_PER_NODE, SLURM_NODEID",
    };
    return JD_OK;
}

/* ---- where process 0 is ---------------------------------------------- */

/* Slurm's ids are 32 bits, 64 in some fields; they are not negative. */
static jd_status read_job_id(const struct jd_env *env,
                             unsigned long long *ret_id)
{
    const char *text = jd__env_get(env, "SLURM_JOB_ID");
    size_t digits = strspn(text, "0123456789");
    if (text[digits] || digits > 18)
        return jd_fail(JD_INVALID_ARGUMENT,
                       "SLURM_JOB_ID is \"%s\", but it must be a non-negative "
                       "integer; correct it, or leave the launcher out with "
                       "JD_CLUSTER_DETECTION_METHOD=^slurm",
                       text);
    *ret_id = strtoull(text, NULL, 10);
    return JD_OK;
}

/* Under -m arbitrary the list is sorted, whatever the tasks' order is. */
static bool is_arbitrary(const struct jd_env *env)
{
    const char *distribution = jd__env_get(env, "SLURM_DISTRIBUTION");
    return distribution && strncmp(distribution, "arbitrary", 9) == 0;
}

static jd_status set_first_host(const struct jd_env *env,
                                struct jd_cluster *cluster,
                                const struct jd_hostlist *hosts)
{
    unsigned long long id = 0;
    jd_status status = read_job_id(env, &id);
    if (status != JD_OK)
        return status;
    if (is_arbitrary(env) && hosts->count > 1) {
        jd__detector_no_coordinator(
            cluster, "SLURM_DISTRIBUTION is arbitrary: process 0 need not be "
                     "on the first host");
        return JD_OK;
    }
    return jd__detector_coordinator(
        env, cluster,
        &(struct jd_detector_address){
            .host = hosts->names[0],
            .host_length = strlen(hosts->names[0]),
            .port = FIRST_PORT + (int)(id % NUM_PORTS),
            .host_source = "SLURM_STEP_NODELIST",
            .port_source = "SLURM_JOB_ID",
            .one_host = hosts->count == 1,
        });
}

static jd_status set_coordinator(const struct jd_env *env,
                                 struct jd_cluster *cluster)
{
    struct jd_hostlist hosts;
    jd_status status = jd__hostlist_expand(
        jd__env_get(env, "SLURM_STEP_NODELIST"), "SLURM_STEP_NODELIST", &hosts);
    if (status != JD_OK)
        return status;
    status = set_first_host(env, cluster, &hosts);
    jd__hostlist_finish(&hosts);
    return status;
}

static jd_status detect(const struct jd_env *env, struct jd_cluster *cluster)
{
    jd_status status = jd__detector_ranks(env, &variables, cluster);
    if (status == JD_OK)
        status = set_local_count(env, cluster);
    return status == JD_OK ? set_coordinator(env, cluster) : status;
}

const struct jd_detector jd__detector_slurm = {
    .name = "slurm",
    .doc = "srun, with or without --mpi",
    .present = present,
    .detect = detect,
};

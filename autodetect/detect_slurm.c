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

#define STEP_STRIDE 2531 /* odd: 4096 steps of one job have all the ports */

static const struct jd_detector_ranks variables = {
    .rank = { { "SLURM_PROCID" } },
    .size = { { "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS" } },
    .local_rank = { { "SLURM_LOCALID" } },
};

static bool slurm_present(const struct jd_env *env, char *reason, size_t size)
{
    const struct jd_variables minimum[] = {
        { { "SLURM_JOB_ID" } }, { { "SLURM_STEP_NODELIST" } },
        variables.rank,         variables.local_rank,
        variables.size,
    };
    return jd__detector_minimum(env, minimum, sizeof minimum / sizeof *minimum,
                                reason, size);
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
static jd_status read_id(const char *name, const char *text,
                         unsigned long long *ret_id)
{
    size_t digits = strspn(text, "0123456789");
    if (text[digits] || digits > 18)
        return jd_fail(JD_INVALID_ARGUMENT,
                       "%s is \"%s\", but it must be a non-negative "
                       "integer; correct it, or leave the launcher out with "
                       "JD_CLUSTER_DETECTION_METHOD=^slurm",
                       name, text);
    *ret_id = strtoull(text, NULL, 10);
    return JD_OK;
}

/* What is known of process 0's host. */
struct search {
    struct jd_hostlist hosts; /* of the step */
    int port;
    const char *port_source;
    size_t own;     /* this process's host, an index; hosts.count: unknown */
    bool is_own;    /* process 0 is on it */
    bool is_absent; /* process 0 is not on it */
};

/* A job's first step has the port that JAX gives the job. Its steps may be on
 * one host at once, and so may jobs of neighbouring ids: the others have ports
 * far from theirs. */
static jd_status choose_port(const struct jd_env *env, struct search *search)
{
    const char *step_text = jd__env_get_nonempty(env, "SLURM_STEP_ID");
    unsigned long long job = 0, step = 0;
    jd_status status =
        read_id("SLURM_JOB_ID", jd__env_get(env, "SLURM_JOB_ID"), &job);
    if (status == JD_OK && step_text)
        status = read_id("SLURM_STEP_ID", step_text, &step);
    job %= JD_NUM_PORTS;
    search->port =
        JD_FIRST_PORT +
        (int)((job + step % JD_NUM_PORTS * STEP_STRIDE) % JD_NUM_PORTS);
    search->port_source = step ? "SLURM_JOB_ID, SLURM_STEP_ID" : "SLURM_JOB_ID";
    return status;
}

/* Under -m arbitrary the list is sorted, whatever the tasks' order is. */
static bool is_arbitrary(const struct jd_env *env)
{
    const char *distribution = jd__env_get(env, "SLURM_DISTRIBUTION");
    return distribution && strncmp(distribution, "arbitrary", 9) == 0;
}

/* SLURM_GTIDS are the processes of this host, in ascending order. */
static jd_status search_own_host(const struct jd_env *env,
                                 struct jd_cluster *cluster,
                                 struct search *search)
{
    static const struct jd_variables node_id = { { "SLURM_NODEID" } };
    const char *ids = jd__env_get_nonempty(env, "SLURM_GTIDS");
    struct jd_cluster_number node = { .known = false };
    jd_status status = jd__detector_number(env, cluster, &node_id, 0, &node);
    search->own = search->hosts.count;
    if (status != JD_OK || !node.known ||
        (size_t)node.value >= search->hosts.count)
        return status;
    search->own = (size_t)node.value;
    search->is_own = cluster->process_id.value == 0 ||
                     (ids && ids[0] == '0' && (!ids[1] || ids[1] == ','));
    search->is_absent = ids && !search->is_own;
    return JD_OK;
}

static jd_status set_host(const struct jd_env *env, struct jd_cluster *cluster,
                          const struct search *search, size_t index,
                          const char *source)
{
    const char *host = search->hosts.names[index];
    return jd__detector_coordinator(env, cluster,
                                    &(struct jd_detector_address){
                                        .host = host,
                                        .host_length = strlen(host),
                                        .port = search->port,
                                        .host_source = source,
                                        .port_source = search->port_source,
                                        .one_host = search->hosts.count == 1,
                                    });
}

static jd_status set_candidates(const struct jd_env *env,
                                struct jd_cluster *cluster,
                                const struct search *search)
{
    const struct jd_hostlist *hosts = &search->hosts;
    char why[JD_CLUSTER_SOURCE_SIZE], source[JD_CLUSTER_SOURCE_SIZE];
    snprintf(source, sizeof source, "SLURM_STEP_NODELIST, %s",
             search->port_source);
    snprintf(why, sizeof why,
             "SLURM_DISTRIBUTION is arbitrary: process 0 is on one of %zu "
             "hosts of SLURM_STEP_NODELIST",
             hosts->count - search->is_absent);
    return jd__detector_candidates(
        env, cluster,
        &(struct jd_detector_candidates){
            .hosts = hosts->names,
            .count = hosts->count,
            .without = search->is_absent ? search->own : hosts->count,
            .port = search->port,
            .source = source,
            .why = why,
        });
}

static jd_status set_arbitrary(const struct jd_env *env,
                               struct jd_cluster *cluster,
                               struct search *search)
{
    size_t count = search->hosts.count;
    jd_status status = search_own_host(env, cluster, search);
    if (status != JD_OK)
        return status;
    if (search->own == count) {
        jd__detector_no_coordinator(
            cluster, "SLURM_DISTRIBUTION is arbitrary: process 0 need not be "
                     "on the first host");
        return JD_OK;
    }
    if (search->is_own)
        return set_host(env, cluster, search, search->own,
                        "SLURM_STEP_NODELIST, SLURM_NODEID");
    if (search->is_absent && count == 2)
        return set_host(env, cluster, search, 1 - search->own,
                        "SLURM_STEP_NODELIST, SLURM_GTIDS");
    return set_candidates(env, cluster, search);
}

static jd_status set_coordinator(const struct jd_env *env,
                                 struct jd_cluster *cluster)
{
    struct search search = { .is_own = false };
    jd_status status =
        jd__hostlist_expand(jd__env_get(env, "SLURM_STEP_NODELIST"),
                            "SLURM_STEP_NODELIST", &search.hosts);
    if (status != JD_OK)
        return status;
    status = choose_port(env, &search);
    if (status == JD_OK)
        status =
            is_arbitrary(env) && search.hosts.count > 1
                ? set_arbitrary(env, cluster, &search)
                : set_host(env, cluster, &search, 0, "SLURM_STEP_NODELIST");
    jd__hostlist_finish(&search.hosts);
    return status;
}

static jd_status detect_slurm(const struct jd_env *env,
                              struct jd_cluster *cluster)
{
    jd_status status = jd__detector_ranks(env, &variables, cluster);
    if (status == JD_OK)
        status = set_local_count(env, cluster);
    return status == JD_OK ? set_coordinator(env, cluster) : status;
}

const struct jd_detector jd__detector_slurm = {
    .name = "slurm",
    .doc = "srun, with or without --mpi",
    .present = slurm_present,
    .detect = detect_slurm,
};

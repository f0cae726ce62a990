/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * detect_kubernetes.c - an indexed Job, alone or in a JobSet, from variables
 * only. JOB_COMPLETION_INDEX is Kubernetes' own and counts inside one Job;
 * how many pods the Job has, no variable says. JobSets carry what else there
 * is as annotations, which manifests by custom give to the container as
 * JOBSET_NAME, REPLICATED_JOB_NAME, JOB_INDEX and REPLICATED_JOB_REPLICAS.
 */
#include "autodetect/detector.h"

#include <stdio.h>
#include <string.h>

#define KUBERNETES_PORT 55527 /* as JAX's */

static const struct jd_variables minimum[] = {
    { { "KUBERNETES_SERVICE_HOST" } },
    { { "JOB_COMPLETION_INDEX" } },
};

static bool kubernetes_present(const struct jd_env *env, char *reason,
                               size_t size)
{
    return jd__detector_minimum(env, minimum, 2, reason, size);
}

/* Several Jobs of one template each count their pods from 0. */
static bool is_one_of_several_jobs(const struct jd_env *env)
{
    const char *replicas = jd__env_get(env, "REPLICATED_JOB_REPLICAS");
    const char *index = jd__env_get_nonempty(env, "JOB_INDEX");
    if (replicas && replicas[0])
        return strcmp(replicas, "1") != 0;
    return index != NULL;
}

static jd_status set_index(const struct jd_env *env, struct jd_cluster *cluster)
{
    struct jd_cluster_number *id = &cluster->process_id;
    jd_status status = jd__detector_number(env, cluster, &minimum[1], 0, id);
    if (status != JD_OK || !is_one_of_several_jobs(env))
        return status;
    *id = (struct jd_cluster_number){ .known = false };
    snprintf(id->source, sizeof id->source,
             "JOB_COMPLETION_INDEX counts inside one Job of the JobSet");
    return JD_OK;
}

/* Pod 0 of Job 0 has this name in the JobSet's headless service. */
static jd_status set_coordinator(const struct jd_env *env,
                                 struct jd_cluster *cluster)
{
    const char *set = jd__env_get_nonempty(env, "JOBSET_NAME");
    const char *job = jd__env_get_nonempty(env, "REPLICATED_JOB_NAME");
    char host[256];
    if (!set || !job) {
        jd__detector_no_coordinator(
            cluster, "JOBSET_NAME and REPLICATED_JOB_NAME are not both set");
        return JD_OK;
    }
    if (snprintf(host, sizeof host, "%s-%s-0-0.%s", set, job, set) >=
        (int)sizeof host)
        return jd_fail(JD_INVALID_ARGUMENT,
                       "JOBSET_NAME and REPLICATED_JOB_NAME make a host name "
                       "of more than 255 characters: \"%s...\"; correct them",
                       host);
    return jd__detector_coordinator(
        env, cluster,
        &(struct jd_detector_address){
            .host = host,
            .host_length = strlen(host),
            .port = KUBERNETES_PORT,
            .host_source = "JOBSET_NAME, REPLICATED_JOB_NAME",
            .port_source = "the default port",
        });
}

static jd_status detect_kubernetes(const struct jd_env *env,
                                   struct jd_cluster *cluster)
{
    jd_status status = set_index(env, cluster);
    return status == JD_OK ? set_coordinator(env, cluster) : status;
}

const struct jd_detector jd__detector_kubernetes = {
    .name = "kubernetes",
    .aliases = { "k8s" },
    .doc = "an indexed Job or a JobSet of Kubernetes",
    .present = kubernetes_present,
    .detect = detect_kubernetes,
};

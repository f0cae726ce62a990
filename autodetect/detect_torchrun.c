/* SPDX-License-Identifier: BSD-3-Clause */
/* detect_torchrun.c - torchrun, and operators and scripts that set the same
 * variables: RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, MASTER_PORT. */
#include "autodetect/detector.h"

#include <stdint.h>
#include <string.h>

static const char run_id[] = "TORCHELASTIC_RUN_ID"; /* torchrun's alone */

static const struct jd_detector_ranks variables = {
    .rank = { { "RANK" } },
    .size = { { "WORLD_SIZE" } },
    .local_rank = { { "LOCAL_RANK" } },
    .local_size = { { "LOCAL_WORLD_SIZE" } },
};

static bool torchrun_present(const struct jd_env *env, char *reason,
                             size_t size)
{
    const struct jd_variables minimum[] = { variables.rank, variables.size };
    return jd__detector_minimum(env, minimum, 2, reason, size);
}

/*
 * 0 where MASTER_PORT tells none. A Kubernetes Service named master makes it
 * "tcp://10.0.0.1:80", which is that Service's and not ours.
 */
static jd_status read_port(const struct jd_env *env, int *ret_port)
{
    const char *text = jd__env_get_nonempty(env, "MASTER_PORT");
    *ret_port = 0;
    if (!text || strstr(text, "://"))
        return JD_OK;
    return jd__detector_port(env, "MASTER_PORT", ret_port);
}

/* FNV-1a, 32 bits; a NULL is as good as an empty text. */
static uint32_t mix_text(uint32_t digest, const char *text)
{
    for (; text && *text; text++)
        digest = (digest ^ (unsigned char)*text) * UINT32_C(16777619);
    return (digest ^ '/') * UINT32_C(16777619);
}

/*
 * torchrun's agent listens at MASTER_PORT itself. Ours is another one that all
 * processes derive alike, and that each restart has for itself, so that one
 * which is in use is not met again.
 */
static int derive_port(const struct jd_env *env, int master_port)
{
    uint32_t digest = mix_text(UINT32_C(2166136261), jd__env_get(env, run_id));
    digest = mix_text(digest, jd__env_get(env, "MASTER_PORT"));
    digest = mix_text(digest, jd__env_get(env, "TORCHELASTIC_RESTART_COUNT"));
    int port = JD_FIRST_PORT + (int)(digest % JD_NUM_PORTS);
    if (port == master_port)
        port = JD_FIRST_PORT + (int)((digest + 1) % JD_NUM_PORTS);
    return port;
}

static bool all_are_here(const struct jd_cluster *cluster)
{
    return cluster->num_processes.value == 1 ||
           (cluster->local_num_processes.known &&
            cluster->local_num_processes.value == cluster->num_processes.value);
}

static jd_status set_coordinator(const struct jd_env *env,
                                 struct jd_cluster *cluster)
{
    const char *host = jd__env_get_nonempty(env, "MASTER_ADDR");
    int port;
    jd_status status = read_port(env, &port);
    if (status != JD_OK)
        return status;
    bool is_agents = port && jd__env_get_nonempty(env, run_id);
    if (is_agents)
        port = derive_port(env, port);
    if (!host) {
        jd__detector_no_coordinator(cluster, "MASTER_ADDR is not set");
        return JD_OK;
    }
    return jd__detector_coordinator(
        env, cluster,
        &(struct jd_detector_address){
            .host = host,
            .host_length = strlen(host),
            .port = port,
            .host_source = "MASTER_ADDR",
            .port_source = is_agents ? "MASTER_PORT, "
                                       "TORCHELASTIC_RUN_ID"
                                     : "MASTER_PORT",
            .one_host = all_are_here(cluster),
        });
}

/*
 * A pod of a PyTorchJob is to run torchrun, which reads PET_*: RANK counts pods
 * there, and WORLD_SIZE processes. Who has started a program without torchrun
 * has no index of its own.
 */
static bool is_pod_of_several(const struct jd_env *env)
{
    const char *each = jd__env_get_nonempty(env, "PET_NPROC_PER_NODE");
    return each && strcmp(each, "1") != 0 &&
           !jd__env_get_nonempty(env, "LOCAL_RANK");
}

static void forget_ranks(struct jd_cluster *cluster)
{
    static const struct jd_cluster_number untold = {
        .source = "RANK counts pods (PET_NPROC_PER_NODE, and no LOCAL_RANK), "
                  "torchrun in each would start its processes",
    };
    cluster->num_processes = untold;
    cluster->process_id = untold;
}

static jd_status detect_torchrun(const struct jd_env *env,
                                 struct jd_cluster *cluster)
{
    jd_status status = jd__detector_ranks(env, &variables, cluster);
    if (status == JD_OK && is_pod_of_several(env))
        forget_ranks(cluster);
    return status == JD_OK ? set_coordinator(env, cluster) : status;
}

const struct jd_detector jd__detector_torchrun = {
    .name = "torchrun",
    .doc = "torchrun, and whoever sets RANK and WORLD_SIZE as it does",
    .present = torchrun_present,
    .detect = detect_torchrun,
};

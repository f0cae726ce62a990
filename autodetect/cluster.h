/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cluster.h - what the launcher's environment says about this process.
 *
 *     struct jd_cluster *cluster;
 *     jd__cluster_detect(env, settings, &cluster);
 *     if (cluster->num_processes.known)
 *         printf("%lld (%s)\n", cluster->num_processes.value,
 *                cluster->num_processes.source);
 *     jd__cluster_destroy(cluster);
 *
 * Detection is a pure function of the environment object and the settings: no
 * socket, no file, no name look-up, no MPI call. Nothing is guessed: what the
 * variables do not tell is not known.
 * Threads: an object is immutable after jd__cluster_detect.
 */
#ifndef AUTODETECT_CLUSTER_H
#define AUTODETECT_CLUSTER_H

#include "runtime/env.h"
#include "runtime/options.h"
#include "runtime/status.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * A number or a text, and where it came from: "SLURM_PROCID",
 * "JD_PROCESS_ID", "option process_id". Where it is not known, source is
 * empty or says why: "only MPI can tell where process 0 is".
 */
#define JD_CLUSTER_SOURCE_SIZE 160

struct jd_cluster_number {
    bool known;
    long long value;
    char source[JD_CLUSTER_SOURCE_SIZE];
};

struct jd_cluster_text {
    char *value; /* NULL: not known */
    char source[JD_CLUSTER_SOURCE_SIZE];
};

/*
 * How it went with one detector: those that were looked for in their order,
 * then those that cluster_detection_method leaves out.
 */
struct jd_cluster_trace {
    const char *detector; /* its name */
    bool taken;
    char *reason; /* "SLURM_STEP_NODELIST is not set" */
};

struct jd_cluster {
    const char *method; /* the detector's name, "explicit" or "none" */
    struct jd_cluster_text coordinator_address;
    /* Where that is not known, but the hosts of which process 0 is on one:
     * an address of each, to be tried in turn. */
    char **coordinator_candidates;
    size_t num_coordinator_candidates;
    struct jd_cluster_number num_processes;
    struct jd_cluster_number process_id;
    struct jd_cluster_number local_process_id;    /* among those of the host */
    struct jd_cluster_number local_num_processes; /* on this host */
    struct jd_cluster_number num_slices;
    struct jd_cluster_number slice_index;
    const int *local_device_ids; /* borrowed from settings; NULL: not known */
    size_t num_local_device_ids;
    const char *local_device_ids_source;
    struct jd_cluster_trace *trace;
    size_t trace_length;
};

/*
 * Runs the detectors in their order, takes the first that is present, and
 * puts explicit values (options and JD_* and JAX_* variables) over what it
 * found, item by item. Where no launcher is present and nothing is explicit,
 * the method is "none": one process, index 0.
 *
 * Returns: JD_OK, also where items stay unknown (jd__cluster_require asks for
 *   them); INVALID_ARGUMENT for a variable that is no number, is negative, or
 *   a rank not below its size, naming the variable, or an unknown name in
 *   cluster_detection_method; RESOURCE_EXHAUSTED. On failure *ret_cluster is
 *   still given where memory allows (else NULL), for its trace; destroy it.
 */
jd_status jd__cluster_detect(const struct jd_env *env,
                             const struct jd_settings *settings,
                             struct jd_cluster **ret_cluster);
void jd__cluster_destroy(struct jd_cluster *cluster);

/*
 * What a start needs: count and index. FAILED_PRECONDITION with one sentence
 * that names all that is missing, the method that was taken, and the options
 * and variables that would give it; else JD_OK.
 */
jd_status jd__cluster_require(const struct jd_cluster *cluster);

#endif

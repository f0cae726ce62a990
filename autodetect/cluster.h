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

#include "base/env.h"
#include "base/options.h"
#include "base/status.h"

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
    bool is_left_out; /* by cluster_detection_method */
    char *reason;     /* "SLURM_STEP_NODELIST is not set" */
};

/*
 * A launcher that says more than one process, where what was taken says one
 * and nobody asked for that: N of these would be N worlds of one.
 */
struct jd_cluster_rival {
    const char *detector; /* its name; NULL: there is none */
    struct jd_cluster_number num_processes;
    bool is_left_out; /* by cluster_detection_method */
    /* What was taken seems to have been started inside it (mpirun in a Slurm
     * step); whether it is the other way round, variables do not tell. */
    bool is_outer;
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
    struct jd_cluster_rival rival;
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
 *   cluster_detection_method; NOT_FOUND where that names launchers, none of
 *   them is there, and nothing is explicit; RESOURCE_EXHAUSTED. On failure
 * *ret_cluster is still given where memory allows (else NULL), for its trace;
 * destroy it.
 */
jd_status jd__cluster_detect(const struct jd_env *env,
                             const struct jd_settings *settings,
                             struct jd_cluster **ret_cluster);
void jd__cluster_destroy(struct jd_cluster *cluster);

/*
 * What a start needs: index and count, or a PMIx server that tells the count,
 * and no rival that contradicts a world of one (one that is_outer passes: more
 * than the variables must be looked at).
 * Returns: JD_OK; FAILED_PRECONDITION with one sentence that names all that is
 *   missing and why, or who contradicts whom, and the variables that help.
 */
jd_status jd__cluster_require(const struct jd_env *env,
                              const struct jd_cluster *cluster);

/* What an MPI asks its launcher by: Open MPI by PMIx; MPICH and its kin by
 * PMI-1, or by a PMI of their machine's own. */
enum jd_served_by { JD_SERVED_BY_PMIX, JD_SERVED_BY_PMI };

/* What several processes need that nobody serves: an address of process 0, or
 * candidates. JD_OK, or FAILED_PRECONDITION as above. */
jd_status jd__cluster_require_address(const struct jd_cluster *cluster,
                                      enum jd_served_by by);

/* "start it with `srun --mpi=pmix`, or ...": how this method's launcher, or
 * another, starts the program so that such a server serves it. */
const char *jd__cluster_served_start(const struct jd_cluster *cluster,
                                     enum jd_served_by by);

/* FAILED_PRECONDITION: who says one process and who says more, then remedy
 * (NULL: what cluster_detection_method can do). */
jd_status jd__cluster_fail_rival(const struct jd_cluster *cluster,
                                 const char *remedy);

/* The variables of a server are there; whether it lives is not asked. */
bool jd__cluster_is_served(const struct jd_env *env, enum jd_served_by by);

/* The job of the plan by which jd-run starts jd-pmix-server. */
#define JD_RUN_JOB "run"

/* They are of the server that jd-run has started, for programs that call
 * MPI_Init before jd_initialize(). */
bool jd__cluster_is_of_jd_run(const struct jd_env *env);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * detector.h - what a launcher's detector is: one const table of functions in
 * a file of its own, listed in the one ordered array of detect.c.
 *
 * To add a launcher: write detect_<name>.c with a static const struct
 * jd_detector, declare it here, put it in the array where it belongs in the
 * order (the more specific first), add golden pairs in tests/env.
 */
#ifndef AUTODETECT_DETECTOR_H
#define AUTODETECT_DETECTOR_H

#include "autodetect/cluster.h"

#define JD_DETECTOR_REASON_SIZE 512

struct jd_detector {
    const char *name;       /* as in JD_CLUSTER_DETECTION_METHOD */
    const char *aliases[3]; /* JAX's names for it, NULL-terminated */
    const char *doc;        /* one line: which launchers */

    /*
     * True where the stated minimum of variables is there. Where not, reason
     * gets what is missing: "SLURM_STEP_NODELIST is not set". Where so, what
     * told it: "OMPI_COMM_WORLD_RANK and OMPI_COMM_WORLD_SIZE are set". Who
     * started whom is not asked here (jd__detector_is_outer).
     */
    bool (*present)(const struct jd_env *env, char *reason, size_t size);

    /*
     * Fills in what the variables tell, and only that. Called only where
     * present() is true. Returns JD_OK or INVALID_ARGUMENT naming the
     * variable, or RESOURCE_EXHAUSTED.
     */
    jd_status (*detect)(const struct jd_env *env, struct jd_cluster *cluster);
};

extern const struct jd_detector jd__detector_openmpi;
extern const struct jd_detector jd__detector_jsrun;
extern const struct jd_detector jd__detector_pmi;
extern const struct jd_detector jd__detector_flux;
extern const struct jd_detector jd__detector_slurm;
extern const struct jd_detector jd__detector_pmix;
extern const struct jd_detector jd__detector_tpu;
extern const struct jd_detector jd__detector_kubernetes;
extern const struct jd_detector jd__detector_torchrun;

/* All of them, in the order in which they are tried; NULL-terminated. */
extern const struct jd_detector *const jd__detectors[];

/*
 * Where what was found makes a world of one, unasked: looks for a launcher
 * that says more, among those that were left out and those that came later
 * too, and notes the first in cluster->rival.
 */
void jd__cluster_find_rival(const struct jd_env *env,
                            struct jd_cluster *cluster);

/* ---- what detectors are made of ----------------------------------------- */

/*
 * One thing a detector needs or reads: variables that say the same, the best
 * first. An empty value counts as not set.
 */
struct jd_variables {
    const char *names[5]; /* NULL-terminated */
};

/* The first of the variables that is set, or NULL. */
const char *jd__variables_first(const struct jd_env *env,
                                const struct jd_variables *variables);

/*
 * For present(): true where one of each is set. Writes into reason which are
 * set, or all that are missing.
 */
bool jd__detector_minimum(const struct jd_env *env,
                          const struct jd_variables *minimum, size_t count,
                          char *reason, size_t size);

/*
 * True where another launcher started this process inside what self describes,
 * so that self's variables are inherited and say nothing about this process
 * (mpirun or torchrun inside a Slurm step). Writes the reason. The rows are in
 * detector.c.
 */
bool jd__detector_is_outer(const struct jd_env *env,
                           const struct jd_detector *self, char *reason,
                           size_t size);

/*
 * For detect(): reads the first of the variables that is set; leaves number
 * alone where none is. Returns JD_OK, or INVALID_ARGUMENT naming variable,
 * value, what is allowed, and how to leave this launcher out.
 */
jd_status jd__detector_number(const struct jd_env *env,
                              const struct jd_cluster *cluster,
                              const struct jd_variables *variables,
                              long long min, struct jd_cluster_number *number);

/* A process's own index and count, here and on the host, from four of them. */
struct jd_detector_ranks {
    struct jd_variables rank, size, local_rank, local_size;
};
jd_status jd__detector_ranks(const struct jd_env *env,
                             const struct jd_detector_ranks *ranks,
                             struct jd_cluster *cluster);

/*
 * Makes host and port the coordinator's address: brackets an IPv6 literal,
 * lets JAX_COORDINATOR_PORT replace the port (0: not told). A loopback host
 * is taken only where one_host says that every process is on this one; the
 * address stays unknown otherwise, and source says why.
 * Returns JD_OK, INVALID_ARGUMENT, RESOURCE_EXHAUSTED.
 */
struct jd_detector_address {
    const char *host; /* need not end at host_length */
    size_t host_length;
    int port;
    const char *host_source; /* "MASTER_ADDR" */
    const char *port_source; /* "MASTER_PORT", "the default port" */
    bool one_host;
};
jd_status jd__detector_coordinator(const struct jd_env *env,
                                   struct jd_cluster *cluster,
                                   const struct jd_detector_address *address);

/*
 * The coordinator's address is not known, but one of these hosts is its: each
 * becomes a candidate, with the port as above. why says so, for the address's
 * source.
 * Returns JD_OK, INVALID_ARGUMENT, RESOURCE_EXHAUSTED.
 */
struct jd_detector_candidates {
    char *const *hosts;
    size_t count;
    size_t without; /* the index of one that is not; count: none */
    int port;
    const char *source; /* of the hosts and the port */
    const char *why;
};
jd_status
jd__detector_candidates(const struct jd_env *env, struct jd_cluster *cluster,
                        const struct jd_detector_candidates *candidates);

/* Ports for a launcher's own numbers to choose from, as JAX does: above those
 * that kernels give away by themselves. */
#define JD_FIRST_PORT 61440
#define JD_NUM_PORTS 4096

/* Reads a port, 1..65535, from a variable that is set. Returns JD_OK or
 * INVALID_ARGUMENT naming the variable. */
jd_status jd__detector_port(const struct jd_env *env, const char *variable,
                            int *ret_port);

/* The address is not known, and why. */
__attribute__((format(printf, 2, 3))) void
jd__detector_no_coordinator(struct jd_cluster *cluster, const char *why, ...);

/* "localhost", 127.0.0.0/8, ::1 and the addresses that mean "any". */
bool jd__host_is_loopback(const char *host, size_t length);

#endif

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

struct jd_detector {
    const char *name;       /* as in JD_CLUSTER_DETECTION_METHOD */
    const char *aliases[3]; /* JAX's names for it, NULL-terminated */
    const char *doc;        /* one line: which launchers, which minimum */

    /*
     * True where the stated minimum of variables is there. Where not, reason
     * gets what is missing: "SLURM_STEP_NODELIST is not set". Where so, what
     * told it: "OMPI_COMM_WORLD_RANK and OMPI_COMM_WORLD_SIZE are set".
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

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tuning.h - the settings of MPI that jd makes before MPI_Init, why, and when
 * it leaves them alone: what they are is each MPI's own. jd-info prints the
 * plan.
 *
 *     struct jd_tuning plan;
 *     jd__tuning_plan(&request, &plan);
 *     jd__tuning_apply(&plan);
 *     MPI_Init_thread(...);
 *     jd__tuning_restore(&plan);
 */
#ifndef RUNTIME_MPI_TUNING_H
#define RUNTIME_MPI_TUNING_H

#include "autodetect/cluster.h"
#include "base/env.h"
#include "base/status.h"

#include <stdbool.h>

enum {
    JD_TUNE_YIELD,
    JD_TUNE_PML,
    JD_TUNE_BTL,
    JD_TUNE_INTERFACES,
    JD_TUNE_COUNT
};

/* What JD_INTERFACE is to Open MPI: "eth0,10.0.0.0/8", or what to leave out.
 * An empty text: it says nothing that Open MPI could use. */
struct jd_tune_interfaces {
    bool excludes;
    char text[256];
};

struct jd_tune_request {
    const struct jd_env *env;
    const struct jd_cluster *cluster; /* for the processes on this host */
    int cores_allowed;                /* on this host, for the job */
    bool enabled;                     /* JD_TUNE_MPI */
    const char *root;                 /* "" or a directory that stands for / */
    const char *library; /* libmpi's path: its installation has a file */
    const struct jd_tune_interfaces *interfaces; /* outlives the plan */
};

struct jd_tune_setting {
    const char *variable; /* "OMPI_MCA_pml"; NULL: this MPI has none */
    const char *value;    /* NULL: left alone */
    char why[256];
};

struct jd_tuning {
    struct jd_tune_setting settings[JD_TUNE_COUNT];
};

/* Reads JD_INTERFACE's text, NULL where it is not set. Names that this host
 * does not have are left out of a list to include. */
void jd__tuning_interfaces(const char *list,
                           struct jd_tune_interfaces *ret_interfaces);

/* Of the MPI that the program is linked with. */
void jd__tuning_plan(const struct jd_tune_request *request,
                     struct jd_tuning *ret_plan);

/* Puts the plan in the process's environment, and takes it out again, so
 * that programs started later do not inherit it. */
jd_status jd__tuning_apply(const struct jd_tuning *plan);
jd_status jd__tuning_restore(const struct jd_tuning *plan);

#endif

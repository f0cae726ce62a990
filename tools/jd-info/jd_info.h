/* SPDX-License-Identifier: BSD-3-Clause */
/* jd_info.h - the reports that jd-info can print; each returns the exit
 * status, 0 or 1, and has then written its sentence on standard error. */
#ifndef TOOLS_JD_INFO_JD_INFO_H
#define TOOLS_JD_INFO_JD_INFO_H

#include "autodetect/cluster.h"
#include "base/env.h"
#include "base/options.h"

#include <stdbool.h>

/* What detection finds in env, how it went with each detector, and what
 * jd_initialize() would refuse (status 1 too; its sentence is in the table, or
 * in the JSON and on standard error); where env is this process's own
 * (is_live), what jd would set for MPI too. */
int jd_info_detection(const struct jd_env *env, bool is_live, bool json);

/* Each option's value in force and where it came from. */
int jd_info_options(const struct jd_env *env);

/* The rows of the options table for doc/options.md. */
int jd_info_options_markdown(void);

/* The job's hosts, processes and devices, printed by process 0. */
int jd_info_topology(bool json, bool svg);

/* What each process of the job whose coordination service listens at the
 * address is doing; interval > 0: again every so many seconds, until the job
 * ends. */
int jd_info_job(const struct jd_env *env, const char *address, bool json,
                double interval);

/* For what is asked of that job: its service is to answer within 5 s. The
 * observer is for jd__observe_close(). */
struct jd_observer;
jd_status jd_info_open_job(const struct jd_env *env, const char *address,
                           struct jd_observer **ret_observer);

/* Where the threads of a process of that job stand. */
int jd_info_stack(const struct jd_env *env, const char *address, int process);

/* What jd was built with, and how. */
int jd_info_build(bool json);

/* What jd would set for MPI in this process before MPI_Init, and why. */
void jd_info_print_tuning(const struct jd_env *env,
                          const struct jd_settings *settings,
                          const struct jd_cluster *cluster);

/* Says on standard error which JD_* variables of env nobody reads. */
void jd_info_warn_unknown(const struct jd_env *env);

/* Writes the calling thread's sentence on standard error; returns 1. */
int jd_info_fail(void);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * host.h - the module's way to jd: host.c defines the functions that
 * base/status.h, log.h, options.h, runtime.h, wait.h, proc_peers.h and fold.h
 * declare, for the module's own files, by calling those of the table that it
 * was given. So a file here reads like any other of jd.
 */
#ifndef COLLECTIVES_CUDA_HOST_H
#define COLLECTIVES_CUDA_HOST_H

#include "collectives/platform/platform_module.h"

/* Returns JD_OK; FAILED_PRECONDITION where the table is another build's. */
jd_status jd__host_set(const struct jd_platform_host *host);

/* The cpu platform, for the meetings of a communicator. */
const struct jd_platform *jd__host_cpu(void);

/* One turn of a loop that waits: lets MPI make progress. */
void jd__host_make_progress(const struct jd_runtime *runtime);

/* jd_abort(1, why). Does not return, but in tests. */
void jd__host_abort(const char *why);

#endif

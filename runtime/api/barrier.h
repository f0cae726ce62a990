/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * barrier.h - what other layers use of the barriers at the service.
 * Threads: any.
 */
#ifndef RUNTIME_API_BARRIER_H
#define RUNTIME_API_BARRIER_H

#include "runtime/process/runtime.h"

/*
 * The timeout argument of a public call as seconds: 0 is JD_BARRIER_TIMEOUT;
 * and what changes it, for sentences.
 */
double jd__barrier_timeout(const struct jd_runtime *runtime, double timeout,
                           const char **ret_variable);

/* Waits until all processes have come with the same name. As
 * jd_wait_at_barrier, for jd_sync_global_devices. */
jd_status jd__barrier_sync(const struct jd_runtime *runtime, const char *name);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fence.h - PMIx_Fence over several hosts: an exchange (exchange.h) of those
 * that take part, whose bytes libpmix gets in the order of hosts. WHO is "all",
 * or a digest of the processes; K counts the fences of these.
 */
#ifndef RUNTIME_WIREUP_SERVER_FENCE_H
#define RUNTIME_WIREUP_SERVER_FENCE_H

#include "runtime/wireup/server/serving.h"

#include <pmix_server.h>

/*
 * Begins a fence, which ends by done() on a thread of its own; at once where
 * one host alone takes part. timeout is in seconds; negative: none was asked
 * for. Then the first fence of all, in MPI_Init, ends with the wire-up's
 * deadline; a later one waits as long as the slowest process may compute, and
 * ends when the job fails or the service is lost.
 * On libpmix's thread. Returns PMIX_SUCCESS, or why it cannot begin.
 */
pmix_status_t fence_begin(const struct serving *serving,
                          const pmix_proc_t procs[], size_t num_procs,
                          int timeout, char *data, size_t size,
                          pmix_modex_cbfunc_t done, void *arg);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fence.h - PMIx_Fence over several hosts. Each server puts the bytes of its
 * processes into the store, waits for those of the other hosts that take part,
 * and gives libpmix all of them in the order of hosts:
 *
 *     "\0jd/wireup/fence/WHO/K/HOST"
 *
 * WHO is "all", or a digest of the processes; K counts the fences of these,
 * which come in the same order everywhere. Who is in fence K has left K - 1,
 * whose keys are then deleted.
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

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * local.h - the service of a world of one: its state machine, called directly
 * under a lock. No socket, no thread; a thread that waits for what another
 * thread of the process does keeps the clock itself.
 * Threads: any.
 */
#ifndef RUNTIME_COORDINATION_CLIENT_LOCAL_H
#define RUNTIME_COORDINATION_CLIENT_LOCAL_H

#include "runtime/coordination/client/call.h"

struct jd_local;

/* Returns JD_OK, RESOURCE_EXHAUSTED. */
jd_status jd__local_create(size_t max_message, size_t max_store,
                           struct jd_local **ret_local);
void jd__local_destroy(struct jd_local *local);

/* As jd__client_call. */
jd_status jd__local_call(struct jd_local *local, struct jd_call *call);

#endif

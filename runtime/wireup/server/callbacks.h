/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * callbacks.h - what libpmix asks of its host: a process has connected or
 * finalised, all are to wait for each other (fence.h), a process wants what
 * another has published (modex.h), a process ends the job.
 *
 * libpmix calls on its own thread: nothing here waits.
 */
#ifndef RUNTIME_WIREUP_SERVER_CALLBACKS_H
#define RUNTIME_WIREUP_SERVER_CALLBACKS_H

#include "runtime/wireup/server/serving.h"

#include <pmix_server.h>

/* For PMIx_server_init; once. The serving must stay. */
pmix_server_module_t *callbacks_module(const struct serving *serving);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * namespace.h - PMIx for the host's processes: what libpmix is told of the job
 * (its hosts, where each rank is, which ranks this server has), and what each
 * of these is handed out. Ranks are the job's process indices.
 */
#ifndef RUNTIME_WIREUP_SERVER_NAMESPACE_H
#define RUNTIME_WIREUP_SERVER_NAMESPACE_H

#include "runtime/wireup/server/serving.h"

/* PMIx_server_init and all registrations; then the processes are handed out
 * what they need. Returns JD_OK; INTERNAL naming libpmix's call, its words, and
 * the host; as hand_out; UNIMPLEMENTED where jd was built without libpmix. */
jd_status namespace_serve(struct serving *serving);

#endif

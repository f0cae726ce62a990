/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * namespace.h - what libpmix is told of the job: its hosts, where each rank
 * is, and which ranks this server has; and what each of those is handed out.
 *
 *     namespace_name(plan, name);
 *     namespace_open(&serving);         PMIx_server_init and all registrations
 *     namespace_hand_out(&serving);     a Environment for each, into the store,
 *                                     or to serving.environments
 *
 * Ranks are the job's process indices.
 */
#ifndef RUNTIME_WIREUP_SERVER_NAMESPACE_H
#define RUNTIME_WIREUP_SERVER_NAMESPACE_H

#include "runtime/wireup/server/serving.h"

enum { NAMESPACE_SIZE = 128 };

/* The same on every host: "jd-JOB-ATTEMPT", in letters that file names and
 * regular expressions bear. */
void namespace_name(const Jd__Plan *plan, char name[NAMESPACE_SIZE]);

/* Returns JD_OK; INTERNAL naming libpmix's call, its words, and the host. */
jd_status namespace_open(const struct serving *serving);

/* Returns JD_OK; as store_set. */
jd_status namespace_hand_out(struct serving *serving);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * modex.h - what a process of another host has published, where a process asks
 * for it alone (direct modex) rather than all at a fence. The asker counts up
 * the owner's queue and puts its question there; the owner has one Get waiting
 * for the next question, always, and puts the answer beside it:
 *
 *     "\0jd/wireup/want/HOST/count"   how many questions HOST was asked
 *     "\0jd/wireup/want/HOST/N"       question N: a rank, as text
 *     "\0jd/wireup/modex/HOST/N"      its answer: a status, then the bytes
 *
 * The asker deletes both.
 */
#ifndef RUNTIME_WIREUP_SERVER_MODEX_H
#define RUNTIME_WIREUP_SERVER_MODEX_H

#include "runtime/wireup/server/serving.h"

#include <pmix_server.h>

/* Answers other hosts' questions from now on, on a thread of its own; nothing
 * where there is one host. Returns JD_OK; RESOURCE_EXHAUSTED. */
jd_status modex_start(const struct serving *serving);

/*
 * Asks the host of proc; done() comes on a thread of its own. timeout is in
 * seconds; negative: until the process has published, or the job has failed.
 * On libpmix's thread. Returns PMIX_SUCCESS, or why it cannot begin.
 */
pmix_status_t modex_ask(const struct serving *serving, const pmix_proc_t *proc,
                        int timeout, pmix_modex_cbfunc_t done, void *arg);

#endif

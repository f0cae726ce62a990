/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pmi_barrier.h - PMI's barrier, or fence: when all of this host's processes
 * have come, what they have put goes to the other hosts (exchange.h), and who
 * waits is answered when that of all hosts is there.
 *
 * Threads: the loop's own.
 */
#ifndef RUNTIME_WIREUP_SERVER_PMI_BARRIER_H
#define RUNTIME_WIREUP_SERVER_PMI_BARRIER_H

#include "runtime/wireup/server/pmi_client.h"

/* Before anybody comes. False without memory. */
bool pmi_barrier_open(struct pmi_host *host);

/* Its protocol's release answers it. */
void pmi_barrier_enter(struct pmi_client *client);

/* A process of the host goes: 2 s later it is waited for no more. From when one
 * comes, which begins another program, all are waited for again. */
void pmi_barrier_note_gone(const struct pmi_client *client);
void pmi_barrier_note_come(const struct pmi_client *client);

#endif

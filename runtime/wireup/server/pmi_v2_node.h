/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pmi_v2_node.h - PMI-2's attributes of a host: one process puts a name, the
 * host's others get it, and may wait until it is there, as long as a start may
 * take (JD_INITIALIZATION_TIMEOUT).
 *
 * Threads: the loop's own.
 */
#ifndef RUNTIME_WIREUP_SERVER_PMI_V2_NODE_H
#define RUNTIME_WIREUP_SERVER_PMI_V2_NODE_H

#include "runtime/wireup/server/pmi_v2_reply.h"

enum { PMI_V2_WAITS_MOST = 256 };

/* Answers who waits for it, too. False without memory, or where the key is
 * empty. */
bool pmi_v2_node_put(struct pmi_host *host, const char *key, const char *value);

/* Answers the asker when the key is there, or when the time is up. False
 * without memory, or where its process waits for PMI_V2_WAITS_MOST already. */
bool pmi_v2_node_await(struct pmi_host *host, const struct pmi_v2_asker *asker,
                       const char *key);

/* The client goes: nothing of it waits any more. */
void pmi_v2_node_forget(const struct pmi_client *client);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pmi_v2_reply.h - answers of PMI-2, to a thread of a process: what has waited
 * is answered as what is asked now.
 *
 *     struct pmi_v2_asker asker = { client, "kvs-get", request->thread };
 *     return pmi_v2_reply_found(&asker, value);
 *
 * Returns of all: false where the client is of no use any more.
 */
#ifndef RUNTIME_WIREUP_SERVER_PMI_V2_REPLY_H
#define RUNTIME_WIREUP_SERVER_PMI_V2_REPLY_H

#include "runtime/wireup/server/pmi_client.h"

/* PMI-2's numbers of what failed. */
enum pmi_v2_fault {
    PMI_V2_FAULT_KEY = 4,
    PMI_V2_FAULT_KEY_LENGTH = 5,
    PMI_V2_FAULT_VALUE = 6,
    PMI_V2_FAULT_VALUE_LENGTH = 7,
    PMI_V2_FAULT_OTHER = 14,
};

struct pmi_v2_asker {
    struct pmi_client *client;
    const char *command;
    const char *thread; /* "": none was named */
};

/* It has been done; more: "rank=0;size=4;", or "". */
bool pmi_v2_reply_done(const struct pmi_v2_asker *asker, const char *more);

/* NULL: there is none. */
bool pmi_v2_reply_found(const struct pmi_v2_asker *asker, const char *value);

/* why: without ';'. */
bool pmi_v2_reply_fault(const struct pmi_v2_asker *asker,
                        enum pmi_v2_fault fault, const char *why);

#endif
